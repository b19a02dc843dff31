/**
 * Looking at the ledger, deciding about a finding, adding one to a plan's. What is said about a live task is a request that its runner answers;
 * about an ended one it is written down at once, since nobody else will.
 */
import type { Context } from '../context.ts';
import { findingsAbout } from '../core/change/find.ts';
import { type DecidedStatus, decided, type Finding, type FindingChange } from '../core/change/findings.ts';
import { event, type NewEvent } from '../core/event.ts';
import { type AuditFinding, writtenFinding } from '../core/plan/audit.ts';
import { refusal } from '../core/request.ts';
import { isEnded, nameOfTask, type StoredTask } from '../core/task.ts';
import { UserError } from '../errors.ts';
import { type Store, taskLease } from '../store/store.ts';
import { iso, isRunnerAlive } from '../view.ts';
import { findTask } from './reference.ts';

interface FindingView extends Omit<Finding, 'history'> {
  issue: number | null;
  history: (Omit<FindingChange, 'at'> & { at: string })[];
}

export async function listFindings(
  context: Context,
  input: {
    task?: string | undefined;
    open: boolean;
    file?: string | undefined;
    pattern?: string | undefined;
  },
): Promise<FindingView[]> {
  const store = await context.reading();
  if (!store) return [];
  const tasks = input.task === undefined ? await store.tasks() : [await findTask(store, input.task)];
  const found: FindingView[] = [];
  for (const { task } of tasks) {
    const about = findingsAbout(await store.findings(task.id), input);
    if (!about.ok) throw new UserError(`--pattern can't be used: ${about.problem}.`);
    for (const finding of about.findings) {
      if (input.open && finding.status !== 'open') continue;
      const history = finding.history.map((change) => ({ ...change, at: iso(change.at)! }));
      found.push({ ...finding, issue: task.issue, history });
    }
  }
  return found;
}

export interface FindingDecided {
  finding: string;
  task: string;
  issue: number | null;
  status: DecidedStatus;
  /** Written down already; else a runner applies it. */
  done: boolean;
  runnerAlive: boolean;
}

export async function decideFinding(
  context: Context,
  input: { finding: string; why?: string | undefined },
  status: DecidedStatus,
): Promise<FindingDecided> {
  const store = await context.writing();
  const { stored, finding } = await findFinding(store, input.finding);
  const { task } = stored;
  if (finding.status === status) throw new UserError(`Finding ${finding.id} is ${WORDS[status]} already.`);
  if (status === 'resolved' && finding.source !== 'auditor' && finding.source !== 'person')
    throw new UserError(
      `Finding ${finding.id} is of the ${finding.source}, not of an audit or a person.`,
      `\`forge-loop findings wontfix ${finding.id} --why …\` leaves it as it is.`,
    );
  const said = { by: await context.operator(), at: context.now(), why: input.why ?? null };
  const sha = task.headSha ?? '';
  const done = isEnded(task);
  if (done) {
    const { by, why } = said;
    const decision = { finding: finding.id, status, by, why, headSha: sha, settles: false };
    const after = decided(finding, status, { ...said, sha });
    await writeDown(context, stored, event('finding_decided', decision), after);
  } else await store.request({ task: task.id, kind: KINDS[status], finding: finding.id, ...said });
  const runnerAlive = await isRunnerAlive(store, context);
  return { finding: finding.id, task: task.id, issue: task.issue, status, done, runnerAlive };
}

const WORDS: Record<DecidedStatus, string> = {
  open: 'open',
  wontfix: 'left as it is (wontfix)',
  resolved: 'resolved',
};
const KINDS = { open: 'reopen', wontfix: 'wontfix', resolved: 'resolve' } as const;

interface FindingWritten {
  task: string;
  name: string;
  /** Its id, where it is written down already; else a runner does it. */
  finding: string | null;
  runnerAlive: boolean;
}

/** About a plan in its phases what an auditor does with its tool, by a person; about other work what a reviewer does. */
export async function writeFinding(
  context: Context,
  { task: reference, ...finding }: AuditFinding & { task: string },
): Promise<FindingWritten> {
  const store = await context.writing();
  const stored = await findTask(store, reference);
  const { id, plan, headSha } = stored.task;
  const refused = plan ? null : refusal(stored.task, 'write');
  if (refused) throw new UserError(refused.why, refused.advice);
  if (plan && isEnded(stored.task) && stored.task.state !== 'abandoned')
    throw new UserError(`Loop ${plan.name} is ${stored.task.state}.`, 'Start another plan for what is left.');
  const said = { by: await context.operator(), at: context.now() };
  const written = {
    task: id,
    name: nameOfTask(stored.task),
    runnerAlive: await isRunnerAlive(store, context),
  };
  if (!plan || !isEnded(stored.task)) {
    await store.request({ task: id, kind: 'write', finding: JSON.stringify(finding), ...said });
    return { ...written, finding: null };
  }
  const sha = headSha ?? '';
  const ledger = await store.findings(id);
  const added = writtenFinding(finding, { task: id, plan, ledger }, { ...said, sha });
  const happened = event('finding_written', { finding: added.id, by: said.by, headSha: sha });
  await writeDown(context, stored, happened, added);
  return { ...written, finding: added.id };
}

/** `3f2a91c0.2`, as the ledger names it; or `7.2`, the second finding of the latest attempt at issue 7. */
async function findFinding(
  store: Store,
  reference: string,
): Promise<{ stored: StoredTask; finding: Finding }> {
  const [, of, number] = /^#?(.+)\.(\d+)$/.exec(reference.trim()) ?? [];
  if (of === undefined || number === undefined) {
    throw new UserError(
      `${reference} is not the name of a finding.`,
      'A finding id looks like 7.2: `forge-loop findings` lists them.',
    );
  }
  const stored = await findTask(store, of);
  const findings = await store.findings(stored.task.id);
  const finding = findings.find(({ id }) => id === `${stored.task.id}.${number}`);
  if (finding) return { stored, finding };
  throw new UserError(
    `Task ${stored.task.id} has no finding ${number}.`,
    findings.length === 0
      ? 'It has none at all.'
      : `It has ${findings.map(({ id }) => id.slice(id.lastIndexOf('.') + 1)).join(', ')}.`,
  );
}

async function writeDown(
  context: Context,
  { task, version }: StoredTask,
  happened: NewEvent,
  finding: Finding,
): Promise<void> {
  const { store, owner, timing, isOwnerDead } = await context.ports();
  const at = context.now();
  const lease = await store.acquireLease(taskLease(task.id), owner, at, timing.leaseTtlMs, isOwnerDead);
  if (!lease) throw new UserError(`A runner is still at work on task ${task.id}.`, 'Ask again in a moment.');
  try {
    const change = { events: [happened], findings: [finding], at };
    await store.commit({ lease, taskId: task.id, expectedVersion: version, ...change });
  } finally {
    await store.releaseLease(lease);
  }
}
