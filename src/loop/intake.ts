/**
 * Takes up issues: polls the forge, claims what is eligible while there are slots, declines what nobody could check.
 * Only the runner that holds the intake lease does this, so that two runners never answer one issue twice.
 */
import { createHash } from 'node:crypto';
import { contractOf } from '../core/criteria.ts';
import { claimed } from '../core/decide.ts';
import { type Contract, event } from '../core/event.ts';
import { fold } from '../core/fold.ts';
import type { Policy } from '../core/policy.ts';
import { type Schedule, schedule } from '../core/schedule.ts';
import { type Readiness, readiness } from '../core/spec.ts';
import { isEnded, type Task } from '../core/task.ts';
import { declinedComment, withdrawnComment } from '../core/words.ts';
import type { Issue } from '../forge/forge.ts';
import type { Lease } from '../store/store.ts';
import type { Ports } from './ports.ts';

export interface Poll {
  schedule: Schedule;
  claimed: string[];
  declined: number[];
  withdrawn: number[];
}

/** Remembers the last poll: while no issue, event or setting changed and nothing fell due, its answer stands. */
export function createIntake(ports: Ports): (lease: Lease, mayClaim: boolean) => Promise<Poll> {
  const judge = remembering(readiness);
  let last: { issues: readonly Issue[]; seq: number; policy: Policy; mayClaim: boolean; poll: Poll } | null =
    null;

  return async (lease, mayClaim) => {
    const policy = ports.settings.policy();
    const issues = await ports.forge.openIssues();
    const seq = (await ports.store.events({ last: 1 }))[0]?.seq ?? 0;
    const same =
      last?.seq === seq &&
      last.policy === policy &&
      last.mayClaim === mayClaim &&
      sameIssues(last.issues, issues);
    if (last && same && !anyDue(last.poll.schedule, ports.clock.now()))
      return { ...last.poll, claimed: [], declined: [], withdrawn: [] };
    const poll = await takeUp(ports, lease, mayClaim, issues, judge);
    last = { issues, seq, policy, mayClaim, poll };
    return poll;
  };
}

async function takeUp(
  ports: Ports,
  lease: Lease,
  mayClaim: boolean,
  issues: Issue[],
  judge: typeof readiness,
): Promise<Poll> {
  const policy = ports.settings.policy();
  const tasks = (await ports.store.tasks()).map((stored) => stored.task);
  const forced = await forcedIssues(ports, issues, tasks);
  const planned = schedule({ issues, tasks, policy, now: ports.clock.now(), forced, readiness: judge });
  const claimed: string[] = [];
  const declined: number[] = [];
  const withdrawn: number[] = [];
  if (mayClaim) {
    const byNumber = new Map(issues.map((issue) => [issue.number, issue]));
    for (const number of planned.claims) {
      const id = await claim(ports, lease, byNumber.get(number)!, tasks);
      if (id) claimed.push(id);
    }
    const answering = await answeredSoon(ports);
    for (const decline of planned.declines.filter(({ issue }) => !answering.has(issue))) {
      await answer(ports, lease, byNumber.get(decline.issue)!, decline);
      declined.push(decline.issue);
    }
    for (const number of planned.withdrawals.filter((issue) => !answering.has(issue))) {
      await withdraw(ports, lease, byNumber.get(number)!);
      withdrawn.push(number);
    }
  }
  return { schedule: planned, claimed, declined, withdrawn };
}

/** A forge that saw no change hands out the very same snapshots. */
function sameIssues(before: readonly Issue[], now: readonly Issue[]): boolean {
  return before.length === now.length && now.every((issue, index) => issue === before[index]);
}

function anyDue(planned: Schedule, now: number): boolean {
  return [...planned.standings.values()].some(
    (one) => one.kind === 'waiting' && one.until !== null && one.until <= now,
  );
}

/** Judging a text is pure but not free; an unchanged issue is judged once. */
function remembering(judge: typeof readiness): typeof readiness {
  let known = new Map<string, Readiness>();
  return (title, body) => {
    const key = `${title}\n${body}`;
    const found = known.get(key);
    if (found) return found;
    if (known.size > 20_000) known = new Map();
    const judged = judge(title, body);
    known.set(key, judged);
    return judged;
  };
}

