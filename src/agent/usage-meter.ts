/**
 * Running totals in, deltas out.
 *
 * Programs report what a turn has used so far; accounts add up. Each delta is told once, under a key that never
 * repeats, so the deltas add up to the last total: a turn that was cut off and is run again under its number counts from
 * nothing again, and both were paid for. A total that shrinks is told as nothing.
 */
import { randomBytes } from 'node:crypto';
import type { Usage, UsageReport } from './agent.ts';

const NOTHING: Usage = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, reasoning: 0 };
const KINDS = Object.keys(NOTHING) as (keyof Usage)[];

export type UsageMeter = (total: { usage: Usage | null; costUsd: number | null }) => void;

export function usageMeter(model: string, report: (delta: UsageReport) => void): UsageMeter {
  const told = { ...NOTHING };
  let toldUsd = 0;
  const launch = randomBytes(6).toString('hex');
  let reports = 0;
  return ({ usage, costUsd }) => {
    const delta = { ...NOTHING };
    for (const kind of KINDS) {
      delta[kind] = Math.max(0, (usage ?? NOTHING)[kind] - told[kind]);
      told[kind] += delta[kind];
    }
    const deltaUsd = costUsd === null ? null : Math.max(0, costUsd - toldUsd);
    toldUsd += deltaUsd ?? 0;
    if (KINDS.every((kind) => delta[kind] === 0) && !deltaUsd) return;
    reports += 1;
    report({ key: `${launch}:${reports}`, model, ...delta, costUsd: deltaUsd });
  };
}
