/** Two packages with lockfiles of their own; only what a change affects is tested, and git says what that is. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { quoted } from '../support/e2e/halt.ts';
import { cloneOfTrunk, landedOn, paid } from '../support/e2e/trunk.ts';
import { test, type World } from '../support/e2e/world.ts';

const TEST = (name: string): string => `node packages/${name}/test.mjs`;

function monorepo(world: World): { start: string; tested(): string[] } {
  for (const name of ['app', 'lib']) {
    const manifest = { name, version: '1.0.0', private: true };
    world.write(`packages/${name}/package.json`, JSON.stringify(manifest));
    const lock = { ...manifest, lockfileVersion: 3, packages: { '': manifest } };
    world.write(`packages/${name}/package-lock.json`, JSON.stringify(lock));
  }
  world.write('packages/lib/greet.mjs', 'export const greet = () => "hello";\n');
  world.write('packages/lib/test.mjs', 'import "./greet.mjs";\n');
  world.write('packages/app/main.mjs', 'export {};\n');
  world.write(
    'packages/app/test.mjs',
    'import { readdirSync } from "node:fs";\n' +
      'for (const file of readdirSync(import.meta.dirname)) if (file.endsWith(".mjs") && file !== "test.mjs") await import("./" + file);\n',
  );
  const record = join(world.folder, 'tested');
  world.write(
    'affected.sh',
    `set -e
for name in $(git diff --name-only main...HEAD -- packages | cut -d/ -f2 | sort -u); do
  (cd "packages/$name" && npm ci --offline --no-audit --no-fund >/dev/null)
  echo "$name" >> ${quoted(record)}
  node "packages/$name/test.mjs"
done
`,
  );
  world.write('.gitignore', 'node_modules\n');
  world.settings({ gate: { commands: ['sh ./affected.sh'] } });
  return {
    start: world.git('rev-parse', 'HEAD').trim(),
    tested: () => (existsSync(record) ? readFileSync(record, 'utf8').trim().split('\n') : []),
  };
}

test('each package is tested by what touches it, in the workspace and on the merged tree', async ({
  world,
}) => {
  const { start, tested } = monorepo(world);
  world.script({
    when: { role: 'coder' },
    steps: [{ write: { 'packages/lib/part.mjs': 'export const part = 1;\n' } }],
  });
  await world.issue({ title: 'Add a part to the library' });
  await world.settle();
  expect(landedOn(world, start)).toEqual(['Add a part to the library']);
  expect(tested(), 'the work, then the merged tree').toEqual(['lib', 'lib']);
  expect(await paid(world)).toEqual({ coder: 1, critic: 1 });
  expect(cloneOfTrunk(world).red(TEST('app'), TEST('lib'))).toEqual([]);
});

test('a use of what another task renamed is found on the merged tree, though each is green alone', async ({
  world,
}) => {
  const { start } = monorepo(world);
  const halt = world.halt('both at work');
  const use = (name: string) => ({
    write: {
      'packages/app/use.mjs': `import { ${name} } from "../lib/greet.mjs";\nexport const said = ${name}();\n`,
    },
  });
  world.script(
    {
      when: { role: 'coder', issue: 1 },
      steps: [
        { shell: halt.shell },
        { write: { 'packages/lib/greet.mjs': 'export const salute = () => "hello";\n' } },
      ],
    },
    { when: { role: 'coder', issue: 2, turn: 1 }, steps: [{ shell: halt.shell }, use('greet')] },
    { when: { role: 'coder', issue: 2 }, steps: [use('salute')] },
    // The rename lands first: the other's critic waits for it.
    {
      when: { role: 'critic', issue: 2, round: 1 },
      steps: [
        {
          shell: `while [ "$(git -C ${quoted(world.root)} rev-list --count ${start}..main)" = 0 ]; do sleep 0.05; done`,
        },
        { answer: { verdict: 'APPROVE', findings: [] } },
      ],
    },
  );
  await world.issue({ title: 'Rename greet to salute' });
  await world.issue({ title: 'Greet in the app' });
  const runner = world.run('--until-idle');
  await halt.arrived(2);
  halt.lift();
  await world.finished(runner);

  expect(landedOn(world, start)).toEqual(['Rename greet to salute', 'Greet in the app']);
  expect(cloneOfTrunk(world).red(TEST('app'), TEST('lib'))).toEqual([]);
  expect((await paid(world)).coder).toBe(3);
});
