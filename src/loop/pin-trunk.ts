/**
 * Trunk is chosen once. Guessed anew at each start, it would follow the operator from branch to branch, and work would
 * land where nobody wanted it: so a setting that differs from what the loop worked with holds the loop.
 */
import { event } from '../core/event.ts';
import { trunkChanged } from '../core/loop/loop-hold.ts';
import type { Store } from '../store/store.ts';
import type { Clock, Ports } from './ports.ts';

interface Needs extends Pick<Ports, 'configuredTrunk'> {
  store: Pick<Store, 'loop' | 'updateLoop'>;
  forge: Pick<Ports['forge'], 'trunk'>;
  clock: Pick<Clock, 'now'>;
}

export async function pinTrunk({ store, forge, clock, configuredTrunk }: Needs): Promise<void> {
  const { trunk, holds } = await store.loop();
  if (trunk === null) {
    const branch = configuredTrunk ?? (await forge.trunk()).branch;
    await store.updateLoop({ trunk: branch }, [event('trunk_pinned', { branch })], clock.now());
    return;
  }
  const wanted = configuredTrunk ?? trunk;
  const standing = holds.filter((one) => one.reason === 'trunk_changed');
  const outdated = standing.filter(({ is }) => is !== wanted);
  const isNew = wanted !== trunk && outdated.length === standing.length;
  const by = `forge-loop (tracker.trunk is ${wanted} now)`;
  const events = [
    ...outdated.map((hold) => event('loop_released', { ...hold, by })),
    ...(isNew ? [event('loop_held', trunkChanged(trunk, wanted))] : []),
  ];
  if (events.length > 0) await store.updateLoop({}, events, clock.now());
}
