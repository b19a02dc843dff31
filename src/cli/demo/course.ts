/** The course an issue took, read from what was recorded, and how it differs from what was told. */
import type { Context } from '../../context.ts';
import type { EventData, LoopEvent, PromptKind } from '../../core/event.ts';
import type { State } from '../../core/machine.ts';
import type { Verdict } from '../../core/verdict.ts';
import { type TaskView, taskViews } from '../../view.ts';

export interface Course {
  outcome: State | 'declined' | 'untouched';
  /** The coder's turns, by the prompt each began with. */
  prompts: PromptKind[];
  /** How each verification of the work ended. */
  gates: string[];
  verdicts: Verdict[];
  /** Files in which trunk and the work collided. */
  conflicts: string[];
  /** Conversations the coder had. */
  sessions: number;
  /** Questions were recorded, and asked in a comment. */
  asked: boolean;
}

interface Taken {
  course: Course;
  task: TaskView | null;
}

export async function courseOf(context: Context, issue: number): Promise<Taken> {
  const store = (await context.reading())!;
  const tasks = (await store.tasks({ issue })).map((stored) => stored.task);
  const [task = null] = await taskViews(context, store, tasks.slice(-1));
  const events = task ? await store.events({ task: task.id }) : [];
  const asked = await isAsked(context, issue);
  return {
    task,
    course: {
      outcome: task?.state ?? (asked ? 'declined' : 'untouched'),
      prompts: dataOf(events, 'turn_started')
        .filter(({ role }) => role === 'coder')
        .map(({ prompt }) => prompt),
      gates: dataOf(events, 'gate_completed')
        .filter(({ scope }) => scope === 'work')
        .map(({ evidence }) => evidence.outcome),
      verdicts: dataOf(events, 'verdict_recorded').map(({ verdict }) => verdict),
      conflicts: dataOf(events, 'work_updated').flatMap(({ conflicts }) => conflicts),
      sessions: task?.sessionIds.length ?? 0,
      asked,
    },
  };
}

/** One line for each point in which they differ. */
export function differences<T extends object>(told: T, took: T): string[] {
  const points = Object.keys(told) as (keyof T & string)[];
  return points
    .filter((point) => shown(told[point]) !== shown(took[point]))
    .map((point) => `${point}: told was ${shown(told[point])}, it came to ${shown(took[point])}`);
}

const shown = (value: unknown): string => (Array.isArray(value) ? value.join(', ') || 'none' : String(value));

async function isAsked(context: Context, issue: number): Promise<boolean> {
  const declined = dataOf(
    await (await context.reading())!.events({ type: 'issue_declined' }),
    'issue_declined',
  );
  const questions = declined.filter((one) => one.issue === issue).flatMap((one) => one.questions);
  const comments = await (await context.forge()).comments(issue);
  return (
    questions.length > 0 &&
    questions.every((question) => comments.some(({ text }) => text.includes(question)))
  );
}

export function dataOf<T extends LoopEvent['type']>(events: readonly LoopEvent[], type: T): EventData[T][] {
  return events.filter((one) => one.type === type).map((one) => one.data as EventData[T]);
}
