/** What `doctor` says of agents, and `doctor --agents` of those that answer nothing. */
import { spawnSync } from 'node:child_process';
import { chmodSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { afterEach, expect, test, vi } from 'vitest';
import { openedRepository } from '../../test/support/opened-repository.ts';
import type { About } from '../agent/agent.ts';
import { ROLES } from '../core/role.ts';
import { perform } from '../operations.ts';
import { agentChecks } from './doctor-agents.ts';

const here = openedRepository();
afterEach(() => void vi.unstubAllEnvs());

test.each([
  ['command: exit 3', "exit_nonzero: the agent's program exited with 3"],
  ['command: exec no-such-program', 'could_not_start'],
  ['command: no-such-program', null],
  ['command: sleep 600, turn_timeout_ms: 1000', 'no answer after 1 s'],
  ['kind: acp, command: exit 3', null],
])('doctor asks who is there for a word, and says what came of it: { %s }', async (agent, says) => {
  here.configure(`agent: { ${agent} }\ngate: none`);
  const { checks } = await perform(here.context, 'doctor', { agents: true });
  const turns = checks.filter(({ name }) => name.endsWith(' turn'));
  // What could not be started for want of its program or package is said once, by the role.
  if (says === null) expect(checks).toContainEqual(expect.objectContaining({ name: 'coder', level: 'fail' }));
  expect(turns.map(({ name, level }) => ({ name, level }))).toEqual(
    says === null ? [] : ROLES.map((role) => ({ name: `${role} turn`, level: 'fail' })),
  );
  for (const { what } of turns) expect(what).toContain(says);
});

test.each([
  ['fails', 1, 'codex', true],
  ['starts', 0, 'codex', false],
  ['is not known to this version', 2, 'codex', false],
  ['is not needed', 1, 'command', false],
])('doctor says of Codex whether its readers could read: its sandbox %s', async (_, exit, kind, isSaid) => {
  writeFileSync(
    join(here.root, 'codex'),
    `#!/bin/sh\n[ "$1" = sandbox ] || exit 0\necho bwrap: no >&2; exit ${exit}\n`,
  );
  chmodSync(join(here.root, 'codex'), 0o755);
  vi.stubEnv('PATH', `${here.root}${delimiter}${process.env.PATH}`);
  here.configure(`agent: { kind: ${kind}, command: "true" }\ngate: none`);
  const { checks } = await perform(here.context, 'doctor', {});
  const said = checks.filter(({ what }) => what.includes("sandbox can't start"));
  expect(said).toMatchObject(
    isSaid ? [{ name: 'agent', level: 'warn', what: expect.stringMatching(/^codex: .*\(bwrap: no\)/) }] : [],
  );
});

const missing = spawnSync('bwrap', ['--version']).status !== 0;
if (missing)
  console.warn('SKIPPED: one turn of an agent that is confined. Install the package bubblewrap to run it.');

// It needs bubblewrap, which CI installs.
test.skipIf(missing)('the turn of one word may touch what its role may', async () => {
  const given = join(here.root, 'given');
  writeFileSync(given, 'ready\n');
  here.configure(
    `agent: { command: "cd / && cat ${given.slice(1)}" }\ngate: none\nsandbox: bwrap\nroles: { coder: { access: { read: [${given}] } } }`,
  );
  const { checks } = await perform(here.context, 'doctor', { agents: true });
  const turns = checks.filter(({ name }) => name.endsWith(' turn'));
  expect(turns.filter(({ level }) => level === 'ok').map(({ name }) => name)).toEqual(['coder turn']);
});

const HOUR = 3_600_000;
const about = { name: 'codex', installed: true, version: '0.163.0' };

test.each<[string, Partial<About>, string[]]>([
  ['an API key', { signIn: { by: 'OPENAI_API_KEY' } }, ['ok codex 0.163.0, signed in by OPENAI_API_KEY']],
  [
    'a login that ends in the night',
    { signIn: { by: 'ChatGPT login', expires: { at: 9 * HOUR, advice: 'do it' } } },
    [
      expect.stringMatching(
        /^warn .*signed in by ChatGPT login, until .*: no turn starts after that; do it$/,
      ),
    ],
  ],
  [
    'one that lasts for days',
    { signIn: { by: 'ChatGPT login', expires: { at: 90 * HOUR, advice: 'do it' } } },
    [expect.stringMatching(/^ok .*signed in by ChatGPT login, until .*; do it$/)],
  ],
  [
    'one that can’t be used',
    { signIn: { unusable: 'your login expired at 03:12' } },
    ['ok codex 0.163.0, but no turn can start: your login expired at 03:12'],
  ],
  [
    'an adapter that asks for a newer Node',
    { signIn: 'none', wantsNode: '>=99' },
    [
      'ok codex 0.163.0, not signed in',
      `warn codex asks for Node >=99, and this is ${process.versions.node}: it may fail; Run forge-loop with Node >=99.`,
    ],
  ],
])('of %s doctor says so', (_, told, said) => {
  const checks = agentChecks({ ...about, signIn: 'none', ...told }, 0);
  expect(checks.map(({ level, what, fix }) => `${level} ${what}${fix ? `; ${fix}` : ''}`)).toEqual(said);
});

test('agents that are not installed are one line of doctor', async () => {
  const { checks } = await perform(here.context, 'doctor', {});
  const absent = checks.filter(({ name, what }) => name === 'agent' && what.includes('not installed'));
  expect(absent.map(({ what }) => what)).toEqual([expect.stringMatching(/^not installed: /)]);
});
