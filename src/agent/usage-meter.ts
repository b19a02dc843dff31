/**
 * Running totals in, deltas out.
 *
 * Programs report what a turn has used so far; accounts add up. Each delta is told once, under a key that never
 * repeats, so the deltas add up to the last total: a turn that was cut off and is run again under its number counts from
 * nothing again, and both were paid for. A total that shrinks is told as nothing. Whoever takes up a turn tells what
 * was told before under the same keys, and then what is new.
 */
import type { Usage, UsageReport } from './agent.ts';

const NOTHING: Usage = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, reasoning: 0 };
const KINDS = Object.keys(NOTHING) as (keyof Usage)[];

export type UsageMeter = (total: { usage: Usage | null; costUsd: number | null }) => void;

/** One run of one turn. */
interface MeteredRun {
  launch: string;
  model: string;
  /** By whoever metered it before. */
  reported: readonly UsageReport[];
}

export function usageMeter(
  { launch, model, reported: before }: MeteredRun,
  report: (delta: UsageReport) => void,
): UsageMeter {
  const counted = { ...NOTHING };
  let countedUsd = 0;
  let reports = before.length;
  for (const one of before) {
    for (const kind of KINDS) counted[kind] += one[kind];
    countedUsd += one.costUsd ?? 0;
  }
  return ({ usage, costUsd }) => {
    const delta = { ...NOTHING };
    for (const kind of KINDS) {
      delta[kind] = Math.max(0, (usage ?? NOTHING)[kind] - counted[kind]);
      counted[kind] += delta[kind];
    }
    const deltaUsd = costUsd === null ? null : Math.max(0, costUsd - countedUsd);
    countedUsd += deltaUsd ?? 0;
    if (KINDS.every((kind) => delta[kind] === 0) && !deltaUsd) return;
    reports += 1;
    report({ key: `${launch}:${reports}`, model, ...delta, costUsd: deltaUsd });
  };
}
