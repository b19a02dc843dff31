/** What one turn or one round cost, and whether that is worth a word. Derived from the ledger, never stored. */

import { type Role, roleRow } from '../role.ts';
import { isRest, type Usage } from './cost.ts';
import type { Disagreement } from './two-accounts.ts';

/** What names a turn within its task. */
export interface TurnKey {
  role: Role;
  turn: number;
  sessionId: string;
}

interface StartedTurn extends TurnKey {
  startedAt: number;
}

/** One call of an agent, as it was booked. */
type Call = Usage & { key: string };

export const isSameTurn = (one: TurnKey, other: TurnKey): boolean =>
  one.role === other.role && one.turn === other.turn && one.sessionId === other.sessionId;

/**
 * The round a turn belongs to: that of the verdict it led to, or of the next one. `turns` are those of one task in the order
 * they started, `verdicts` how many were given.
 */
export function roundOf(turns: readonly TurnKey[], verdicts: number, of: TurnKey): number {
  const from = turns.findIndex((one) => isSameTurn(one, of));
  const judged = turns.slice(from).find(({ role }) => roleRow(role).limit === 'critics');
  return judged && from >= 0 ? judged.turn : verdicts + 1;
}

/** Of the calls of a task, those of one start of a turn: one that was interrupted starts again under its number. */
export function callsOf<T extends Usage>(
  calls: readonly T[],
  turns: readonly StartedTurn[],
  of: StartedTurn,
): T[] {
  const starts = turns.filter((one) => isSameTurn(one, of));
  const startOf = ({ at }: T): StartedTurn | undefined =>
    starts.findLast(({ startedAt }) => startedAt <= at) ?? starts[0];
  return calls.filter((call) => isSameTurn(call, of) && startOf(call) === of);
}

export type TurnWarning =
  /** It cost more than `budget.warn_turn_usd`. */
  | { kind: 'expensive'; costUsd: number; limitUsd: number; complete: boolean }
  /** It continued a session that the provider should have had in its cache, and had not. */
  | { kind: 'cold_cache'; read: number; expected: number; restedMs: number }
  /** Its agent says that it used something else than the gateway counted; see two-accounts.ts. */
  | ({ kind: 'accounts_differ' } & Disagreement);

/** `calls` are all of its task, in the order they were booked. */
export function turnWarnings(calls: readonly Call[], turn: TurnKey, limitUsd: number | null): TurnWarning[] {
  const mine = calls.filter((call) => isSameTurn(call, turn));
  const costUsd = mine.reduce((sum, call) => sum + (call.costUsd ?? 0), 0);
  const complete = mine.every((call) => call.costUsd !== null);
  const isExpensive = limitUsd !== null && costUsd > limitUsd;
  const cold = coldCache(calls, turn);
  return [
    ...(isExpensive ? [{ kind: 'expensive', costUsd, limitUsd, complete } as const] : []),
    ...(cold ? [cold] : []),
  ];
}

/**
 * The first call of a turn sends what the session held before, which a warm cache has. Later calls find it there even when the
 * first did not. Where an agent tells a turn as one sum, that sum is looked at: it may hide a cold start, and never makes one up.
 */
function coldCache(calls: readonly Call[], turn: TurnKey): TurnWarning | null {
  const session = calls.filter(
    (call) => call.role === turn.role && call.sessionId === turn.sessionId && !isRest(call) && sent(call) > 0,
  );
  const at = session.findIndex((call) => isSameTurn(call, turn));
  const before = session.slice(0, Math.max(at, 0));
  const last = before.at(-1);
  if (!last) return null;
  const main = before
    .filter((call) => isSameTurn(call, last))
    .reduce((most, call) => (sent(call) > sent(most) ? call : most));
  const first = session.slice(at).find((call) => isSameTurn(call, turn) && call.model === main.model);
  // A provider that caches nothing, or does not say so, has not failed to.
  const isCached = session.some(({ cacheRead, cacheWrite }) => cacheRead + cacheWrite > 0);
  if (!first || !isCached) return null;
  const expected = Math.min(sent(main), sent(first));
  if (expected < LEAST_CACHED || first.cacheRead >= expected / 2) return null;
  return { kind: 'cold_cache', read: first.cacheRead, expected, restedMs: Math.max(0, first.at - last.at) };
}

const sent = ({ input, cacheRead, cacheWrite }: Usage): number => input + cacheRead + cacheWrite;

/** Providers cache no prompt that is shorter. */
const LEAST_CACHED = 4096;
