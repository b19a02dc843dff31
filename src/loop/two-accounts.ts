/** Writes down, once for each turn, that what the gateway counted and what the agent says are not the same. */
import { event } from '../core/event.ts';
import type { TurnKey } from '../core/money/turn-cost.ts';
import { disagreement, type TwoAccounts } from '../core/money/two-accounts.ts';
import { turnName } from '../core/role.ts';
import { nameOfTask, type Task } from '../core/task.ts';
import { turnWarningText } from '../core/words/words.ts';
import { answerIdOf } from '../gateway/gateway.ts';
import type { Ports } from './ports.ts';

export async function compareAccounts(
  { store, clock, log }: Pick<Ports, 'store' | 'clock' | 'log'>,
  task: Task,
  { role, turn, sessionId }: TurnKey,
  accounts: TwoAccounts,
): Promise<void> {
  const own = new Set(accounts.counted.told.map(({ id }) => id));
  const booked = (await store.usage({ task: task.id })).flatMap(({ key }) => answerIdOf(key) ?? []);
  const before = (await store.turns(task.id)).filter((one) => one.sessionId === sessionId).slice(0, -1);
  const found = disagreement(accounts, {
    ids: new Set(booked.filter((id) => !own.has(id))),
    isOpen: before.some(({ status }) => status !== 'finished'),
  });
  if (!found) return;
  const differ = event('accounts_differ', { role, turn, sessionId, ...found });
  await store.record({ task: task.id, events: [differ], at: clock.now() });
  const text = turnWarningText({ kind: 'accounts_differ', ...found });
  log('warn', `${nameOfTask(task)} ${turnName({ role, turn })} ${text}`, { task: task.id });
}
