/** What came of the issues that some events tell of: one line each, whichever attempt had the last word. */
import type { LoopEvent } from '../event.ts';
import { type OutcomeClass, REASONS, type Reason } from '../machine.ts';
import { isEnded, nameOfTask, type Task } from '../task.ts';
import { adviceText } from '../words/words.ts';

export interface Result {
  /** What people call it: `#7`, a plan's name. */
  name: string;
  /** Null for what is no attempt at an issue. */
  issue: number | null;
  /** Null when it never became a task. */
  task: string | null;
  title: string | null;
  outcome: 'merged' | 'completed' | OutcomeClass;
  /** `declined` and `edited` are said of issues that never became a task. */
  reason: Reason | 'declined' | 'edited' | null;
  why: string;
  advice: string | null;
  mergedSha: string | null;
}

export const resultsOf = (events: readonly LoopEvent[], tasks: readonly Task[]): Result[] =>
  resultsAmong(events, tasks, new Set(events.filter(isEnding).map(({ task }) => task)));

/** The same of everything since a time; the events need only be those of issues that never became a task. */
export const resultsSince = (since: number, events: readonly LoopEvent[], tasks: readonly Task[]): Result[] =>
  resultsAmong(
    events.filter(({ at }) => at >= since),
    tasks,
    new Set(tasks.filter(({ endedAt }) => endedAt !== null && endedAt >= since).map(({ id }) => id)),
  );

/** A task that was ended and goes on again has no result yet; of several attempts the latest counts. */
function resultsAmong(
  events: readonly LoopEvent[],
  tasks: readonly Task[],
  told: ReadonlySet<string | null>,
): Result[] {
  const latest = new Map(tasks.map((task) => [nameOfTask(task), task]));
  const results = new Map<string, Result>();
  for (const one of events) {
    const result = neverBegun(one);
    if (result) results.set(result.name, result);
  }
  // What became a task after all has its own result, or none yet.
  for (const [name, task] of latest) {
    if (told.has(task.id) && isEnded(task)) results.set(name, ended(task));
    else if (!isEnded(task)) results.delete(name);
  }
  return [...results.values()].sort((a, b) => (a.issue ?? 0) - (b.issue ?? 0));
}

const isEnding = (one: LoopEvent): boolean =>
  one.type === 'worker_state_transition' && ['merged', 'completed', 'abandoned'].includes(one.data.to);

function ended(task: Task): Result {
  const { reason } = task;
  return {
    name: nameOfTask(task),
    issue: task.issue,
    task: task.id,
    title: task.contract.title,
    outcome:
      reason === null ? (task.state === 'completed' ? 'completed' : 'merged') : REASONS[reason].outcome,
    reason,
    why: reason !== null && task.why === '' ? REASONS[reason].says : task.why,
    advice: adviceText(task),
    mergedSha: task.mergedSha,
  };
}

function neverBegun(one: LoopEvent): Result | null {
  const nothing = { task: null, title: null, mergedSha: null };
  if (one.type === 'issue_declined')
    return {
      ...nothing,
      name: `#${one.data.issue}`,
      issue: one.data.issue,
      outcome: 'failure',
      reason: 'declined',
      why: one.data.problem ?? 'it is a matter of taste',
      advice: REASONS.spec_rejected.advice,
    };
  if (one.type === 'readiness_withdrawn')
    return {
      ...nothing,
      name: `#${one.data.issue}`,
      issue: one.data.issue,
      outcome: 'neutral',
      reason: 'edited',
      why: 'its text was edited after it was made ready',
      advice: 'Make it ready again if the new text is what you want.',
    };
  return null;
}
