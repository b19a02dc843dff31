/**
 * The tasks that are about to land, in the order they lined up. Each is tested on top of those before it, as if they had
 * landed already; only the first may land, and every commit lands as it was tested.
 */
import type { Candidate } from '../event.ts';
import type { Task } from '../task.ts';

/** Whose work a candidate contains although it is not on trunk. */
export interface Ahead {
  task: string;
  issue: number | null;
}

export interface InLine extends Ahead {
  candidate: Candidate | null;
}

/**
 * Why a task stands beside the line: it goes together with all those `below`, and no more when those of `with` are added;
 * null where they conflict. `on`: it is tested on top of these, to tell which one it is; absent while it is tested alone.
 */
export interface Misfit {
  with: Ahead[];
  text: string | null;
  below?: Ahead[];
  on?: Ahead[];
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

/** Half of the suspects are left: those the gate was run on top of, if it was red, and the others otherwise. */
export function narrowed(
  { with: suspects, text, below = [], on = below }: Misfit,
  found: { red: string } | 'green',
): Misfit {
  const tested = suspects.slice(0, on.length - below.length);
  const left =
    found === 'green'
      ? { with: suspects.slice(tested.length), text, below: [...below, ...tested] }
      : { with: tested, text: found.red, below };
  if (left.with.length === 1) return left;
  return { ...left, on: [...left.below, ...left.with.slice(0, Math.floor(left.with.length / 2))] };
}

/** It is known which one it is, or there is nothing to test. */
export const isSettled = ({ text, below, on }: Misfit): boolean =>
  text === null || (below !== undefined && on === undefined);

/** All that it takes for a task not to go together with the last of them. */
export const partnersIn = (misfit: Misfit): Ahead[] => [...(misfit.below ?? []), ...misfit.with];

/** The commit that has its work, and that of everybody ahead of it: on trunk, or about to land. */
export const commitOf = (task: Task): string | null =>
  task.mergedSha ?? (isInLine(task) ? (task.landing?.candidate.sha ?? null) : null);

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
