/** What came of an action, as a commit: one way for an outcome that was heard and for one that was found later. */
import type { Action } from '../core/action.ts';
import type { Outcome } from '../core/outcome.ts';
import { record } from '../core/record.ts';
import type { Task } from '../core/task.ts';
import { withStatus } from '../core/tell/status.ts';
import type { Commit } from '../store/store.ts';
import type { Ports } from './ports.ts';

export async function recorded(
  { store, clock, settings }: Pick<Ports, 'store' | 'clock' | 'settings'>,
  task: Task,
  action: Action,
  outcome: Outcome,
): Promise<Required<Pick<Commit, 'events' | 'addActions' | 'findings'>> & Pick<Commit, 'dropActions'>> {
  const ledger = await store.findings(task.id);
  const now = clock.now();
  const found = record(task, action, outcome, ledger, settings.policy(), now);
  const { events, actions, findings, endsActions } = found;
  const addActions = withStatus(task, events, actions, now);
  return { events, addActions, findings, ...(endsActions && { dropActions: 'all' }) };
}
