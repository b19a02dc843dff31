/** `doctor --access`: what a role, a gate or a hook gets, looked at from inside. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { openedRepository } from '../../test/support/opened-repository.ts';
import { perform } from '../operations.ts';
import { sandbox } from './doctor-sandbox.ts';

const here = openedRepository();
const missing = spawnSync('bwrap', ['--version']).status !== 0;
if (missing)
  console.warn('SKIPPED: access under bubblewrap. Install the package bubblewrap to run these tests.');

// It needs bubblewrap, which CI installs.
describe.skipIf(missing)('confined', () => {
  test('a coder writes to its workspace, its home, its session and what it was given', async () => {
    const cache = join(realpathSync(here.root), 'cache');
    mkdirSync(cache);
    here.configure(
      `agent: { command: "true", model: m }\ngate: none\nsandbox: required\nroles: { coder: { access: { write: [${cache}], network: [example.org] } } }`,
    );
    const seen = await perform(here.context, 'access', { who: 'coder' });
    expect(seen).toMatchObject({
      who: 'coder',
      agent: 'command: true with m',
      sandbox: 'bwrap',
      network: ['example.org'],
      credentials: 'all',
    });
    const { write = [], read = [], memory = [], hidden = [] } = seen.files ?? {};
    expect([...write].sort()).toEqual([cache, 'its own home', 'its session', 'its workspace'].sort());
    expect(read).toEqual(expect.arrayContaining(['/etc', '/usr']));
    expect(memory).toEqual(expect.arrayContaining(['/tmp', '/dev/shm']));
    expect(hidden).toContain('/etc/shadow');
    expect(seen.environment).toEqual(expect.arrayContaining(['HOME', 'PATH']));
    // Of its turn, and of its door.
    expect(seen.environment).toEqual(
      expect.arrayContaining(['FORGE_ROLE', 'FORGE_SESSION_DIR', 'BASH_ENV', 'https_proxy', 'NO_PROXY']),
    );
    expect(seen.tools).toContain('report_progress');
  });

  test.each([
    ['all', []],
    ['none', 'host'],
  ])('with `gateway.credentials: %s`, a coder reaches %j beside its model', async (credentials, network) => {
    process.env.ANTHROPIC_API_KEY = 'a-key-nobody-uses';
    here.configure(
      `agent: { kind: claude }\ngate: none\nsandbox: required\ngateway: { credentials: ${credentials} }\nroles: { coder: { access: { network: none } } }`,
    );
    try {
      await here.reopen();
      expect(await perform(here.context, 'access', { who: 'coder' })).toMatchObject({ network, credentials });
      const checks = (await sandbox(here.context)).map(({ what }) => what).join('\n');
      expect(checks.includes('keeps its own credential')).toBe(network === 'host');
      expect(checks.includes('the coder: nowhere')).toBe(network !== 'host');
    } finally {
      delete process.env.ANTHROPIC_API_KEY;
    }
  });

  test('a critic reads a copy and writes none of it; a gate writes the tree it runs on', async () => {
    here.configure('agent: { command: "true" }\ngate: none\nsandbox: required');
    const critic = await perform(here.context, 'access', { who: 'critic' });
    expect(critic.files?.read).toContain('a copy of the head');
    expect(critic.files?.write.sort()).toEqual(['its own home', 'its session']);
    const gate = await perform(here.context, 'access', { who: 'gate' });
    expect(gate).toMatchObject({ agent: null, credentials: null, tools: [] });
    expect(gate.files?.write.sort()).toEqual(['its own home', 'the tree it runs on']);
    expect(gate.environment).toContain('https_proxy');
    expect(gate.environment).not.toContain('FORGE_ROLE');
  });

  test('what may use a secret is told where its placeholder and the certificates are', async () => {
    process.env.KEY_OF_TEST = 'a-value-nobody-sees';
    here.configure(
      'agent: { command: "true" }\ngate: { commands: ["true"], network: none }\nsandbox: required\nsecrets: { API_KEY: { env: KEY_OF_TEST, host: api.example.org, for: [gate] } }',
    );
    await here.reopen();
    const gate = await perform(here.context, 'access', { who: 'gate' });
    expect(gate.environment).toEqual(expect.arrayContaining(['API_KEY', 'SSL_CERT_FILE', 'https_proxy']));
    delete process.env.KEY_OF_TEST;
    here.configure(
      'agent: { command: "true" }\ngate: { commands: ["true"], network: none }\nsandbox: required',
    );
    await here.reopen();
    const without = await perform(here.context, 'access', { who: 'gate' });
    expect(without.environment).not.toContain('https_proxy');
  });

  test('hooks that are trusted are confined by nothing', async () => {
    here.configure('agent: { command: "true" }\ngate: none\nsandbox: { trusted: [hooks] }');
    expect(await perform(here.context, 'access', { who: 'hooks' })).toMatchObject({
      sandbox: 'none',
      why: 'sandbox.trusted names them',
      files: null,
      network: 'host',
    });
  });
});

test('without a sandbox a role may touch whatever the operator can', async () => {
  here.configure('agent: { command: "true" }\ngate: none\nsandbox: none');
  const seen = await perform(here.context, 'access', { who: 'critic' });
  expect(seen).toMatchObject({ sandbox: 'none', files: null, network: 'host' });
  expect(seen.environment).toContain('HOME');
});
