/** A trunk that is called `develop`, and an operator who looks at other branches meanwhile. */
import { expect } from 'vitest';
import { cloneOfTrunk, landedOn, paid } from '../support/e2e/trunk.ts';
import { test, type World } from '../support/e2e/world.ts';

const GATE = 'ls done-*.txt';

function onDevelop(world: World): string {
  world.git('branch', '--move', 'develop');
  world.git('branch', 'feature/mine');
  return world.git('rev-parse', 'HEAD').trim();
}

test('what was trunk at first stays trunk, whatever is checked out later', async ({ world }) => {
  const start = onDevelop(world);
  await world.issue({ title: 'Before' });
  await world.settle();
  world.git('switch', '--quiet', 'feature/mine');
  await world.issue({ title: 'After' });
  const { stdout } = await world.settle();

  expect(landedOn(world, start, 'develop')).toEqual(['Before', 'After']);
  expect(landedOn(world, start, 'feature/mine')).toEqual([]);
  expect(world.git('branch', '--show-current').trim()).toBe('feature/mine');
  expect(stdout).toContain('develop');
  expect(cloneOfTrunk(world, 'develop').red(GATE)).toEqual([]);
  expect(await paid(world)).toEqual({ coder: 2, critic: 2 });
});

test('a checkout in the middle of a run changes nothing about where its work lands', async ({ world }) => {
  const start = onDevelop(world);
  const halt = world.halt('coder');
  world.script({
    when: { role: 'coder' },
    steps: [{ shell: halt.shell }, { write: { 'done-1.txt': 'done\n' } }],
  });
  await world.issue({ title: 'Meanwhile' });
  const runner = world.run('--until-idle');
  await halt.arrived();
  world.git('switch', '--quiet', 'feature/mine');
  halt.lift();
  await world.finished(runner);
  expect(landedOn(world, start, 'develop')).toEqual(['Meanwhile']);
  expect(landedOn(world, start, 'feature/mine')).toEqual([]);
  expect(await paid(world)).toEqual({ coder: 1, critic: 1 });
});
