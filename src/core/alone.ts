/**
 * Being interrupted is never a task's fault by itself: machines restart and runners are killed. But a task may be what
 * kills its runner. So after a few interruptions in a row it waits, then its next turns run alone: whatever happens to
 * the runner then happened with this task and no other. What is interrupted even so is shown to a person, never given up.
 */
import { hold } from './decision.ts';
import { event, type NewEvent } from './event.ts';
import { backoffMs } from './line/schedule.ts';
import { ALONE_AFTER, type RoleMemory } from './task.ts';
import { count } from './words/words.ts';

/** So many interruptions of turns that ran alone, and a person looks. */
const ALONE_CHANCES = 5;

/** What its interruptions ask for before the next turn; null when it may start. */
export function afterInterruptions(
  { interrupted, last }: RoleMemory,
  hasWaited: boolean,
  now: number,
  jitter: number,
  longestMs: number,
): NewEvent[] | null {
  if (interrupted < ALONE_AFTER) return null;
  const cut = `the runner died during ${count(interrupted, 'turn')} in a row`;
  if (interrupted >= ALONE_AFTER + ALONE_CHANCES)
    return [hold('interrupted', `${cut}, the last ${ALONE_CHANCES} of them with nothing else running`)];
  if (hasWaited || last?.status !== 'interrupted') return null;
  const until = now + backoffMs(interrupted - ALONE_AFTER + 1, jitter, longestMs);
  return [
    event('retry_scheduled', { until }),
    hold('retry_backoff', `${cut}; the next one runs alone`, until),
  ];
}
