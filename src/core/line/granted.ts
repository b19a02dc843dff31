/** What the tasks under way leave to one of them. The loop and `explain` both ask here, so that neither says what the other does not do. */
import { approvedAtHead, type Facts } from '../decision.ts';
import type { AccountLimit } from '../money/account.ts';
import type { Policy } from '../policy.ts';
import type { Task } from '../task.ts';
import { batchOf } from './batch.ts';
import { aheadOf, freePlaces, isInLine } from './line.ts';
import { grants, isHeld, type Order } from './schedule.ts';

export interface UnderWay {
  /** Not ended, and not left to people by a runner that is gone. */
  live: readonly Task[];
  /** Issues that would be claimed if there was room. */
  eligible: number;
  order: Order;
  /** So many may be in line. */
  lineLength: number;
}

interface Others extends UnderWay {
  /** It waits for a place in line. */
  waitsForPlace(task: Task): boolean;
}

export type Granted = Pick<Facts, 'slot' | 'criticSlot' | 'mergeFree' | 'lineLength' | 'ahead' | 'batch'>;

export const NOTHING_GRANTED: Granted = {
  slot: false,
  criticSlot: false,
  mergeFree: false,
  lineLength: 0,
  ahead: [],
  batch: null,
};

export function grantedTo(
  task: Task,
  { live, eligible, order, lineLength, waitsForPlace }: Others,
  limits: readonly AccountLimit[],
  policy: Policy,
  now: number,
): Granted {
  const granted = isHeld(task, now) ? null : grants(live, eligible, policy, now, limits, order);
  const free = freePlaces(live, lineLength);
  const goesFirst = (other: Task): boolean =>
    mayLineUp(other) && order(other, task) < 0 && waitsForPlace(other);
  return {
    slot: granted?.slots.includes(task.id) ?? false,
    criticSlot: granted?.critics.includes(task.id) ?? false,
    mergeFree: free > 0 && live.filter(goesFirst).length < free,
    lineLength,
    ahead: aheadOf(task, live),
    batch: policy.merge.queue.batch && lineLength > 1 && isInLine(task) ? batchOf(live) : null,
  };
}

const mayLineUp = (task: Task): boolean =>
  task.state === 'awaiting_critic' && task.hold === null && approvedAtHead(task);
