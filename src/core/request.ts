/** What a person may ask of a task, and when there is no sense in asking. */
import type { Policy } from './policy.ts';
import { isEnded, nameOfTask, type Task, turnsHere } from './task.ts';

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
  | 'resolve'
  | 'tell'
  | 'attach'
  | 'attach_now';

export interface Refusal {
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
  if (kind === 'attach' || kind === 'attach_now') return whyNotAttached(task, name);
  if (kind === 'resume' && task.attached)
    return { why: `${name} is attached to by ${task.attached.by}.`, advice: 'It continues when they exit.' };
  if (kind === 'tell' && task.plan?.mode === 'draft')
    return {
      why: `${name} drafts a plan, and has no coder to tell.`,
      advice: 'Edit the plan when it is there: `forge-loop plan list`.',
    };
  if (kind === 'resume' && !task.hold && !willPause(pending))
    return {
      why: `${name} is not held: it is ${task.state}.`,
      advice: '`forge-loop why` says what it waits for.',
    };
  return null;
}

/** There has to be a worktree with a conversation to go on with, and nobody else who may change trunk by it. */
function whyNotAttached(
  { state, workspace, roles, attached, inMergeQueue }: Task,
  name: string,
): Refusal | null {
  if (attached)
    return { why: `${name} is attached to by ${attached.by}.`, advice: 'Only one person can be at a time.' };
  if (inMergeQueue)
    return {
      why: `${name} is in the merge queue of the forge, which may merge it any moment.`,
      advice: 'Take it out of the queue first.',
    };
  if (!['running', 'revising', 'awaiting_critic', 'merging'].includes(state) || workspace === null)
    return {
      why: `${name} has no worktree yet: it is ${state}.`,
      advice: 'Attach once its first turn has begun.',
    };
  if (roles.coder.session === null)
    return {
      why: `${name} has no session to continue: its next turn starts a new one.`,
      advice: `Its worktree is ${workspace}. \`forge-loop pause\` keeps the loop out of it, \`forge-loop task tell\` tells its coder something.`,
    };
  return null;
}

/** What is said now has no turn to be told in, and would only end the task. */
export const isOutOfTurns = (task: Task, { maxTurns }: Pick<Policy, 'maxTurns'>): boolean =>
  turnsHere(task) >= maxTurns;

/** Of a pause and a resume the later one counts. */
const willPause = (pending: readonly { kind: string }[]): boolean =>
  pending.findLast(({ kind }) => kind === 'pause' || kind === 'resume')?.kind === 'pause';
