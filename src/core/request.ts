/** What a person may ask of a task, and when there is no sense in asking. */
import { isEnded, nameOfTask, type Task } from './task.ts';

export type RequestKind =
  | 'cancel'
  | 'abandon'
  | 'approve'
  | 'pause'
  | 'resume'
  | 'retry'
  | 'wontfix'
  | 'reopen'
  | 'write'
  | 'resolve';

interface Refusal {
  why: string;
  advice: string | null;
}

/** Null when it can be asked. `pending` was asked before and not answered yet, oldest first. */
export function refusal(
  task: Task,
  kind: RequestKind,
  pending: readonly { kind: string }[] = [],
): Refusal | null {
  const name = `Task ${task.id} (${nameOfTask(task)})`;
  if (kind === 'retry') {
    if (!isEnded(task))
      return {
        why: `Issue #${task.issue} is being worked on: task ${task.id} is ${task.state}.`,
        advice: `\`forge-loop task cancel ${task.id}\` ends it first.`,
      };
    if (task.state !== 'abandoned')
      return {
        why: `Issue #${task.issue} needs no new attempt: task ${task.id} is ${task.state}.`,
        advice: null,
      };
    return null;
  }
  if (isEnded(task)) {
    const advice =
      task.state === 'abandoned'
        ? `\`forge-loop task restart ${task.id}\` continues it${task.issue === null ? '' : `, \`forge-loop task retry ${task.issue}\` starts a new attempt`}.`
        : null;
    return { why: `${name} has ended: ${task.state}.`, advice };
  }
  const isProposed = task.spec?.status === 'proposed';
  if (kind === 'approve' && !isProposed && (task.state !== 'awaiting_critic' || task.pull === null)) {
    return {
      why: `${name} has nothing to approve: it is ${task.state}.`,
      advice:
        'A task is approved while it waits for its critic, or for somebody to agree to its specification.',
    };
  }
  if (kind === 'resume' && !task.hold && !willPause(pending))
    return {
      why: `${name} is not held: it is ${task.state}.`,
      advice: '`forge-loop why` says what it rests on.',
    };
  return null;
}

/** Of a pause and a resume the later one counts. */
const willPause = (pending: readonly { kind: string }[]): boolean =>
  pending.findLast(({ kind }) => kind === 'pause' || kind === 'resume')?.kind === 'pause';