async function claim(
  ports: Ports,
  lease: Lease,
  issue: Issue,
  tasks: readonly Task[],
): Promise<string | null> {
  const earlier = tasks.filter((task) => task.issue === issue.number);
  const { attempt, slug, branch, contract } = nextAttempt(issue, earlier);
  const taskId = ports.newId().slice(0, 8);
  const at = ports.clock.now();
  const events = [
    event('task_created', { kind: 'issue', issue: issue.number, attempt, slug, branch, contract }),
    event('worker_state_transition', {
      from: 'none',
      to: 'queued',
      reason: null,
      why: 'claimed',
      sessionId: null,
      turn: 0,
      headSha: null,
    }),
  ];
  const row = fold(taskId, [{ ...events[0]!, seq: 0, at, task: taskId }]);
  const actions = [...closeEarlierPull(earlier), ...claimed(row, ports.settings.policy())];
  const stored = await ports.store.claim({ lease, taskId, issue: issue.number, events, actions, at });
  if (stored) ports.log('info', `claimed #${issue.number}`, { task: taskId, attempt });
  return stored ? taskId : null;
}

/** What the next attempt at an issue is called, and the contract it works to. */
export function nextAttempt(
  issue: Issue,
  earlier: readonly Task[],
): { attempt: number; slug: string; branch: string; contract: Contract } {
  const attempt = 1 + Math.max(0, ...earlier.map((task) => task.attempt));
  const slug = earlier[0]?.slug ?? slugOf(issue.title);
  const suffix = attempt > 1 ? `-a${attempt}` : '';
  return {
    attempt,
    slug,
    branch: `loop/${issue.number}-${slug}${suffix}`,
    contract: contractOf(issue),
  };
}

/** An earlier attempt's pull request is closed before a new one is opened: never two for one issue. */
function closeEarlierPull(earlier: readonly Task[]) {
  return earlier
    .filter((task) => task.pull !== null && task.state === 'abandoned')
    .map((task) => ({
      kind: 'close_pull' as const,
      pull: task.pull!,
      comment: 'Closed: a new attempt at the issue has begun.',
    }));
}

async function answer(
  ports: Ports,
  lease: Lease,
  issue: Issue,
  { problem, questions }: Schedule['declines'][number],
): Promise<void> {
  const { labels } = ports.settings.policy();
  const marker = `declined:${issue.textHash.slice(0, 12)}`;
  await ports.store.record({
    lease,
    at: ports.clock.now(),
    events: [event('issue_declined', { issue: issue.number, textHash: issue.textHash, problem, questions })],
    addActions: [
      {
        kind: 'comment',
        issue: issue.number,
        marker,
        body: declinedComment(problem, questions, labels.ready),
      },
      { kind: 'label', issue: issue.number, add: [labels.needsSpec], remove: [labels.ready] },
    ],
  });
  ports.log('info', `declined #${issue.number}: ${problem}`, {});
}

/** What was said about an issue and did not get through yet is not said a second time. */
async function answeredSoon({ store }: Ports): Promise<Set<number>> {
  const pending = (await store.pendingActions(null)).map(({ action }) => action);
  return new Set(pending.flatMap((action) => (action.kind === 'label' ? [action.issue] : [])));
}

/** The label says that somebody agreed to the text, which is not so any more. */
async function withdraw(ports: Ports, lease: Lease, { number: issue, textHash }: Issue): Promise<void> {
  const { ready } = ports.settings.policy().labels;
  const marker = `edited:${textHash.slice(0, 12)}`;
  await ports.store.record({
    lease,
    at: ports.clock.now(),
    events: [event('readiness_withdrawn', { issue, textHash })],
    addActions: [
      { kind: 'comment', issue, marker, body: withdrawnComment(ready) },
      { kind: 'label', issue, add: [], remove: [ready] },
    ],
  });
  ports.log('info', `#${issue} was edited since it was made ready`, {});
}

/** A person's retry, asked after the last attempt ended, skips its cooldown. */
async function forcedIssues(
  ports: Ports,
  issues: readonly Issue[],
  tasks: readonly Task[],
): Promise<Set<number>> {
  const open = new Set(issues.map((issue) => issue.number));
  const last = new Map<number, Task>();
  for (const task of tasks) if (task.issue !== null && open.has(task.issue)) last.set(task.issue, task);
  const forced = new Set<number>();
  for (const [issue, task] of last) {
    if (!isEnded(task)) continue;
    const requests = await ports.store.requests(task.id);
    if (requests.some((request) => request.kind === 'retry')) forced.add(issue);
  }
  return forced;
}

/** Readable and safe in a path and a branch name; names that reduce to nothing or were cut stay apart by a digest. */
export function slugOf(title: string): string {
  const plain = title
    .normalize('NFKD')
    .replace(/[^\x20-\x7e]/g, '')
    .toLowerCase();
  const slug = plain.replace(/[^a-z0-9]+/g, '-').replace(/^-+|-+$/g, '');
  if (slug.length > 0 && slug.length <= 40 && plain === title.toLowerCase()) return slug;
  const digest = createHash('sha256').update(title).digest('hex').slice(0, 6);
  const cut = slug.slice(0, 40).replace(/-+$/, '');
  return cut ? `${cut}-${digest}` : digest;
}
