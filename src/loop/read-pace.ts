/** How long gates, critics and turns took lately. */
import { type Pace, paceOf } from '../core/pace.ts';
import type { Store } from '../store/store.ts';

/** Most of the last gates are of work; some turns fail. */
const LOOKED_AT = 60;

export async function readPace(store: Pick<Store, 'events'>): Promise<Pace> {
  return paceOf(
    await store.events({ type: 'gate_completed', last: LOOKED_AT }),
    await store.events({ type: 'turn_completed', last: LOOKED_AT }),
  );
}
