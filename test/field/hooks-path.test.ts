/** Hooks of the repository, as husky sets them up: they are for people, and none of the loop's gits runs them. */
import { chmodSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { quoted } from '../support/e2e/halt.ts';
import { cloneOfTrunk, landedOn, paid } from '../support/e2e/trunk.ts';
import { test, type World } from '../support/e2e/world.ts';

const HOOKS = [
  'pre-commit',
  'commit-msg',
  'post-checkout',
  'post-merge',
  'reference-transaction',
  'pre-push',
];
const GATE = 'ls done-*.txt';

/** Each hook leaves a trace, and refuses. */
function withHooks(world: World): { start: string; ran(): boolean } {
  const trace = join(world.folder, 'hooks that ran');
  for (const name of HOOKS) {
    world.write(`.husky/${name}`, `#!/bin/sh\necho ${name} >> ${quoted(trace)}\nexit 1\n`);
    chmodSync(join(world.root, '.husky', name), 0o755);
  }
  const start = world.commit('Hooks for people');
  world.git('config', 'core.hooksPath', '.husky');
  return { start, ran: () => existsSync(trace) };
}

test('hooks that refuse everything stand in nobody’s way, and are not run', async ({ world }) => {
  const { start, ran } = withHooks(world);
  world.script({
    when: { role: 'coder' },
    steps: [{ write: { 'done-1.txt': 'done\n' } }, { commit: 'By the coder itself' }],
  });
  await world.issue({ title: 'Write the file' });
  await world.settle();
  expect(ran()).toBe(false);
  expect(landedOn(world, start)).toEqual(['Write the file']);
  expect(world.git('status', '--porcelain')).toBe('');
  world.git('config', '--unset', 'core.hooksPath');
  expect(cloneOfTrunk(world).red(GATE)).toEqual([]);
  expect(await paid(world)).toEqual({ coder: 1, critic: 1 });
});
