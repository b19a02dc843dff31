/** A toolchain that lives in the operator's home, behind shims as rustup's are. */
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect } from 'vitest';
import { cloneOfTrunk, landedOn, paid } from '../support/e2e/trunk.ts';
import { test, type World } from '../support/e2e/world.ts';

const GATE = 'cargo test';

/** The shim asks its home which toolchain is meant, and says rustup's own words when it can't tell. */
const SHIM = `#!/bin/sh
home="\${RUSTUP_HOME:-$HOME/.rustup}"
chosen=$(cat "$home/settings.toml" 2>/dev/null) || {
  echo "error: rustup could not choose a version of cargo to run, because one wasn't specified explicitly, and no default is configured." >&2
  exit 1
}
[ -d "$home/toolchains/$chosen" ] || { echo "error: toolchain '$chosen' is not installed" >&2; exit 1; }
exec "$home/toolchains/$chosen/bin/cargo" "$@"
`;
const CARGO = `#!/bin/sh
grep -q "fn main" main.rs || { echo "error: could not compile" >&2; exit 101; }
`;

function crate(world: World, settings: Record<string, unknown> = {}): string {
  const home = world.env.HOME!;
  script(join(home, '.cargo/bin/cargo'), SHIM);
  script(join(home, '.rustup/toolchains/stable/bin/cargo'), CARGO);
  writeFileSync(join(home, '.rustup/settings.toml'), 'stable');
  world.env.PATH = `${join(home, '.cargo/bin')}:${world.env.PATH}`;
  world.write('Cargo.toml', '[package]\nname = "one"\n');
  world.write('main.rs', 'fn main() {}\n');
  world.settings({ gate: { commands: [GATE], ...settings } });
  return world.git('rev-parse', 'HEAD').trim();
}

function script(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  chmodSync(path, 0o755);
}

test('a shim in the operator’s home finds its toolchain, for the coder too: one turn', async ({ world }) => {
  const start = crate(world);
  world.script({
    when: { role: 'coder' },
    steps: [{ write: { 'main.rs': 'fn main() { work(); }\n' } }, { shell: GATE }],
  });
  await world.issue({ title: 'Do the work' });
  await world.settle();
  expect(landedOn(world, start)).toEqual(['Do the work']);
  expect(cloneOfTrunk(world).red(GATE)).toEqual([]);
  expect(await paid(world)).toEqual({ coder: 1, critic: 1 });
});

test('a toolchain that can’t start is never "red before in the same way": code that does not compile stays out', async ({
  world,
}) => {
  const start = crate(world, { preexisting: 'allow_unchanged' });
  writeFileSync(join(world.env.HOME!, '.rustup/settings.toml'), 'nightly');
  world.script({ when: { role: 'coder' }, steps: [{ write: { 'main.rs': 'does not compile\n' } }] });
  await world.issue({ title: 'Break it' });
  const { code, stdout, stderr } = await world.run('--until-idle').ended;
  expect(landedOn(world, start)).toEqual([]);
  expect(code).not.toBe(0);
  expect(stdout + stderr).toContain('cargo test');
});
