/**
 * Looking at the ledger, and deciding about a finding. A decision about a live task is a request that its runner answers;
 * about an ended one it is written down at once, since nobody else will.
 */
import type { Context } from '../context.ts';
import { decided, type Finding, type FindingChange } from '../core/change/findings.ts';
import { event } from '../core/event.ts';
import { isEnded, type StoredTask } from '../core/task.ts';
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
  input: { task?: string | undefined; open: boolean },
): Promise<FindingView[]> {
  const store = await context.reading();
  if (!store) return [];
  const tasks = input.task === undefined ? await store.tasks() : [await findTask(store, input.task)];
  const found: FindingView[] = [];
  for (const { task } of tasks) {
    for (const finding of await store.findings(task.id)) {
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
  status: 'wontfix' | 'open';
  /** Written down already; else a runner applies it. */
  done: boolean;
  runnerAlive: boolean;
}

export async function decideFinding(
  context: Context,
  input: { finding: string; why?: string | undefined },
  status: 'wontfix' | 'open',
): Promise<FindingDecided> {
  const store = await context.writing();
  const { stored, finding } = await findFinding(store, input.finding);
  const { task } = stored;
  if (finding.status === status) throw new UserError(`Finding ${finding.id} is ${inWords(status)} already.`);
  const said = { by: await context.operator(), at: context.now(), why: input.why ?? null };
  const done = isEnded(task);
  if (done) await writeDown(context, stored, finding, status, said);
  else {
    const kind = status === 'wontfix' ? 'wontfix' : 'reopen';
    await store.request({ task: task.id, kind, finding: finding.id, ...said });
  }
  const runnerAlive = await isRunnerAlive(store, context);
  return { finding: finding.id, task: task.id, issue: task.issue, status, done, runnerAlive };
}

const inWords = (status: 'wontfix' | 'open'): string =>
  status === 'open' ? 'open' : 'left as it is (wontfix)';

/** `3f2a91c0.2`, as the ledger names it; or `7.2`, the second finding of the latest attempt at issue 7. */
async function findFinding(
  store: Store,
  reference: string,
): Promise<{ stored: StoredTask; finding: Finding }> {
  const [, of, number] = /^#?(.+)\.(\d+)$/.exec(reference.trim()) ?? [];
  if (of === undefined || number === undefined) {
    throw new UserError(
      `${reference} is not the name of a finding.`,
      'It is a task or an issue, a dot and a number: `forge-loop findings` lists them.',
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
  finding: Finding,
  status: 'wontfix' | 'open',
  said: { by: string; at: number; why: string | null },
): Promise<void> {
  const { store, owner, timing, isOwnerDead } = await context.ports();
  const lease = await store.acquireLease(taskLease(task.id), owner, said.at, timing.leaseTtlMs, isOwnerDead);
  if (!lease) throw new UserError(`A runner is still at work on task ${task.id}.`, 'Ask again in a moment.');
  const sha = task.headSha ?? '';
  try {
    await store.commit({
      lease,
      taskId: task.id,
      expectedVersion: version,
      events: [
        event('finding_decided', {
          finding: finding.id,
          status,
          by: said.by,
          why: said.why,
          headSha: sha,
          settles: false,
        }),
      ],
      at: said.at,
      findings: [decided(finding, status, { ...said, sha })],
    });
  } finally {
    await store.releaseLease(lease);
  }
}
