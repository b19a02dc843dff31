/** A repository of many files: `FIELD_FILES=30000` for the size that was measured in the field. */
import { expect } from 'vitest';
import { cloneOfTrunk, landedOn, paid } from '../support/e2e/trunk.ts';
import { test, type World } from '../support/e2e/world.ts';

const FILES = Number(process.env.FIELD_FILES ?? 3000);
const GATE = `test "$(git ls-files src | wc -l)" -ge ${FILES} && test -z "$(git status --porcelain)"`;

function large(world: World): string {
  for (let file = 0; file < FILES; file++)
    world.write(`src/${file % 97}/${file % 11}/file-${file}.txt`, `line of ${file}\n`.repeat(20));
  world.settings({ gate: { commands: [GATE] } });
  return world.git('rev-parse', 'HEAD').trim();
}

test(`${FILES} files: two issues land, and each tree had all of them`, async ({ world }) => {
  const start = large(world);
  await world.issue({ title: 'One' });
  await world.issue({ title: 'Two' });
  await world.settle();
  expect(landedOn(world, start).sort()).toEqual(['One', 'Two']);
  expect(world.git('diff', '--name-only', start, 'main').trim()).toBe('done-1.txt\ndone-2.txt');
  expect(cloneOfTrunk(world).red(GATE)).toEqual([]);
  expect(await paid(world)).toEqual({ coder: 2, critic: 2 });
});
