/** Names with spaces, quotes and letters beyond ASCII: of the repository, its branch, its files and its issues. */
import { basename } from 'node:path';
import { expect } from 'vitest';
import { cloneOfTrunk, landedOn, paid } from '../support/e2e/trunk.ts';
import { test } from '../support/e2e/world.ts';

const ODD = ['docs/naïve plan “x”.md', "docs/it's $HOME.md", 'docs/数据 (1).txt', '-dash.txt'];
const GATE = `git ls-files -z | xargs -0 ls -- >/dev/null && test "$(git ls-files -z docs | tr -dc '\\0' | wc -c)" -ge 3`;

test('odd names everywhere: what lands is what was written, byte for byte', async ({ world }) => {
  expect(basename(world.root)).toMatch(/ .*é/);
  for (const name of ODD) world.write(name, 'old\n');
  world.settings({ gate: { commands: [GATE] } });
  const start = world.git('rev-parse', 'HEAD').trim();
  const written = Object.fromEntries(ODD.map((name) => [name, `new ${name}\n`]));
  world.script({
    when: { role: 'coder' },
    steps: [{ write: { ...written, 'docs/ein neues „Wort“.md': 'neu\n' } }],
  });
  const issue = await world.issue({ title: '„Größer“ & `$(touch x)` — 数据' });
  const { stdout } = await world.settle();
  expect(landedOn(world, start)).toEqual(['„Größer“ & `$(touch x)` — 数据']);
  const trunk = cloneOfTrunk(world);
  for (const [name, text] of Object.entries(written)) expect(trunk.read(name)).toBe(text);
  expect(trunk.files()).toContain('docs/ein neues „Wort“.md');
  expect(trunk.red(GATE)).toEqual([]);
  expect(stdout).toContain(`#${issue}`);
  expect(await paid(world)).toEqual({ coder: 1, critic: 1 });
});
