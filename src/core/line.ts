/**
 * The tasks that are about to land, in the order they lined up. Each is tested on top of those before it, as if they had
 * landed already; only the first may land, and every commit lands as it was tested.
 */
import type { Candidate } from './event.ts';
import type { Task } from './task.ts';

/** Whose work a candidate contains although it is not on trunk. */
export interface Ahead {
  task: string;
  issue: number | null;
}

export interface InLine extends Ahead {
  candidate: Candidate | null;
}

/** What became of those that a task does not go together with. */
export type Partners = 'in_line' | 'landed' | 'gone';

/** One that does not go together with others stands beside the line until it is known what becomes of them. */
export const isInLine = (task: Task): boolean => task.state === 'merging' && !task.misfit;

/** How many more may line up. */
export const freePlaces = (live: readonly Task[], length: number): number =>
  length - live.filter(isInLine).length;

export function aheadOf(task: Task, live: readonly Task[]): InLine[] {
  return inOrder(live)
    .filter((other) => other.id !== task.id && (!isInLine(task) || isBefore(other, task)))
    .map(({ id, issue, landing }) => ({ task: id, issue, candidate: landing?.candidate ?? null }));
}

/** Those in line, first to land first. */
export const inOrder = (live: readonly Task[]): Task[] =>
  live.filter(isInLine).sort((a, b) => (isBefore(a, b) ? -1 : 1));

export const asAhead = ({ task, issue }: Ahead): Ahead => ({ task, issue });

const isBefore = (one: Task, other: Task): boolean => {
  const [first, second] = [one.linedUpAt ?? 0, other.linedUpAt ?? 0];
  return first === second ? one.id < other.id : first < second;
};

/** Any that may still land is waited for; one that went away takes what was found about it along. */
export function partnersOf(others: readonly (Task | null)[]): Partners {
  if (others.some((other) => other && isInLine(other))) return 'in_line';
  return others.every((other) => other?.state === 'merged') ? 'landed' : 'gone';
}

/** Somebody may test on top of another commit now, or land. */
export const movesLine = (before: Task, after: Task): boolean =>
  (before.state === 'merging' || after.state === 'merging') &&
  (before.landing?.candidate.sha !== after.landing?.candidate.sha ||
    before.landing?.testing !== after.landing?.testing ||
    isInLine(before) !== isInLine(after));
