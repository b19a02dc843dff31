/** Plans whose pull request is one of GitHub's. */
import { expect } from 'vitest';
import { planFile, planText } from '../support/e2e/loops.ts';
import { test } from '../support/e2e/on-github.ts';

test('a name is free only where GitHub has no such branch: somebody may have pushed it from another clone (loops 65)', async ({
  world,
  on,
}) => {
  await on.ada.git(world.root, 'push', '-q', 'origin', 'main:refs/heads/loop/tally');
  const start = (...args: string[]) => world.json('loop', 'start', ...args);
  const pull = await start(planFile(world, planText()), '--pull-request');
  expect(pull).toMatchObject({ name: 'tally-2', branch: 'loop/tally-2' });
  const branch = await start('--goal', 'Count.', '--name', 'tally');
  expect(branch, 'what is never pushed meets nobody there').toMatchObject({ branch: 'loop/tally' });
});
