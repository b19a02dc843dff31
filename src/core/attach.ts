/**
 * A person works in a task's place: in its worktree, in its coder's conversation. For that long they have its lease, and
 * nothing is decided about it. Afterwards it is as if a turn had ended: what changed is saved, then looked at as ever.
 */
import { type Action, isRun, type PendingAction } from './action.ts';
import { ATTACHED, putAside } from './decision.ts';
import { type EventData, event, type Hold, type NewEvent } from './event.ts';
import { isEndedByWord } from './hold.ts';
import { needsSlot, type Task } from './task.ts';
import { stillToSay } from './tell/status.ts';

/** What is left to do for it touches neither its worktree nor trunk: what people are told can wait, a run begins again. */
export const mayHandOver = (pending: readonly PendingAction[]): boolean =>
  pending.every(
    ({ action, startedAt }) => (isRun(action) && startedAt === null) || stillToSay([action]).length > 0,
  );

/** `finish`: runs that had not begun; they are decided again afterwards. */
export function attaching(
  task: Task,
  pending: readonly PendingAction[],
  { by, sessionId }: { by: string; sessionId: string },
): { events: NewEvent[]; finish: number[] } {
  const runs = pending.filter(({ action }) => isRun(action));
  const why = `${by} attached to it`;
  return {
    events: [
      ...runs.flatMap(({ action }) => (action.kind === 'turn' ? [neverBegun(action, why)] : [])),
      ...(task.state === 'merging' ? putAside(task, why) : []),
      event('attached', { by, sessionId, headSha: task.headSha }),
      event('hold_set', {
        reason: 'attached',
        detail: `${by} has it open in the agent's own program`,
        until: null,
      }),
    ],
    finish: runs.map(({ id }) => id),
  };
}

const neverBegun = (
  { turn, role, sessionId }: Extract<Action, { kind: 'turn' }>,
  message: string,
): NewEvent =>
  event('turn_completed', {
    ...{ turn, role, sessionId, message },
    ...{ status: 'interrupted', code: ATTACHED, retryAt: null, durationMs: 0, usage: 'known' },
  });

/**
 * `pausedBy`: whoever wants it to wait. Otherwise it goes on. A wait that ends by a person's word ends by this; one for a time, or
 * one that a person asked for, goes on.
 */
export function detaching(
  task: Task,
  left: Omit<EventData['detached'], 'by' | 'sessionId'>,
  pausedBy: string | null,
): { events: NewEvent[]; actions: Action[] } {
  const { attached } = task;
  if (!attached) return { events: [], actions: [] };
  const { by, sessionId, before } = attached;
  const kept: Hold | null =
    pausedBy === null
      ? before && !isEndedByWord(task, before)
        ? before
        : null
      : { reason: 'operator_pause', detail: `paused by ${pausedBy}`, until: null };
  const goesOn = needsSlot(task)
    ? event('hold_released', { by: 'loop' })
    : event('hold_cleared', { reason: 'attached', by: 'loop' });
  return {
    events: [event('detached', { by, sessionId, ...left }), kept ? event('hold_set', kept) : goesOn],
    actions: [{ kind: 'checkpoint' }],
  };
}
