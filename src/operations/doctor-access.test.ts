/** `doctor --access`: what a role, a gate or a hook gets, looked at from inside. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { openedRepository } from '../../test/support/opened-repository.ts';
import { painter, type Terminal } from '../cli/terminal.ts';
import { TEXT } from '../cli/text.ts';
import { perform, type Result } from '../operations.ts';
import { sandbox } from './doctor-sandbox.ts';

const here = openedRepository();
const text = (seen: Result<'access'>): string =>
  TEXT.access(seen, { paint: painter(false), columns: 100 } as Terminal);
const missing = spawnSync('bwrap', ['--version']).status !== 0;
if (missing)
  console.warn('SKIPPED: access under bubblewrap. Install the package bubblewrap to run these tests.');

// It needs bubblewrap, which CI installs.
describe.skipIf(missing)('confined', () => {
  test('a coder writes to its workspace, its home, its session and what it was given', async () => {
    const cache = join(realpathSync(here.root), 'cache');
    mkdirSync(cache);
    here.configure(
      `agent: { command: "true", model: m }\ngate: none\nsandbox: bwrap\nroles: { coder: { access: { write: [${cache}], network: [example.org] } } }`,
    );
    const seen = await perform(here.context, 'access', { who: 'coder' });
    expect(seen).toMatchObject({
      who: 'coder',
      agent: 'command: true with m',
      sandbox: 'bwrap',
      network: ['example.org'],
      credentials: 'none',
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
    ['all', 'gateway', []],
    ['none', 'agent', 'host'],
  ])('with `gateway.credentials: %s`, the %s has the credential', async (setting, credentials, network) => {
    process.env.ANTHROPIC_API_KEY = 'a-key-nobody-uses';
    here.configure(
      `agent: { kind: claude }\ngate: none\nsandbox: required\ngateway: { credentials: ${setting} }\nroles: { coder: { access: { network: none } } }`,
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

  test('credentials of a cloud are the agent’s own, and it has no door', async () => {
    const cloud = {
      CLAUDE_CODE_USE_BEDROCK: '1',
      AWS_REGION: 'eu-west-1',
      AWS_ACCESS_KEY_ID: 'an-id-nobody-uses',
      AWS_SECRET_ACCESS_KEY: 'a-secret-nobody-uses',
    };
    Object.assign(process.env, cloud);
    here.configure(
      'agent: { kind: claude }\ngate: none\nsandbox: bwrap\nroles: { coder: { access: { network: none } } }',
    );
    try {
      await here.reopen();
      const seen = await perform(here.context, 'access', { who: 'coder' });
      expect(seen).toMatchObject({ network: 'host', credentials: 'agent' });
      expect(seen.environment).not.toContain('https_proxy');
      const said = text(seen);
      expect(said).toMatch(/^ +holds +its credential itself$/m);
      expect(said).not.toContain('its model');
    } finally {
      for (const name of Object.keys(cloud)) delete process.env[name];
    }
  });

  test.each([
    [[], 'none', 'holds +no credential of ours', false],
    [['ANTHROPIC_API_KEY'], 'gateway', 'holds +a placeholder: the gateway has its credential', true],
  ])('a program of your own that is passed %j', async (pass, credentials, said, asksModel) => {
    process.env.ANTHROPIC_API_KEY = 'a-key-nobody-uses';
    here.configure(
      `agent: { command: "true" }\ngate: none\nsandbox: bwrap\nenv: { roles: { pass: [${pass}] } }\nroles: { coder: { access: { network: [example.org] } } }`,
    );
    try {
      await here.reopen();
      const seen = await perform(here.context, 'access', { who: 'coder' });
      expect(seen).toMatchObject({ credentials, network: ['example.org'] });
      expect(text(seen)).toMatch(new RegExp(said));
      expect(text(seen).includes('its model')).toBe(asksModel);
    } finally {
      delete process.env.ANTHROPIC_API_KEY;
    }
  });

  test('a folder of PATH that a role may write to is warned of', async () => {
    const tools = join(realpathSync(here.root), 'tools');
    mkdirSync(join(tools, 'bin'), { recursive: true });
    here.configure(
      `agent: { command: "true" }\ngate: none\nsandbox: required\nenv: { pass: [ANTHROPIC_API_KEY] }\nroles: { coder: { access: { write: [${tools}] } } }`,
    );
    await here.reopen();
    const warned = async () =>
      (await sandbox(here.context))
        .filter(({ what }) => what.includes(tools))
        .map(({ level, what }) => `${level} ${what}`);
    expect(await warned()).toEqual([]);
    const before = process.env.PATH;
    process.env.PATH = `${join(tools, 'bin')}:${before}`;
    try {
      expect(await warned()).toEqual([
        expect.stringMatching(/^warn the coder may write to .*, where your PATH finds programs/),
      ]);
    } finally {
      process.env.PATH = before;
    }
  });

  test('a critic reads a copy and writes none of it; a gate writes the tree it runs on', async () => {
    here.configure('agent: { command: "true" }\ngate: none\nsandbox: bwrap');
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
      'agent: { command: "true" }\ngate: { commands: ["true"], network: none }\nsandbox: bwrap\nsecrets: { API_KEY: { env: KEY_OF_TEST, host: api.example.org, for: [gate] } }',
    );
    await here.reopen();
    const gate = await perform(here.context, 'access', { who: 'gate' });
    expect(gate.environment).toEqual(expect.arrayContaining(['API_KEY', 'SSL_CERT_FILE', 'https_proxy']));
    delete process.env.KEY_OF_TEST;
    here.configure('agent: { command: "true" }\ngate: { commands: ["true"], network: none }\nsandbox: bwrap');
    await here.reopen();
    const without = await perform(here.context, 'access', { who: 'gate' });
    expect(without.environment).not.toContain('https_proxy');
  });

  test('a deploy is confined by nothing, unless it is not trusted', async () => {
    process.env.DEPLOY_TARGET = 'somewhere';
    const deploy = 'deploy: { command: "true", pass_env: [DEPLOY_TARGET] }';
    try {
      here.configure(
        `agent: { command: "true" }\ngate: none\nsandbox: required\nenv: { pass: [ANTHROPIC_API_KEY] }\n${deploy}`,
      );
      await here.reopen();
      const free = await perform(here.context, 'access', { who: 'deploy' });
      expect(free).toMatchObject({
        sandbox: 'none',
        why: 'sandbox.trusted names it',
        network: 'host',
        files: null,
      });
      expect(free.environment).toContain('DEPLOY_TARGET');
      here.configure(
        `agent: { command: "true" }\ngate: none\nsandbox: { kind: required, trusted: [] }\nenv: { pass: [ANTHROPIC_API_KEY] }\n${deploy}`,
      );
      await here.reopen();
      const confined = await perform(here.context, 'access', { who: 'deploy' });
      expect(confined).toMatchObject({ sandbox: 'bwrap', why: null, secrets: [], tools: [] });
      expect(confined.files?.write.sort()).toEqual(['its own home', 'the tree it runs on']);
      expect(confined.environment).toEqual(expect.arrayContaining(['DEPLOY_TARGET', 'https_proxy']));
    } finally {
      delete process.env.DEPLOY_TARGET;
    }
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

test.each([
  [
    'memory and processes',
    0,
    'warn confined processes may use all memory and start any number of processes: so',
  ],
  ['memory and processes', 7, 'warn confined processes may use all memory: so'],
  ['processes', 0, 'warn a confined command may start any number of processes: so'],
  [
    'processes',
    7,
    'warn the processes of a confined command are not limited by themselves, only those of your whole user: so',
  ],
] as const)('what is not limited is warned of: %s, of user %i', async (what, uid, said) => {
  vi.spyOn(process, 'getuid').mockReturnValue(uid);
  onTestFinished(() => void vi.restoreAllMocks());
  const tools = await here.context.tools();
  const choose = async () => ({ kind: 'bwrap' as const, why: null, unlimited: { what, why: 'so' } });
  const told = { ...tools, sandbox: { ...tools.sandbox, choose } };
  const checks = await sandbox({ ...here.context, tools: async () => told });
  expect(checks.map((check) => `${check.level} ${check.what}`)).toContain(said);
});

test('without a sandbox a role may touch whatever the operator can', async () => {
  here.configure('agent: { command: "true" }\ngate: none\nsandbox: none');
  const seen = await perform(here.context, 'access', { who: 'critic' });
  expect(seen).toMatchObject({ sandbox: 'none', files: null, network: 'host' });
  expect(seen.environment).toContain('HOME');
});
