/** A test suite that speaks TAP, with one test that is red on trunk: failing tests are told apart by name. */
import { expect } from 'vitest';
import { cloneOfTrunk, landedOn, paid } from '../support/e2e/trunk.ts';
import { test, type World } from '../support/e2e/world.ts';

const GATE = 'node --test --test-reporter=tap';

function suite(world: World): string {
  world.write(
    'old.test.mjs',
    'import test from "node:test";\ntest("the old one", () => { throw new Error("at " + Date.now()); });\n',
  );
  world.write('good.test.mjs', 'import test from "node:test";\ntest("the good one", () => {});\n');
  world.settings({ gate: { commands: [GATE], preexisting: 'allow_unchanged' }, agent: { max_turns: 3 } });
  return world.git('rev-parse', 'HEAD').trim();
}

const broken = 'import test from "node:test";\ntest("another one", () => { throw new Error("new"); });\n';

test('the same failing test by name is "unchanged", one more is not', async ({ world }) => {
  const start = suite(world);
  world.script(
    { when: { role: 'coder', issue: 2, turn: 1 }, steps: [{ write: { 'another.test.mjs': broken } }] },
    {
      when: { role: 'coder', issue: 2 },
      steps: [
        { expectPrompt: { contains: ['another one'] } },
        { write: { 'another.test.mjs': broken.replace('throw new Error("new");', '') } },
      ],
    },
  );
  const first = await world.issue({ title: 'Leave it as it is' });
  const second = await world.issue({ title: 'Add a test' });
  await world.settle();
  expect(landedOn(world, start).sort()).toEqual(['Add a test', 'Leave it as it is']);
  expect(await world.task(first)).toMatchObject({ state: 'merged', turns: 1 });
  expect(await world.task(second)).toMatchObject({ state: 'merged', turns: 2 });
  expect(world.pulls(first)[0]).toContain('also fails on trunk');
  expect(cloneOfTrunk(world).red('node --test good.test.mjs another.test.mjs')).toEqual([]);
  expect((await paid(world)).coder).toBe(3);
});
