/** A lockfile that git ignores: `npm ci` works in the operator's checkout and nowhere else. */
import { expect } from 'vitest';
import { cloneOfTrunk, landedOn, paid } from '../support/e2e/trunk.ts';
import { test, type World } from '../support/e2e/world.ts';

const TEST = 'node test.mjs';
const CI = 'npm ci --offline --no-audit --no-fund';

function unlocked(world: World): string {
  const manifest = { name: 'one', version: '1.0.0', private: true, scripts: { test: TEST } };
  world.write('.gitignore', 'package-lock.json\nnode_modules\n');
  world.write('package.json', JSON.stringify(manifest));
  world.write(
    'package-lock.json',
    JSON.stringify({ ...manifest, lockfileVersion: 3, packages: { '': manifest } }),
  );
  world.write('test.mjs', 'export {};\n');
  return world.commit('A package without its lockfile');
}

test('a setup that can’t run holds the loop before anything is paid, and a corrected one releases it', async ({
  world,
}) => {
  unlocked(world);
  world.settings({ gate: { setup: [CI], commands: [TEST] } });
  const start = world.git('rev-parse', 'HEAD').trim();
  await world.issue({ title: 'One' });
  await world.issue({ title: 'Two' });
  const { stdout, stderr } = await world.settle(3);
  expect(await paid(world), 'nothing is paid').toEqual({ coder: 0, critic: 0 });
  const said = stdout + stderr;
  expect(said).toContain('npm ci');
  expect(said, 'in npm’s own words').toContain('package-lock.json');
  expect((await world.cli('why')).stdout).toContain('npm ci');

  world.settings({ gate: { setup: [], commands: [TEST] } });
  await world.settle();
  expect(landedOn(world, start).sort()).toEqual(['Configure the loop', 'One', 'Two']);
  expect(await paid(world)).toEqual({ coder: 2, critic: 2 });
  expect(cloneOfTrunk(world).red(TEST)).toEqual([]);
});

test('init proposes nothing that needs the ignored file', async ({ world }) => {
  unlocked(world);
  world.git('rm', '--quiet', 'WORKFLOW.md');
  world.commit('Without settings');
  const { code } = await world.cli('init', '--yes', '--agent', 'command', '--command', 'true');
  expect(code).toBe(0);
  expect(world.read('WORKFLOW.md')).not.toContain('npm ci');
});
