/** The story: from a stage that is set to two merged pull requests, and what GitHub shows of them. */
import { setTimeout as pause } from 'node:timers/promises';
import type { TaskView } from '../../src/view.ts';
import type { Json } from './hub.ts';
import type { Loop } from './loop.ts';
import type { Notes } from './notes.ts';
import { CHECK, type Stage, TITLE } from './stage.ts';

/** One more than a page of GitHub holds. */
const ISSUES = 101;
const READY = 'loop:ready';
/** How long a run of the workflow may keep us waiting; without one, Actions are off. */
const ACTIONS_MS = 10 * 60_000;
const LIST_MS = 60_000;

export interface Telling extends Stage {
  notes: Notes;
  loop: Loop;
  lookMs: number;
  signal: AbortSignal;
}

/** Whether the workflow reports its check on trunk. */
export async function awaitActions(telling: Telling): Promise<boolean> {
  const { hub, root, notes } = telling;
  const sha = await hub.git(root, 'rev-parse', 'HEAD');
  const conclusion = await eventually(telling, ACTIONS_MS, async () => {
    const checks = await hub.ask('GET', `/commits/${sha}/check-runs`);
    if (checks.said === null)
      return checks.body.check_runs.find((one: { name: string }) => one.name === CHECK)?.conclusion;
    const runs = await hub.ask('GET', `/actions/runs?head_sha=${sha}`);
    return runs.said === null ? runs.body.workflow_runs[0]?.conclusion : 'not to be seen with this token';
  });
  if (conclusion === null) {
    const remedy = 'Allow Actions: Settings → Actions → General.';
    notes.skipped(
      'GitHub Actions',
      `No run of the workflow ended within ${ACTIONS_MS / 60_000} minutes.`,
      remedy,
    );
    return false;
  }
  notes.ok('GitHub Actions', `The workflow ran on trunk: ${conclusion}.`);
  return true;
}

/** Whose rule it is: ours are removed again. Null where there is none. */
export async function setRule({ hub, trunk, notes }: Telling): Promise<'ours' | 'theirs' | null> {
  const what = 'Classic rule: heads up to date';
  const { status, said } = await hub.ask('PUT', `/branches/${trunk}/protection`, {
    required_status_checks: { strict: true, contexts: [CHECK] },
    enforce_admins: true,
    required_pull_request_reviews: null,
    restrictions: null,
  });
  if (said === null) {
    notes.ok(what, `${trunk} requires \`${CHECK}\` on an up-to-date head, of administrators too.`);
    return 'ours';
  }
  const remedy = `Give GITHUB_STAGE_TOKEN Administration: write, or set the rule by hand: Settings → Branches, \`${trunk}\`, require \`${CHECK}\` and branches up to date.`;
  const branch = await hub.ask('GET', `/branches/${trunk}`);
  const required: string[] = branch.body?.protection?.required_status_checks?.contexts ?? [];
  if (required.includes(CHECK)) {
    notes.ok(what, `Set by hand; it is left as it is. (${status}: ${said})`);
    return 'theirs';
  }
  notes.skipped(what, `${status}: ${said}`, remedy);
  return null;
}

/** Those that are to be worked on: the first and the last. Whichever end a list begins with, one of them is on its second page. */
export async function openIssues({ hub, notes }: Telling): Promise<number[]> {
  const numbers: number[] = [];
  for (let nth = 1; nth <= ISSUES; nth += 1) {
    const isWork = nth === 1 || nth === ISSUES;
    const { number } = await hub.must('POST', '/issues', {
      title: `${TITLE} ${isWork ? 'Write file' : 'Leave alone'} ${nth}`,
      body: isWork
        ? 'The new file `done-N.txt`, where N is the number of this issue, must contain the line `whole`.'
        : 'Nobody made it ready.',
    });
    numbers.push(number);
  }
  const [first, last] = [numbers[0] as number, numbers.at(-1) as number];
  notes.ok('Issues', `${ISSUES} opened, #${first} to #${last}: more than a page holds.`);
  return [first, last];
}

export async function preparations({ loop, notes }: Telling): Promise<void> {
  const made = await loop.cli('init', '--create-labels', '--yes');
  notes.expect(made.code === 0, 'init --create-labels', firstLine(made.stdout + made.stderr));
  const doctor = await loop.cli('doctor');
  notes.output('forge-loop doctor', doctor.stdout + doctor.stderr);
  notes.expect(
    doctor.code === 0,
    'doctor',
    doctor.code === 0 ? 'Nothing failed.' : 'Something failed: see below.',
  );
}

