/**
 * The order that the direction gives to issues that are as urgent as each other: those about what comes next first, those
 * about rejected approaches last. It never drops one, and passes none over for long.
 */
import type { WorkItem } from '../claim.ts';
import type { Task } from '../task.ts';
import type { Frontier } from './frontier.ts';
import { likeness } from './match.ts';

export interface Alignment {
  /** The higher goes first; 0 where the direction says nothing of it. */
  score: number;
  /** What it rests on; null where the direction says nothing of it. */
  why: string | null;
}

const UNALIGNED: Alignment = { score: 0, why: null };

/** So many later issues may be claimed before one; then it goes first. */
const MOST_PASSED_OVER = 5;
/** Whoever was passed over so often was so lately. */
const CLAIMS_LOOKED_AT = 200;

export function alignments(
  items: readonly WorkItem[],
  tasks: readonly Task[],
  frontier: Frontier,
): (item: WorkItem) => Alignment {
  if (frontier.nextExpansion.length === 0 && frontier.rejected.length === 0 && !frontier.currentProblem)
    return () => UNALIGNED;
  const claims = tasks
    .filter(({ issue, attempt }) => issue !== null && attempt === 1)
    .sort((a, b) => b.createdAt - a.createdAt)
    .slice(0, CLAIMS_LOOKED_AT);
  const isPassedOver = ({ number, readyAt, createdAt }: WorkItem): boolean => {
    const since = readyAt ?? createdAt;
    const later = claims.filter((claim) => claim.createdAt > since && claim.issue! > number);
    return later.length >= MOST_PASSED_OVER;
  };
  const known = new Map(
    items.map((item) => [item, isPassedOver(item) ? PASSED_OVER : alignmentOf(item, frontier)]),
  );
  return (item) => known.get(item) ?? UNALIGNED;
}

const PASSED_OVER: Alignment = {
  score: Number.POSITIVE_INFINITY,
  why: `passed over ${MOST_PASSED_OVER} times`,
};

function alignmentOf(item: WorkItem, { nextExpansion, currentProblem, rejected }: Frontier): Alignment {
  const towards = best(item, [
    ...nextExpansion.map((phrase) => ({ phrase, why: `matches "${phrase}" in next_expansion` })),
    ...(currentProblem ? [{ phrase: currentProblem, why: 'matches current_problem' }] : []),
  ]);
  const away = best(
    item,
    rejected.map(({ approach }) => ({
      phrase: approach,
      why: `matches "${approach}" in rejected_approaches`,
    })),
  );
  const why = away.score > towards.score ? away.why : towards.why;
  return { score: towards.score - away.score, why };
}

function best(item: WorkItem, phrases: readonly { phrase: string; why: string }[]): Alignment {
  let found = UNALIGNED;
  for (const { phrase, why } of phrases) {
    const score = likeness(phrase, item);
    if (score > found.score) found = { score, why };
  }
  return found;
}
