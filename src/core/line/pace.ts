/**
 * How many tasks may wait to be judged and merged before new work waits for them: as many as can land while a new one is
 * worked on. More would only grow old, and conflict with what lands before them.
 */
import type { LoopEvent } from '../event.ts';
import type { Policy } from '../policy.ts';

/** How long things took lately; null where there is no measure yet. */
export interface Pace {
  gateMs: number | null;
  criticMs: number | null;
  turnMs: number | null;
}

export const NO_PACE: Pace = { gateMs: null, criticMs: null, turnMs: null };

/** `gates` and `turns` are events of those kinds, the newest last. */
export function paceOf(gates: readonly LoopEvent[], turns: readonly LoopEvent[]): Pace {
  const gateMs = gates.flatMap((one) =>
    one.type === 'gate_completed' && one.data.scope === 'candidate' && !one.data.reused && !one.data.within
      ? [one.data.evidence.results.reduce((sum, { durationMs }) => sum + durationMs, 0)]
      : [],
  );
  const of = (role: string) =>
    turns.flatMap((one) =>
      one.type === 'turn_completed' && one.data.role === role && one.data.status === 'finished'
        ? [one.data.durationMs]
        : [],
    );
  return { gateMs: median(gateMs), criticMs: median(of('critic')), turnMs: median(of('coder')) };
}

const RECENT = 10;

function median(all: readonly number[]): number | null {
  const recent = all.slice(-RECENT).sort((a, b) => a - b);
  return recent[Math.floor(recent.length / 2)] ?? null;
}

/** What waits to be judged and merged, and how much may; when about new work starts again, where that can be told. */
export interface Backlog {
  waiting: number;
  most: number | null;
  /** The step that sets the pace. */
  slowest: Step | null;
  nextInMs: number | null;
}

/** `everyMs`: so often one comes out of it. */
interface Step {
  name: 'gate' | 'critic';
  ms: number;
  everyMs: number;
}

export function backlogOf(waiting: number, pace: Pace, policy: Policy): Backlog {
  const slowest = slowestStep(pace, policy);
  const most = policy.maxWaiting ?? mostByPace(pace, slowest, policy);
  const landFirst = most === null ? 0 : waiting - most + 1;
  return { waiting, most, slowest, nextInMs: landFirst > 0 && slowest ? landFirst * slowest.everyMs : null };
}

/** Critics judge while gates run, so that tasks land at the pace of whichever is slower. */
function slowestStep({ gateMs, criticMs }: Pace, { critic, gate, merge }: Policy): Step | null {
  if (gateMs === null) return null;
  const { ahead, batch } = merge.queue;
  const gates = batch ? ahead : Math.min(ahead, gate.maxConcurrent);
  const tested: Step = { name: 'gate', ms: gateMs, everyMs: gateMs / gates };
  if (!critic.enabled || criticMs === null) return tested;
  const judged: Step = { name: 'critic', ms: criticMs, everyMs: criticMs / critic.parallel };
  return judged.everyMs > tested.everyMs ? judged : tested;
}

/** No limit before the first task has come all the way: there is nothing to measure it by. */
function mostByPace({ turnMs, criticMs }: Pace, slowest: Step | null, policy: Policy): number | null {
  if (turnMs === null || slowest === null) return null;
  const workedOnMs = turnMs + (policy.critic.enabled ? (criticMs ?? 0) : 0);
  return policy.merge.queue.ahead + Math.floor(workedOnMs / Math.max(1, slowest.everyMs));
}

export const isFull = ({ waiting, most }: Backlog): boolean => most !== null && waiting >= most;

/** `7 wait to merge, a gate takes 4 min, next start in about 10 min`. */
export function backlogText({ waiting, slowest, nextInMs }: Backlog): string {
  const parts = [`${waiting} wait${waiting === 1 ? 's' : ''} to merge`];
  if (slowest !== null) parts.push(`a ${slowest.name} takes ${span(slowest.ms)}`);
  if (nextInMs !== null) parts.push(`next start in about ${span(nextInMs)}`);
  return parts.join(', ');
}

const span = (ms: number): string => {
  if (ms < 60_000) return `${Math.max(1, Math.round(ms / 1000))} s`;
  return ms < 7_200_000 ? `${Math.round(ms / 60_000)} min` : `${Math.round(ms / 3_600_000)} h`;
};
