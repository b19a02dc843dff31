/** Merged per hour of a night (test/simulation/night.ts) against the ideal: in line, of several seeds, and one at a time. */
import { type Night, playNight, SLOTS } from '../test/simulation/night.ts';
import type { Measured } from './measure.ts';

const ISSUES = 200;
const AHEAD = 3;
const SEEDS = (process.env.SEEDS ?? '7,11,23,42,101').split(',').map(Number);
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

export async function night(): Promise<Measured[]> {
  const [seed] = SEEDS as [number];
  const nights: Night[] = [];
  for (const one of SEEDS)
    nights.push(await playNight({ issues: ISSUES, ahead: AHEAD, seed: one, areNamed: true }));
  const unnamed = await playNight({ issues: ISSUES, ahead: AHEAD, seed, areNamed: false });
  const alone = await playNight({ issues: ISSUES, ahead: 1, seed, areNamed: true });
  const rows = nights.map((one, at) => measured(`… seed ${SEEDS[at]}`, one, null));
  return [
    worst(nights),
    ...rows,
    measured(`… seed ${seed}, no issue names what it conflicts in`, unnamed, null),
    measured(`… seed ${seed}, one at a time`, alone, null),
  ];
}

function worst(nights: readonly Night[]): Measured {
  const [least] = [...nights].sort((a, b) => a.ratio - b.ratio) as [Night];
  return measured(
    `night of ${ISSUES} issues, ${SLOTS} slots, gate 5 min, ahead ${AHEAD}: the worst of ${nights.length} seeds`,
    least,
    0.9,
  );
}

function measured(name: string, night: Night, goal: number | null): Measured {
  const { merged, took, ideal, ratio, conflicts, gates, longestWait } = night;
  const perHour = (span: number): string => ((merged * HOUR) / span).toFixed(1);
  const details = [
    `${conflicts} conflicts`,
    `${(gates / merged).toFixed(2)} gates per merge`,
    `longest wait ${Math.round(longestWait / MINUTE)} min`,
  ];
  return {
    name,
    value: `${perHour(took)} merged per hour; ${details.join(', ')}`,
    against: `ideal ${perHour(ideal)}`,
    ratio,
    goal: goal === null ? 'reported' : `≥ ${goal}`,
    met: goal === null ? null : ratio >= goal,
  };
}
