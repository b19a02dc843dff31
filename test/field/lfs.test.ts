/** A filter that nobody set up. Git LFS, which is set up, is played in `test/e2e/repositories.test.ts`. */
import { expect } from 'vitest';
import { paid } from '../support/e2e/trunk.ts';
import { test } from '../support/e2e/world.ts';

test('a filter of another kind is refused before anything is paid, and its paths are named', async ({
  world,
}) => {
  world.write('.gitattributes', '*.secret filter=vault\n');
  world.write('keys/one.secret', 'sealed\n');
  world.commit('Sealed keys');
  await world.issue({});
  const ended = await world.run('--until-idle').ended;
  expect(ended.code).not.toBe(0);
  const { stdout } = await world.cli('doctor');
  for (const said of [ended.stdout + ended.stderr, stdout]) {
    expect(said).toContain('vault');
    expect(said).toContain('keys/one.secret');
  }
  expect(await paid(world).catch(() => ({ coder: 0, critic: 0 }))).toEqual({ coder: 0, critic: 0 });
});
