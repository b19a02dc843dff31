/** `init --mcp`: each client by its own means, and nothing of theirs is overwritten. */
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openedRepository } from '../../test/support/opened-repository.ts';
import { perform } from '../operations.ts';

const here = openedRepository();
const before = { PATH: process.env.PATH, XDG_CONFIG_HOME: process.env.XDG_CONFIG_HOME };
let bin = '';
let settings = '';

beforeEach(async () => {
  bin = join(here.root, '.bin');
  settings = join(here.root, '.config', 'opencode', 'opencode.json');
  mkdirSync(bin);
  process.env.PATH = `${bin}:/usr/bin:/bin`;
  process.env.XDG_CONFIG_HOME = join(here.root, '.config');
  await here.reopen();
});
afterEach(() => {
  for (const [name, value] of Object.entries(before))
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
});

/** Writes down how it was called; `mcp get` fails, as where it knows no such server, unless it is told otherwise. */
function install(name: string, script = 'case "$2" in get) exit 1;; esac'): void {
  writeFileSync(join(bin, name), `#!/bin/sh\necho "$0 $*" >> "${bin}/calls"\n${script}\n`);
  chmodSync(join(bin, name), 0o755);
}
const calls = (): string[] =>
  existsSync(join(bin, 'calls'))
    ? readFileSync(join(bin, 'calls'), 'utf8').trim().replaceAll(`${bin}/`, '').split('\n')
    : [];
const registered = async () => (await perform(here.context, 'init', { mcp: true })).mcp;

test('those that are installed are asked by their own commands', async () => {
  for (const name of ['claude', 'codex', 'forge-loop']) install(name);
  expect((await registered()).map(({ client, done }) => [client, done])).toEqual([
    ['claude', 'added'],
    ['codex', 'added'],
  ]);
  expect(calls()).toEqual([
    'claude mcp get forge-loop',
    'claude mcp add forge-loop -- forge-loop mcp serve',
    'codex mcp get forge-loop',
    'codex mcp add forge-loop -- forge-loop mcp serve',
  ]);
});

test('what is registered stays, and a failure is told', async () => {
  install('claude', 'exit 0');
  install('codex', 'echo no such command >&2; exit 2');
  const [claude, codex] = await registered();
  expect(claude).toMatchObject({ client: 'claude', done: 'there' });
  expect(codex).toMatchObject({
    client: 'codex',
    done: 'failed',
    says: expect.stringContaining('no such command'),
  });
  expect(calls().filter((line) => line.startsWith('claude'))).toEqual(['claude mcp get forge-loop']);
});

test('OpenCode has a file: an entry is added, everything else stays', async () => {
  for (const name of ['opencode', 'forge-loop']) install(name);
  mkdirSync(join(settings, '..'), { recursive: true });
  writeFileSync(settings, '{"theme":"x","mcp":{"docs":{"type":"local"}}}');
  expect(await registered()).toMatchObject([{ client: 'opencode', done: 'added' }]);
  const written = readFileSync(settings, 'utf8');
  expect(JSON.parse(written)).toEqual({
    theme: 'x',
    mcp: {
      docs: { type: 'local' },
      'forge-loop': { type: 'local', command: ['forge-loop', 'mcp', 'serve'], enabled: true },
    },
  });
  expect(await registered()).toMatchObject([{ client: 'opencode', done: 'there' }]);
  expect(readFileSync(settings, 'utf8')).toBe(written);
});

test.each(['{ // mine\n}', '[]', '{"mcp":[]}'])(
  'a file of OpenCode’s that we do not understand stays: %s',
  async (text) => {
    install('opencode');
    mkdirSync(join(settings, '..'), { recursive: true });
    writeFileSync(settings, text);
    expect(await registered()).toMatchObject([{ done: 'failed', says: expect.stringContaining('Add this') }]);
    expect(readFileSync(settings, 'utf8')).toBe(text);
  },
);

test('without --mcp nobody is asked', async () => {
  install('claude');
  expect((await perform(here.context, 'init')).mcp).toEqual([]);
  expect(calls()).toEqual([]);
});
