import { readFileSync } from 'node:fs';

/** A benchmark compares two things in the same run and says their ratio; a bare number of milliseconds proves nothing. */
export interface Measured {
  name: string;
  value: string;
  /** What it is measured against, and what came out there. */
  against: string;
  ratio: number | null;
  goal: string;
  met: boolean | null;
}

export const median = (samples: readonly number[]): number => {
  const sorted = [...samples].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
};

/** Alternates the two, so that a busy machine slows both alike. */
export async function compare(
  rounds: number,
  ours: () => Promise<void>,
  baseline: () => Promise<void>,
): Promise<{ ours: number; baseline: number }> {
  const samples = { ours: [] as number[], baseline: [] as number[] };
  for (let round = 0; round < rounds; round++) {
    samples.baseline.push(await timed(baseline));
    samples.ours.push(await timed(ours));
  }
  return { ours: median(samples.ours), baseline: median(samples.baseline) };
}

export async function timed(work: () => Promise<void>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

export const ms = (value: number): string => `${value < 10 ? value.toFixed(2) : Math.round(value)} ms`;

const TICK_MS = 10;

/** Processor time of this process and of all its children that have ended, and theirs; NaN where /proc does not say. */
export const cpuMs = (): number => cpuOf('self');

export function cpuOf(process: number | 'self'): number {
  try {
    const stat = readFileSync(`/proc/${process}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks) * TICK_MS, 0);
  } catch {
    return Number.NaN;
  }
}
