/** A library in a submodule, without which nothing can be tested. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { cloneOfTrunk, landedOn, paid } from '../support/e2e/trunk.ts';
import { test, type World } from '../support/e2e/world.ts';

const GATE = 'node test.mjs';

function withLibrary(world: World): string {
  // Git refuses submodules from a folder unless its owner says so.
  writeFileSync(join(world.env.HOME!, '.gitconfig'), '[protocol "file"]\n\tallow = always\n');
  const library = join(world.folder, 'the library');
  mkdirSync(library);
  writeFileSync(join(library, 'two.mjs'), 'export const two = 2;\n');
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=L', '-c', 'user.email=l@example.com', ...args], {
      cwd: library,
      env: world.env,
    });
  git('init', '--quiet');
  git('add', '--all');
  git('commit', '--quiet', '--message', 'Two');
  world.git('submodule', '--quiet', 'add', library, 'vendor/lib');
  world.write('sum.mjs', 'export const sum = 2;\n');
  world.write(
    'test.mjs',
    'import { two } from "./vendor/lib/two.mjs";\nimport { sum } from "./sum.mjs";\nif (sum % two !== 0) process.exit(1);\n',
  );
  world.settings({ gate: { commands: [GATE] } });
  return world.git('rev-parse', 'HEAD').trim();
}

test('the submodule is there for every command and stays as it was: what the coder changes inside is sent back', async ({
  world,
}) => {
  const start = withLibrary(world);
  const pinned = world.git('rev-parse', 'HEAD:vendor/lib');
  const inside = 'Changes inside the submodule vendor/lib are not taken: two.mjs was changed';
  world.script(
    {
      when: { role: 'coder', turn: 1 },
      steps: [
        { shell: 'grep two vendor/lib/two.mjs && echo "// changed" >> vendor/lib/two.mjs' },
        { write: { 'sum.mjs': 'export const sum = 4;\n' } },
      ],
    },
    {
      when: { role: 'coder', turn: 2 },
      steps: [{ expectPrompt: { contains: [inside] } }, { shell: 'git -C vendor/lib checkout -q .' }],
    },
  );
  await world.issue({ title: 'Make the sum 4' });
  await world.settle();
  expect(landedOn(world, start)).toEqual(['Make the sum 4']);
  expect(world.git('rev-parse', 'main:vendor/lib')).toBe(pinned);
  expect(world.git('diff', '--name-only', start, 'main').trim()).toBe('sum.mjs');
  expect(world.git('status', '--porcelain')).toBe('');
  expect(cloneOfTrunk(world, 'main', '--recurse-submodules').red(GATE)).toEqual([]);
  expect(await paid(world)).toEqual({ coder: 2, critic: 1 });
  expect(world.read('vendor/lib/two.mjs')).toBe('export const two = 2;\n');
  world.git('submodule', '--quiet', 'deinit', '--force', 'vendor/lib');
  const { checks } = JSON.parse((await world.cli('doctor', '--json')).stdout) as { checks: unknown[] };
  expect(checks).toContainEqual(expect.objectContaining({ name: 'submodules', level: 'warn' }));
});
