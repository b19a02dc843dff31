/**
 * What the loop's row keeps of events, whatever verb wrote them: each part is one fold, named here once. A store gives
 * it every event that it writes, so no store can leave out one that counts.
 */

import type { NewEvent } from '../event.ts';
import { type AccountLimit, afterAccounts } from '../money/account.ts';
import { afterTrials, type Trial } from '../trial.ts';
import { afterLoopHolds, type LoopHold } from './loop-hold.ts';

export interface FoldedRow {
  /** Accounts that are used up, or fail for everybody. */
  accountLimits: readonly AccountLimit[];
  /** Why no run may start. */
  holds: readonly LoopHold[];
  /** What the gate came to on trunk lately, the newest last. */
  trials: readonly Trial[];
}

export const NOTHING_FOLDED: FoldedRow = { accountLimits: [], holds: [], trials: [] };

/** A part that no event is about stays the very same. */
export const foldLoop = (row: FoldedRow, events: readonly NewEvent[], at: number): FoldedRow => ({
  accountLimits: afterAccounts(row.accountLimits, events, at),
  holds: afterLoopHolds(row.holds, events),
  trials: afterTrials(row.trials, events),
});
