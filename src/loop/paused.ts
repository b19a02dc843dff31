/** Whether a run may start now, as the loop's row says at this moment. */

import { type Run, verifiesTrunk } from '../core/action.ts';
import { loopWaits } from '../core/loop/loop-waits.ts';
import type { LoopRow } from '../store/store.ts';
import type { Driver } from './driver.ts';

/**
 * Why no new run (or not this one) may start; null when it may. The row is read for each question: nothing begins once
 * whoever paused or stopped the loop was told so.
 */
export function whyPaused({ ports, draining }: Driver, row: LoopRow, run?: Run): string | null {
  if (draining) return `the runner is stopping: ${draining}`;
  if (row.stop !== 'no') return 'the runner is asked to stop';
  if (run && verifiesTrunk(run)) return null;
  const waits = loopWaits(row, ports.settings.policy(), null, ports.clock.now());
  return waits.find(({ stops }) => stops === 'everything' || stops === 'runs')?.text ?? null;
}
