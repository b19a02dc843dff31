/** The operator's repository is a shallow clone, as CI and large projects have them. */
import { mkdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect } from 'vitest';
import { cloneOfTrunk, landedOn, paid } from '../support/e2e/trunk.ts';
import { test, type World } from '../support/e2e/world.ts';

const GATE = 'git log -1 --format=%s && test -z "$(git status --porcelain --untracked-files=no)"';

function shallow(world: World): string {
  for (const line of ['one', 'two', 'three']) {
    world.write('history.txt', `${line}\n`);
    world.commit(line);
  }
  world.settings({ gate: { commands: [GATE] } });
  const whole = join(world.folder, 'whole');
  renameSync(world.root, whole);
  mkdirSync(world.root);
  world.git('clone', '--quiet', '--depth=1', pathToFileURL(whole).href, '.');
  world.git('config', 'user.name', 'Öperator');
  world.git('config', 'user.email', 'op@example.com');
  expect(world.git('rev-list', '--count', 'HEAD').trim()).toBe('1');
  return world.git('rev-parse', 'HEAD').trim();
}

test('work starts from, and lands on, a history that is cut off', async ({ world }) => {
  const start = shallow(world);
  await world.issue({ title: 'Write the file' });
  await world.settle();
  expect(landedOn(world, start)).toEqual(['Write the file']);
  expect(world.git('rev-list', '--count', 'HEAD').trim(), 'no history was fetched or lost').toBe('2');
  expect(world.git('fsck').trim()).toBe('');
  expect(cloneOfTrunk(world).red(GATE)).toEqual([]);
  expect(await paid(world)).toEqual({ coder: 1, critic: 1 });
});
