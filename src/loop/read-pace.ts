/** How long gates, critics and turns took lately. */
import { type Pace, paceOf } from '../core/line/pace.ts';
import type { Store } from '../store/store.ts';

/** Some of the last gates on candidates were not run, but known from before. */
const GATES = 60;
const TURNS = 10;

/** Each is asked for by itself: little lands just when many gates of work, or turns that fail, come in between. */
export async function readPace(store: Pick<Store, 'events'>): Promise<Pace> {
  const finished = (role: 'critic' | 'coder') =>
    store.events({ type: 'turn_completed', data: { role, status: 'finished' }, last: TURNS });
  return paceOf(await store.events({ type: 'gate_completed', data: { scope: 'candidate' }, last: GATES }), [
    ...(await finished('critic')),
    ...(await finished('coder')),
  ]);
}
