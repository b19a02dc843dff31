/** A task's story told again, event by event: the row after each, what it changed, and what came of it. */
import type { EventType, LoopEvent } from '../event.ts';
import { apply } from '../fold.ts';
import type { Task } from '../task.ts';

export interface Step {
  /** Counted from 1. */
  step: number;
  event: LoopEvent;
  before: Task | null;
  task: Task;
}

export function stepsOf(events: readonly LoopEvent[]): Step[] {
  const steps: Step[] = [];
  let task: Task | null = null;
  for (const event of events) {
    const before: Task | null = task;
    task = apply(before, event);
    steps.push({ step: steps.length + 1, event, before, task });
  }
  return steps;
}

/** What an event begins, and the events by which that is over. */
const OVER_BY: Partial<Record<EventType, readonly EventType[]>> = {
  turn_started: ['turn_completed', 'prompt_broken'],
  checkpointed: ['gate_completed', 'gate_cut_off'],
  candidate_built: ['gate_completed', 'candidate_dropped', 'line_left'],
  merge_decided: [
    'merge_observed',
    'merge_queued',
    'landing_blocked',
    'landing_refused',
    'landing_unanswered',
  ],
  hold_set: ['hold_cleared'],
  phase_entered: ['audit_recorded', 'milestone_completed', 'post_action_ended'],
  feedback_added: ['feedback_acknowledged', 'feedback_withdrawn'],
  request_made: ['hold_cleared', 'worker_state_transition', 'finding_decided', 'verdict_recorded'],
};

/** What came of a step: the later one by which it is over; null when nothing did, or it began nothing. */
export function cameOf(steps: readonly Step[], { step, event }: Step): Step | null {
  const ends = OVER_BY[event.type];
  if (!ends) return null;
  const next = steps
    .slice(step)
    .find((one) => one.event.type === event.type || ends.includes(one.event.type));
  return next && next.event.type !== event.type ? next : null;
}

/** The turn that a step is about, or happens in. */
export function turnOf(steps: readonly Step[], { step, event, before, task }: Step) {
  const { turn } = event.type === 'turn_completed' ? (before ?? task) : task;
  if (!turn) return null;
  for (const { event } of steps.slice(0, step).reverse())
    if (event.type === 'turn_started' && event.data.sessionId === turn.sessionId)
      if (event.data.turn === turn.turn && event.data.role === turn.role) return event.data;
  return null;
}

/** Of a person: a number is a step, `e120` the event of that number, anything else the last event of that type. */
export function stepAt(steps: readonly Step[], at: string): Step | null {
  if (/^\d+$/.test(at)) return steps[Number(at) - 1] ?? null;
  const seq = /^e(\d+)$/.exec(at)?.[1];
  if (seq !== undefined) return steps.find(({ event }) => event.seq === Number(seq)) ?? null;
  return steps.findLast(({ event }) => event.type === at) ?? null;
}

/** The fields of a row that a step changed. */
export const changedBy = ({ before, task }: Step): string[] =>
  before === null || before === task
    ? []
    : Object.keys({ ...before, ...task }).filter((key) => {
        const [was, is] = [before[key as keyof Task], task[key as keyof Task]];
        return was !== is && JSON.stringify(was) !== JSON.stringify(is);
      });

export interface Difference {
  /** Such as `roles.coder.session`. */
  field: string;
  stored: unknown;
  folded: unknown;
}

/** Where a stored value is not what its events say; of a list or an object, its parts. As JSON has them: undefined is not there. */
export function differencesOf(stored: unknown, folded: unknown, field = ''): Difference[] {
  if (Object.is(stored, folded)) return [];
  if (isObject(stored) && isObject(folded) && Array.isArray(stored) === Array.isArray(folded))
    return [...new Set([...Object.keys(stored), ...Object.keys(folded)])].flatMap((key) =>
      differencesOf(stored[key], folded[key], field === '' ? key : `${field}.${key}`),
    );
  return [{ field, stored: stored ?? null, folded: folded ?? null }];
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null;
