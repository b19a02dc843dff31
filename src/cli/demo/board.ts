/** What each issue is doing at this moment, read from the rows and the outbox. */

import type { Action } from '../../core/action.ts';
import { approvedAtHead } from '../../core/decision.ts';
import { holdText } from '../../core/hold.ts';
import type { Task } from '../../core/task.ts';
import { isEnded, nameOfTask } from '../../core/task.ts';
import { shortSha } from '../../core/words/short-sha.ts';
import type { Store } from '../../store/store.ts';
import type { DemoIssue } from './issues.ts';

export interface BoardRow {
  /** As people name it: #1, or 1. for a milestone. */
  number: string;
  title: string;
  state: string;
  turns: number | null;
  doing: string;
  elapsedMs: number | null;
}

export async function readBoard(
  store: Store,
  issues: readonly DemoIssue[],
  before: readonly BoardRow[],
  now: number,
): Promise<BoardRow[]> {
  const tasks = (await store.tasks()).map((stored) => stored.task);
  const declined = await store.events({ type: 'issue_declined' });
  const rowOf = async ({ title }: DemoIssue, at: number): Promise<BoardRow> => {
    const issue = at + 1;
    const row = { number: `#${issue}`, title, state: 'ready', turns: null, doing: '', elapsedMs: null };
    const task = tasks.find((one) => one.issue === issue);
    if (task) {
      const [pending] = await store.pendingActions(task.id);
      // Between two actions it is about to go on with something: the last word stands for the moment.
      const doing = doingOf(task, pending?.action ?? null) ?? before[at]?.doing ?? '';
      const elapsedMs = (task.endedAt ?? now) - task.createdAt;
      return { ...row, state: task.state, turns: task.turns, doing, elapsedMs };
    }
    const said = declined.find((one) => one.type === 'issue_declined' && one.data.issue === issue);
    if (said?.type !== 'issue_declined') return row;
    return { ...row, state: 'declined', doing: `${said.data.questions.length} questions asked` };
  };
  return Promise.all(issues.map(rowOf));
}

function doingOf(task: Task, action: Action | null): string | null {
  if (isEnded(task))
    return task.mergedSha ? `on trunk as ${shortSha(task.mergedSha)}` : (task.reason ?? task.why);
  if (task.hold) return holdText(task.hold, nameOfTask(task));
  switch (action?.kind) {
    case 'turn':
      return turnText(action, task);
    case 'gate':
      return { work: 'gate', candidate: 'gate on the merged tree', trunk: 'gate on trunk' }[action.scope];
    case 'prepare_workspace':
      return 'preparing its work tree';
    case 'checkpoint':
      return 'saving its work';
    case 'push':
    case 'ensure_pull':
      return 'opening a pull request';
    case 'merge_in':
      return 'bringing in trunk';
    case 'build_candidate':
    case 'land':
      return 'merging';
    case undefined:
      return restText(task);
    default:
      return null;
  }
}

function turnText({ role, prompt }: Extract<Action, { kind: 'turn' }>, task: Task): string {
  if (role === 'critic') return 'the critic is reading';
  if (prompt === 'continuation') return 'fixing the red gate';
  if (prompt !== 'revise') return 'writing code';
  const conflicts = task.feedback.some(({ kind }) => kind === 'conflict');
  return conflicts ? 'resolving the conflict' : 'addressing the review';
}

function restText(task: Task): string | null {
  if (task.state === 'queued') return 'waiting for a slot';
  if (task.state !== 'awaiting_critic') return null;
  return approvedAtHead(task) ? 'waiting to merge' : 'waiting for a critic';
}
