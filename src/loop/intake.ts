/**
 * Takes up work: looks what its sources have (source.ts), claims what is eligible while there are slots, turns away what
 * nobody could check. Only the runner that holds the intake lease does this, so that two runners never answer one issue twice.
 */
import { RULES, type WorkItem, type Written } from '../core/claim.ts';
import { latestAttempts, NO_QUOTA, type Quota, type Schedule, schedule } from '../core/line/schedule.ts';
import { isEnded, type Task } from '../core/task.ts';
import type { Lease, Store } from '../store/store.ts';
import { underWay } from './interrupted.ts';
import type { Ports } from './ports.ts';
import { readPace } from './read-pace.ts';
import type { Source } from './source.ts';

export interface Poll {
  schedule: Schedule;
  claimed: number;
  /** Declined or withdrawn: there is something to say about them. */
  turnedAway: number;
}

export async function takeUp(
  ports: Ports,
  source: Source,
  lease: Lease,
  mayClaim: boolean,
  quota: Quota = NO_QUOTA,
): Promise<Poll> {
  const { store, clock, log } = ports;
  const policy = ports.settings.policy();
  const items = await source.items();
  const tasks = (await store.tasks()).map(({ task }) => task);
  const { left } = await underWay(ports, tasks);
  const forced = await forcedIssues(store, items, tasks);
  const { accountLimits } = await store.loop();
  const pace = await readPace(store);
  const frontier = await ports.frontier();
  const planned = schedule({
    items,
    tasks,
    left,
    policy,
    now: clock.now(),
    accountLimits,
    forced,
    pace,
    frontier,
    quota,
  });
  const poll = { schedule: planned, claimed: 0, turnedAway: 0 };
  if (!mayClaim) return poll;

  for (const item of planned.claims) {
    const taskId = ports.newId().slice(0, 8);
    const earlier = tasks.filter((task) => task.issue === item.number);
    const claim = RULES[item.kind].claim(item, earlier, policy);
    const stored = await store.claim({ lease, taskId, issue: item.number, ...claim, at: clock.now() });
    if (!stored) continue;
    log('info', `claimed #${item.number}`, { task: taskId, attempt: stored.task.attempt });
    poll.claimed += 1;
  }

  const answered = await answeredIssues(store);
  const turnAway = async (item: WorkItem, { events, actions }: Written, says: string): Promise<void> => {
    if (answered.has(item.number)) return;
    await store.record({ lease, at: clock.now(), events, addActions: actions });
    log('info', says, {});
    poll.turnedAway += 1;
  };
  for (const { item, ...asked } of planned.declines) {
    const declined = RULES[item.kind].decline(item, asked, policy);
    await turnAway(item, declined, `declined #${item.number}: ${asked.problem}`);
  }
  for (const item of planned.withdrawals) {
    const withdrawn = RULES[item.kind].withdraw(item, policy);
    await turnAway(item, withdrawn, `#${item.number} was edited since it was made ready`);
  }
  return poll;
}

/** A person's retry, asked after the last attempt ended, skips its cooldown. */
export async function forcedIssues(
  store: Pick<Store, 'requests'>,
  items: readonly WorkItem[],
  tasks: readonly Task[],
): Promise<Set<number>> {
  const latest = latestAttempts(tasks);
  const forced = new Set<number>();
  for (const { number } of items) {
    const last = latest.get(number);
    if (!last || !isEnded(last)) continue;
    const requests = await store.requests(last.id);
    if (requests.some(({ kind }) => kind === 'retry')) forced.add(number);
  }
  return forced;
}

/** What was said about an issue and did not get through yet is not said a second time. */
async function answeredIssues(store: Store): Promise<Set<number>> {
  const pending = await store.pendingActions(null);
  return new Set(pending.flatMap(({ action }) => (action.kind === 'label' ? [action.issue] : [])));
}
