/**
 * How many tasks may wait to be judged and merged before new work waits for them: as many as can land while a new one is
 * worked on. More would only grow old, and conflict with what lands before them.
 */
import type { LoopEvent } from './event.ts';
import type { Policy } from './policy.ts';

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
  gateMs: number | null;
  nextInMs: number | null;
}

export function backlogOf(waiting: number, pace: Pace, policy: Policy): Backlog {
  const { gateMs } = pace;
  const { ahead, batch } = policy.merge.queue;
  const eachMs =
    gateMs === null ? null : gateMs / (batch ? ahead : Math.min(ahead, policy.gate.maxConcurrent));
  const most = policy.maxWaiting ?? mostByPace(pace, eachMs, policy);
  const nextInMs = most === null || waiting < most || eachMs === null ? null : (waiting - most + 1) * eachMs;
  return { waiting, most, gateMs, nextInMs };
}

/** No limit before the first task has come all the way: there is nothing to measure it by. */
function mostByPace({ turnMs, criticMs }: Pace, eachMs: number | null, policy: Policy): number | null {
  if (turnMs === null || eachMs === null) return null;
  const canLand = Math.floor((turnMs + (criticMs ?? 0)) / Math.max(1, eachMs));
  return policy.merge.queue.ahead + canLand;
}

export const isFull = ({ waiting, most }: Backlog): boolean => most !== null && waiting >= most;

/** `7 wait to merge, a gate takes 4 min, next start in about 10 min`. */
export function backlogText({ waiting, gateMs, nextInMs }: Backlog): string {
  const parts = [`${waiting} wait${waiting === 1 ? 's' : ''} to merge`];
  if (gateMs !== null) parts.push(`a gate takes ${span(gateMs)}`);
  if (nextInMs !== null) parts.push(`next start in about ${span(nextInMs)}`);
  return parts.join(', ');
}

const span = (ms: number): string => {
  if (ms < 60_000) return `${Math.max(1, Math.round(ms / 1000))} s`;
  return ms < 7_200_000 ? `${Math.round(ms / 60_000)} min` : `${Math.round(ms / 3_600_000)} h`;
};
