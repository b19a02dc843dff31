/** What a critic or an auditor is given to judge by, gathered from git, ledger and forge; and the code around what it found. */
import { isInstruction } from '../core/change/feedback.ts';
import { parsePatch } from '../core/change/patch.ts';
import { shownDiff } from '../core/change/shown-diff.ts';
import type { Outcome } from '../core/outcome.ts';
import { lastSealed } from '../core/plan/progress.ts';
import { required, type Task } from '../core/task.ts';
import { parseReport } from '../core/verdict.ts';
import type { PromptInputs } from '../core/words/prompt-context.ts';
import type { Ports } from './ports.ts';

type CriticInputs = Omit<PromptInputs, 'history'>;
type TurnOutcome = Extract<Outcome, { kind: 'turn' }>;
type Contexts = NonNullable<TurnOutcome['contexts']>;

/** The other roles judge nothing. */
export const NOTHING_TO_JUDGE: CriticInputs = {
  diff: '',
  findings: [],
  conventions: [],
  remarks: [],
  transcript: '',
};

export const criticInputs = (ports: Ports, task: Task): Promise<CriticInputs> =>
  inputsSince(ports, task, required(task, 'baseSha'));

/** An auditor sees what its milestone changed, and at the end all of it. */
export function auditInputs(ports: Ports, task: Task): Promise<CriticInputs> {
  const { plan, baseSha } = task;
  const isPart = plan?.phase === 'auditing';
  return inputsSince(ports, task, isPart ? lastSealed(plan, baseSha) : required(task, 'baseSha'));
}

export const openFindings = async ({ store }: Ports, { id }: Task): Promise<CriticInputs> => ({
  ...NOTHING_TO_JUDGE,
  findings: await store.findings(id),
});

export const conventionsAlone = async (ports: Ports): Promise<CriticInputs> => ({
  ...NOTHING_TO_JUDGE,
  conventions: await conventionsOf(ports),
});

async function inputsSince(ports: Ports, task: Task, from: string): Promise<CriticInputs> {
  const { patch, blobs } = await ports.repository.diff(from, required(task, 'headSha'));
  const findings = await ports.store.findings(task.id);
  const open = findings.filter(({ status }) => status === 'open');
  const mentioned = new Set(open.flatMap(({ file }) => file ?? []));
  const said = task.pull === null ? null : await ports.forge.feedback(task.pull);
  return {
    diff: shownDiff(parsePatch(patch), blobs, DIFF_CHARS, mentioned),
    findings,
    conventions: await conventionsOf(ports),
    remarks: (said?.remarks ?? []).filter((remark) => remark.mayWrite && isInstruction(remark)),
    transcript: ports.places.session(task.id, task.sessionIds.at(-1) ?? ''),
  };
}

const DIFF_CHARS = 200_000;
const CONVENTIONS = ['AGENTS.md', 'CLAUDE.md', 'CONTRIBUTING.md'];

/** From trunk, by git: what the branch or the workspace says about how it wants to be judged does not count. */
export async function conventionsOf({ forge, repository }: Ports): Promise<CriticInputs['conventions']> {
  const { sha } = await forge.trunk();
  const files: { path: string; text: string }[] = [];
  for (const path of CONVENTIONS) {
    const text = await repository.fileAt(sha, path);
    if (text !== null && text.trim() !== '') files.push({ path, text });
  }
  return files;
}

/** Only an aid for knowing findings again: what can't be read is left out. */
export async function contextsOf(
  { repository }: Ports,
  task: Task,
  { structured, text }: TurnOutcome,
): Promise<Contexts> {
  const parsed = parseReport(structured, text);
  const files = new Map<string, string[] | null>();
  const contexts: Contexts = [];
  for (const { file, line } of parsed.ok ? parsed.report.findings : []) {
    if (file === null || line === null || file.includes('\0')) continue;
    if (!files.has(file) && files.size < CONTEXT_FILES) {
      const read = await repository.fileAt(required(task, 'headSha'), file).catch(() => null);
      files.set(file, read?.split('\n') ?? null);
    }
    const around = files.get(file)?.slice(Math.max(0, line - 1 - CONTEXT_LINES), line + CONTEXT_LINES);
    if (around) contexts.push({ file, line, text: around.join('\n').slice(0, CONTEXT_CHARS) });
  }
  return contexts;
}

const CONTEXT_LINES = 2;
const CONTEXT_FILES = 40;
const CONTEXT_CHARS = 1000;
