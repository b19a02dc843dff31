/**
 * Says once that a limit is nearly reached: an event, a line in the log, and of a task's own limit a comment. And of each turn
 * that cost more than it should have: a line in the log; `cost` and `task show` derive it again.
 */

import { type EventData, event } from '../core/event.ts';
import { hasLoopLimit, type Nearing, nearing, ofSpending, type Spent } from '../core/money/budget.ts';
import { type TurnKey, turnWarnings } from '../core/money/turn-cost.ts';
import { policyFor } from '../core/plan/limits.ts';
import { turnName } from '../core/role.ts';
import { nameOfTask, type Task } from '../core/task.ts';
import { budgetComment } from '../core/words/comments.ts';
import { turnWarningText } from '../core/words/words.ts';
import type { Lease } from '../store/store.ts';
import { loopSpending } from './loop-limit.ts';
import type { Ports } from './ports.ts';

type Warning = EventData['budget_warned'];

/** `said` spares the asker the look into the log; the log itself is what makes it once. */
export async function warnOfTaskBudget(
  ports: Ports,
  task: Task,
  used: Spent,
  said: Set<string>,
): Promise<void> {
  for (const near of nearing(used, policyFor(task, ports.settings.policy()).budget)) {
    const warning = warningOf('task', near, '');
    if (!(await isNews(ports, warning, said, task.id))) continue;
    const marker = `${task.id}:budget:${near.limit}:${near.of}`;
    await ports.store.record({
      task: task.id,
      events: [event('budget_warned', warning)],
      at: ports.clock.now(),
      addActions:
        task.issue === null
          ? []
          : [{ kind: 'comment', issue: task.issue, marker, body: budgetComment(near.says) }],
    });
    said.add(keyOf(warning));
    ports.log('warn', `the budget of ${nameOfTask(task)} is nearly spent: ${near.says}`, { task: task.id });
  }
}

export async function warnOfTurn(ports: Ports, task: Task, turn: TurnKey): Promise<void> {
  const { warnTurnUsd } = ports.settings.policy().budget;
  for (const warning of turnWarnings(await ports.store.usage({ task: task.id }), turn, warnTurnUsd))
    ports.log('warn', `${nameOfTask(task)} ${turnName(turn)} ${turnWarningText(warning)}`, { task: task.id });
}

export async function warnOfLoopBudget(ports: Ports, lease: Lease, said: Set<string>): Promise<void> {
  const { budget } = ports.settings.policy();
  if (!hasLoopLimit(budget)) return;
  const { startsAt, name } = ports.clock.day(ports.clock.now());
  const { day, ever } = await loopSpending(ports.store, startsAt);
  const warnings = [
    ...nearing(ofSpending(day), budget.day).map((near) => warningOf('day', near, name)),
    ...nearing(ofSpending(ever), budget.loop).map((near) => warningOf('loop', near, '')),
  ];
  for (const warning of warnings) {
    if (!(await isNews(ports, warning, said, null))) continue;
    await ports.store.record({ lease, events: [event('budget_warned', warning)], at: ports.clock.now() });
    said.add(keyOf(warning));
    ports.log('warn', `the budget of the ${warning.scope} is nearly spent: ${warning.says}`);
  }
}

const warningOf = (scope: Warning['scope'], { limit, used, of, says }: Nearing, period: string): Warning => ({
  scope,
  limit,
  period,
  used,
  of,
  says,
});

async function isNews(
  ports: Ports,
  warning: Warning,
  said: Set<string>,
  task: string | null,
): Promise<boolean> {
  const key = keyOf(warning);
  if (said.has(key)) return false;
  const earlier = await ports.store.events({ type: 'budget_warned', ...(task === null ? {} : { task }) });
  for (const one of earlier) if (one.type === 'budget_warned' && one.task === task) said.add(keyOf(one.data));
  return !said.has(key);
}

/** A limit that was raised is another limit. */
const keyOf = ({ scope, limit, period, of }: Warning): string => [scope, limit, period, of].join(' ');
