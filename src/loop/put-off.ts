/** An effect that failed is tried again later: after a backoff that grows, or when the forge said it may be asked. */
import type { PendingAction } from '../core/action.ts';
import { event } from '../core/event.ts';
import { backoffMs } from '../core/line/schedule.ts';
import { LONGEST_PUT_OFF_MS } from '../core/waiting.ts';
import { failedText } from '../core/words/words.ts';
import { ForgeUnavailable } from '../errors.ts';
import type { Lease, Store } from '../store/store.ts';
import type { Ports } from './ports.ts';

/** Why an effect of this task failed when one did last. */
export async function lastFailure(store: Store, { task, action }: PendingAction): Promise<string | null> {
  if (task === null) return null;
  const [last] = await store.events({ task, type: 'effect_failed', last: 1 });
  return last?.type === 'effect_failed' && last.data.action === action.kind ? last.data.problem : null;
}

export async function putOff(
  { store, clock, random, settings, log }: Ports,
  lease: Lease,
  { id, task, action: { kind }, attempts }: PendingAction,
  problem: unknown,
): Promise<void> {
  const attempt = attempts + 1;
  const now = clock.now();
  const asked = problem instanceof ForgeUnavailable ? problem.retryAt : null;
  const wanted = Math.max(asked ?? 0, now + backoffMs(attempt, random(), settings.policy().maxBackoffMs));
  const notBefore = Math.min(wanted, now + LONGEST_PUT_OFF_MS);
  const text = problem instanceof Error ? problem.message : String(problem);
  log('warn', `${failedText(kind, attempt)}: ${text}`, { ...(task === null ? {} : { task }), attempt });
  const failed = event('effect_failed', { action: kind, problem: text, attempt });
  await store.deferAction(lease, id, notBefore, [failed], now);
}
