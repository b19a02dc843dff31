/**
 * What holds the whole loop, with its evidence. Kept in the loop's row, folded from events like a task's row: no run
 * starts while there is one, and `resume` ends them all. What a person reads of them is in `loop-waits.ts`.
 */
import type { NewEvent } from '../event.ts';

export type LoopHold =
  | { reason: 'untested_merge'; task: string; why: string }
  | { reason: 'trunk_changed'; was: string; is: string }
  /** Only in databases of earlier versions: now its account is blocked. */
  | { reason: 'credential_refused'; account: string; said: string };

/** As the first versions wrote it: what it is about was in the key, the rest in words. */
interface EarlierLoopHold {
  key: string;
  reason: LoopHold['reason'];
  detail: string;
}

export type WrittenLoopHold = LoopHold | EarlierLoopHold;
export type LoopRelease = (LoopHold & { by: string }) | { key: string; by: string };

/** What landed is not what was tested, so nothing more is built on it. */
export const untestedMerge = (task: string, { why }: { why: string }): LoopHold => ({
  reason: 'untested_merge',
  task,
  why,
});

/** Work that was begun for one branch would land on another. */
export const trunkChanged = (was: string, is: string): LoopHold => ({ reason: 'trunk_changed', was, is });

/** What a hold is about: a second one about the same takes the place of the first. The same in every version. */
export function loopHoldKey(hold: WrittenLoopHold | LoopRelease): string {
  if ('key' in hold) return hold.key;
  switch (hold.reason) {
    case 'untested_merge':
      return `untested_merge ${hold.task}`;
    case 'trunk_changed':
      return `trunk ${hold.is}`;
    case 'credential_refused':
      return `credential ${hold.account}`;
    default:
      return hold satisfies never;
  }
}

export function loopHoldOf(written: WrittenLoopHold): LoopHold {
  if (!('key' in written)) return written;
  const { key, reason, detail } = written;
  const about = key.slice(key.indexOf(' ') + 1);
  switch (reason) {
    case 'untested_merge':
      return { reason, task: about, why: detail };
    case 'trunk_changed':
      return { reason, was: /^trunk was (.*) and is /.exec(detail)?.[1] ?? '', is: about };
    case 'credential_refused':
      return { reason, account: about, said: detail.replace(`${about} refuses its credential: `, '') };
    default:
      return reason satisfies never;
  }
}

/** The holds after these events; the same list when none of them is about one. */
export function afterLoopHolds(holds: readonly LoopHold[], events: readonly NewEvent[]): readonly LoopHold[] {
  return events.reduce(afterEvent, holds);
}

function afterEvent(holds: readonly LoopHold[], happened: NewEvent): readonly LoopHold[] {
  if (happened.type !== 'loop_held' && happened.type !== 'loop_released') return holds;
  const others = holds.filter((one) => loopHoldKey(one) !== loopHoldKey(happened.data));
  return happened.type === 'loop_held' ? [...others, loopHoldOf(happened.data)] : others;
}
