import { beforeEach, expect, test } from 'vitest';
import { memoryStore } from '../../test/support/memory-store.ts';
import type { Store } from '../store/store.ts';
import { pinTrunk } from './pin-trunk.ts';

let store: Store;
beforeEach(() => {
  store = memoryStore();
});

/** A runner that starts while the forge would guess `guessed`. */
async function started(configuredTrunk: string | null, guessed = 'guessed'): Promise<void> {
  const forge = { trunk: async () => ({ branch: guessed, sha: 'c1' }) };
  await pinTrunk({ store, forge, clock: { now: () => 1 }, configuredTrunk });
}

const told = async () => (await store.events()).map(({ type, data }) => ({ type, ...data }));

test('the first run pins what is set, or else what the forge finds; later ones keep it', async () => {
  await started(null, 'main');
  expect(await store.loop()).toMatchObject({ trunk: 'main', holds: [] });
  await started(null, 'feature');
  await started('main');
  expect(await store.loop()).toMatchObject({ trunk: 'main', holds: [] });
  expect(await told()).toEqual([{ type: 'trunk_pinned', branch: 'main' }]);
});

test('a setting that differs holds the loop, once, until it is another or what it was', async () => {
  await started('main');
  await started('develop');
  await started('develop');
  const develop = { reason: 'trunk_changed', was: 'main', is: 'develop' };
  expect((await store.loop()).holds).toEqual([develop]);
  await started('release');
  const release = { ...develop, is: 'release' };
  expect((await store.loop()).holds).toEqual([release]);
  await started('main');
  expect(await store.loop()).toMatchObject({ trunk: 'main', holds: [] });
  expect(await told()).toEqual([
    { type: 'trunk_pinned', branch: 'main' },
    { type: 'loop_held', ...develop },
    { type: 'loop_released', ...develop, by: 'forge-loop (tracker.trunk is release now)' },
    { type: 'loop_held', ...release },
    { type: 'loop_released', ...release, by: 'forge-loop (tracker.trunk is main now)' },
  ]);
});

test('a setting that is gone leaves the branch of before', async () => {
  await started('main');
  await started('develop');
  await started(null);
  expect(await store.loop()).toMatchObject({ trunk: 'main', holds: [] });
});
