/** What a gate gets of the operator's environment and home, through the real command line. */
import { chmodSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { expectMergedOnce } from '../support/e2e/merged-once.ts';
import { test, type World } from '../support/e2e/world.ts';

/** As rustup's: a proxy on the PATH that finds its toolchain below the home, and writes below CARGO_HOME. */
function installCargo(world: World): { rustup: string; cargo: string } {
  const home = world.env.HOME!;
  const [bin, rustup, cargo] = [join(world.folder, 'bin'), join(home, '.rustup'), join(home, '.cargo')];
  for (const folder of [bin, rustup, cargo]) mkdirSync(folder, { recursive: true });
  writeFileSync(join(rustup, 'settings.toml'), 'default_toolchain = "stable"\n');
  writeFileSync(join(cargo, 'credentials.toml'), 'token = "private"\n');
  writeFileSync(
    join(bin, 'cargo'),
    `#!/bin/sh
cat "\${RUSTUP_HOME:-$HOME/.rustup}/settings.toml" >/dev/null 2>&1 || { echo "error: no default toolchain configured"; exit 1; }
mkdir -p "\${CARGO_HOME:-$HOME/.cargo}/registry" && touch "\${CARGO_HOME:-$HOME/.cargo}/registry/index" || exit 1
[ ! -e "\${CARGO_HOME:-$HOME/.cargo}/credentials.toml" ] || { echo "a credential is in reach"; exit 1; }
`,
  );
  chmodSync(join(bin, 'cargo'), 0o755);
  world.env.PATH = `${bin}:${world.env.PATH}`;
  return { rustup, cargo };
}

test('`cargo test` under rustup passes: its toolchain is offered, its downloads and credentials stay private', async ({
  world,
}) => {
  const { rustup, cargo } = installCargo(world);
  world.settings({ agent: { max_turns: 1 }, gate: { commands: ['cargo test', 'ls built-by-the-coder'] } });
  world.script({
    when: { role: 'coder' },
    steps: [{ shell: 'cargo build && echo x > built-by-the-coder' }],
  });
  const issue = await world.issue({});
  await world.settle();
  await expectMergedOnce(world, issue);
  expect(readdirSync(rustup), 'nothing was written there').toEqual(['settings.toml']);
  expect(existsSync(join(cargo, 'registry'))).toBe(false);
});

test('it is not offered with `env.toolchains: false`: no policy lets the red pass, and none is advised', async ({
  world,
}) => {
  installCargo(world);
  const gate = { commands: ['cargo test'], preexisting: 'allow_unchanged' };
  world.settings({ agent: { max_turns: 1 }, env: { toolchains: false }, gate });
  const issue = await world.issue({});
  await world.settle(4);
  expect(await world.task(issue)).toMatchObject({ state: 'abandoned', reason: 'max_turns_reached' });
  expect(world.comments(issue)).toContain('Fix trunk first');
  expect(world.comments(issue), 'it would not help').not.toContain('allow_unchanged');
});

test('`env.pass` brings a variable of the operator, where it is named, and no other', async ({ world }) => {
  world.env.REGISTRY_URL = 'https://registry.example';
  world.env.NPM_TOKEN = 'private';
  const gate = '[ "$REGISTRY_URL" = https://registry.example ] && [ -z "$NPM_TOKEN" ] && [ "$LEVEL" = gate ]';
  world.settings({
    agent: { max_turns: 1 },
    env: { set: { LEVEL: 'all' }, gates: { pass: ['REGISTRY_URL'], set: { LEVEL: 'gate' } } },
    hooks: { before_run: '[ -z "$REGISTRY_URL" ] && [ "$LEVEL" = all ]' },
    gate: { commands: [gate] },
  });
  const issue = await world.issue({});
  await world.settle();
  await expectMergedOnce(world, issue);
});

test('`env.home: operator`: the gate lives in it, and `run` and `doctor` say what that means', async ({
  world,
}) => {
  writeFileSync(join(world.env.HOME!, '.toolrc'), 'x');
  world.settings({ env: { home: 'operator' }, gate: { commands: ['[ -e "$HOME/.toolrc" ]'] } });
  const issue = await world.issue({});
  const { stderr } = await world.settle();
  await expectMergedOnce(world, issue);
  const risk = 'whatever a task runs can read every credential in your home';
  expect(stderr).toContain(risk);
  expect((await world.cli('doctor')).stdout).toContain(risk);
});