/** The issues are made ready, and carried to their merge. */
export async function work(
  telling: Telling,
  issues: readonly number[],
  minutes: number,
): Promise<TaskView[]> {
  const { hub, loop, notes, lookMs, signal } = telling;
  for (const issue of issues) await hub.must('POST', `/issues/${issue}/labels`, { labels: [READY] });
  const deadline = AbortSignal.any([signal, AbortSignal.timeout(minutes * 60_000)]);
  const ours = async () => (await loop.tasks()).filter(({ issue }) => issues.includes(issue ?? 0));
  // A list that does not show the labels yet is idle.
  for (let tries = 1; tries <= 5 && (await ours()).length < issues.length; tries += 1) {
    if (tries > 1) await pause(lookMs, undefined, { signal });
    const runner = loop.start('run', '--until-idle');
    const stop = (): void => void runner.kill();
    deadline.addEventListener('abort', stop);
    const { code, stdout, stderr } = await runner.ended;
    deadline.removeEventListener('abort', stop);
    notes.output(`forge-loop run: exit code ${code}`, stdout + stderr);
    signal.throwIfAborted();
    if (!deadline.aborted && code !== 1) continue;
    notes.wrong('run', deadline.aborted ? `Not over after ${minutes} minutes.` : firstLine(stderr));
    break;
  }
  return ours();
}

/** What GitHub itself shows in the end. */
export async function verify(
  telling: Telling,
  tasks: readonly TaskView[],
  given: { issues: readonly number[]; hasActions: boolean; hasRule: boolean },
): Promise<void> {
  const { hub, root, trunk, notes, start, loop } = telling;
  const [landed, heads] = ['refs/live/trunk', 'refs/live/pull'];
  await hub.git(
    root,
    'fetch',
    '--quiet',
    'origin',
    `+refs/heads/${trunk}:${landed}`,
    `+refs/pull/*/head:${heads}/*`,
  );
  let updated = 0;
  for (const issue of given.issues) {
    const task = tasks.find((one) => one.issue === issue);
    if (task?.state !== 'merged' || task.pull === null) {
      notes.wrong(`#${issue}`, `Not merged: ${task?.hold?.text ?? task?.why ?? 'it was never taken up'}`);
      notes.output(`forge-loop why ${issue}`, (await loop.cli('why', String(issue))).stdout);
      continue;
    }
    const pull = await hub.must('GET', `/pulls/${task.pull}`);
    notes.expect(
      pull.merged,
      `#${issue} → #${task.pull}`,
      `Merged by ${pull.merged_by?.login} as ${pull.merge_commit_sha}.`,
    );
    const reviews = await hub.all(`/pulls/${task.pull}/reviews`);
    const remarks = await hub.all(`/pulls/${task.pull}/comments`);
    notes.expect(
      reviews.length === task.criticRounds && remarks.length === 1,
      `Reviews of #${task.pull}`,
      `${reviews.length} for ${task.criticRounds} rounds, with ${remarks.length} remark on a line.`,
    );
    const turns = given.hasActions ? 3 : 2;
    notes.expect(
      task.turns === turns && task.sessionIds.length === 1,
      `Turns for #${issue}`,
      `${task.turns} in ${task.sessionIds.length} session: ${given.hasActions ? 'changes asked for, then red CI' : 'changes asked for'}.`,
    );
    const { labels } = await hub.must('GET', `/issues/${issue}`);
    const names = labels.map(({ name }: { name: string }) => name);
    notes.expect(names.join() === 'loop:merged', `#${issue} is closed`, `Its labels: ${names.join(', ')}.`);
    const file = await hub.git(root, 'show', `${landed}:done-${issue}.txt`).catch(() => '(not there)');
    const whole = given.hasActions ? 'whole\nsigned' : 'half\nsigned';
    notes.expect(file === whole, `done-${issue}.txt on ${trunk}`, `It reads: ${file.replace('\n', ', ')}.`);
    const merges = await hub.git(
      root,
      'rev-list',
      '--merges',
      '--count',
      `${heads}/${task.pull}`,
      `^${start}`,
    );
    if (merges !== '0') updated += 1;
  }
  if (given.hasRule)
    notes.expect(
      updated > 0,
      'A head that was behind',
      `${updated} of ${given.issues.length} were brought up to date, tested again and merged.`,
    );
  const left = await hub.git(root, 'ls-remote', '--heads', 'origin', 'refs/heads/loop/*');
  notes.expect(left === '', 'Branches of the loop', left === '' ? 'All deleted.' : left);
  const rest = ISSUES - tasks.filter(({ state }) => state === 'merged').length;
  let open: Json[] = [];
  // The list may be late.
  await eventually(telling, LIST_MS, async () => {
    open = (await hub.all('/issues?state=open')).filter(({ title }) => title.startsWith(TITLE));
    return open.length === rest;
  });
  const isSilent = open.every(({ comments }) => comments === 0);
  notes.expect(
    open.length === rest && isSilent,
    'The other issues',
    `${open.length} are open, ${isSilent ? 'and nothing was said there' : 'and something was said there'}.`,
  );
}

/** The first value that is neither null, undefined nor false; null when that takes too long. */
async function eventually<T>(
  { lookMs, signal }: Telling,
  patienceMs: number,
  look: () => Promise<T>,
): Promise<NonNullable<T> | null> {
  for (const until = Date.now() + patienceMs; Date.now() < until; ) {
    const seen = await look();
    if (seen !== null && seen !== undefined && seen !== false) return seen;
    await pause(lookMs, undefined, { signal });
  }
  return null;
}

const firstLine = (text: string): string => text.trim().split('\n')[0] ?? '';
