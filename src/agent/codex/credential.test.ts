import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { chatgptLogin } from '../../../test/support/chatgpt-login.ts';
import type { Failure } from '../agent.ts';
import { failureOfLogin, findCredential, putCredential, removeLogin, shown, signInOf } from './credential.ts';
import { configFile } from './settings.ts';

const NOW = Date.parse('2026-11-17T01:00:00Z');
const HOUR = 3_600_000;

let home: string;
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'forge-codex-'));
  await mkdir(join(home, '.codex'));
});
afterEach(() => rm(home, { recursive: true, force: true }));

const find = (env: Record<string, string> = {}) => findCredential({ HOME: home, ...env }, NOW);
const signIn = (login: unknown) => writeFile(join(home, '.codex', 'auth.json'), JSON.stringify(login));

test('a key of the environment, or one that codex kept', async () => {
  expect(await find({ OPENAI_API_KEY: 'key' })).toEqual({ source: 'OPENAI_API_KEY', key: 'key' });
  await signIn({ OPENAI_API_KEY: 'kept' });
  expect(await find()).toEqual({ source: 'codex login', key: 'kept' });
  await signIn({ auth_mode: 'apikey', OPENAI_API_KEY: 'kept', tokens: null });
  expect(await find()).toEqual({ source: 'codex login', key: 'kept' });
});

test('of a ChatGPT login the access is handed on for the turn, never what could renew it', async () => {
  await signIn(chatgptLogin(NOW + HOUR));
  const found = await find();
  if (typeof found === 'string' || !('login' in found)) throw new Error('there is a login');
  const codexHome = join(home, 'session');
  await mkdir(codexHome);
  const env = await putCredential(found, codexHome, NOW);
  const kept = await readFile(join(codexHome, 'auth.json'), 'utf8');
  expect(JSON.parse(kept)).toMatchObject({
    auth_mode: 'chatgpt',
    tokens: { account_id: 'account-1', refresh_token: '' },
    last_refresh: '2026-11-17T01:00:00.000Z',
  });
  expect((await stat(join(codexHome, 'auth.json'))).mode & 0o777).toBe(0o600);
  expect(kept + JSON.stringify(env)).not.toContain('what-renews-it');
  expect(Object.keys(env)).toEqual(['CODEX_REFRESH_TOKEN_URL_OVERRIDE']);
  await removeLogin(codexHome);
  expect(await readdir(codexHome)).toEqual([]);
});

test('a key takes the place of a login that a session had', async () => {
  await signIn(chatgptLogin(NOW + HOUR));
  const codexHome = join(home, 'session');
  await mkdir(codexHome);
  await putCredential((await find()) as never, codexHome, NOW);
  expect(await putCredential({ source: 'x', key: 'key' }, codexHome, NOW)).toEqual({ OPENAI_API_KEY: 'key' });
  expect(await readdir(codexHome)).toEqual([]);
});

test('a login goes where the operator’s own settings of Codex say ChatGPT is, and no gateway gets it', async () => {
  await signIn(chatgptLogin(NOW + HOUR));
  const turn = { cwd: home, access: { tools: 'work', writeRoots: [] }, policy: { network: [] } } as never;
  const config = async () => {
    const { credential, baseUrl } = shown(
      (await find()) as never,
      { OPENAI_BASE_URL: 'http://gateway' },
      null,
    );
    return configFile(baseUrl, credential, turn, []);
  };
  expect(await config()).toContain('base_url = "https://chatgpt.com/backend-api/codex"');
  const settings = 'chatgpt_base_url = "https://other/api/"\n[x]\nchatgpt_base_url = "https://no"\n';
  await writeFile(join(home, '.codex', 'config.toml'), settings);
  expect(await config()).toContain('chatgpt_base_url = "https://other/api/"');
  expect(await config()).toContain('base_url = "https://other/api/codex"');
  expect(await config()).not.toContain('gateway');
});

test('doctor says how long a login lasts, and what to do for longer', async () => {
  await signIn(chatgptLogin(NOW + HOUR));
  expect(await signInOf({ HOME: home }, NOW)).toEqual({
    by: 'ChatGPT login',
    expires: { at: NOW + HOUR, advice: expect.stringContaining('OPENAI_API_KEY') },
  });
});

test.each([
  ['an ended login', chatgptLogin(NOW), /^your ChatGPT login expired at .*: start `codex` to renew it/],
  ['half a login', { auth_mode: 'chatgpt', tokens: null }, /^your ChatGPT login has no access token/],
  [
    'a login of another kind',
    { auth_mode: 'agentIdentity', agent_identity: {} },
    /^Codex is signed in by `agentIdentity`, which forge-loop can't hand on: set OPENAI_API_KEY/,
  ],
])('%s is named, with what to do', async (_, login, words) => {
  await signIn(login);
  expect(await find()).toMatch(words);
  expect(await signInOf({ HOME: home }, NOW)).toEqual({ unusable: expect.stringMatching(words) });
});

test('nobody is signed in', async () => {
  expect(await find()).toMatch(/^Codex is not signed in: run `codex login`, or set OPENAI_API_KEY/);
  expect(await signInOf({ HOME: home }, NOW)).toBe('none');
});

test('a login that ends in the middle of a turn is what the turn failed for', async () => {
  await signIn(chatgptLogin(NOW + HOUR));
  const login = (await find()) as never;
  const failed = (code: Failure['code'], message = 'x'): Failure => ({ code, message, retryAt: null });
  const expired = { code: 'auth', message: expect.stringMatching(/^your ChatGPT login expired at /) };
  expect(failureOfLogin(failed('network'), login, NOW + HOUR)).toMatchObject(expired);
  expect(failureOfLogin(failed('auth'), login, NOW + HOUR)).toMatchObject(expired);
  expect(failureOfLogin(failed('network'), login, NOW)).toEqual(failed('network'));
  expect(failureOfLogin(failed('context_overflow'), login, NOW + HOUR)).toEqual(failed('context_overflow'));
  expect(failureOfLogin(failed('crashed', 'Failed to refresh token: 503'), login, NOW)).toMatchObject({
    code: 'auth',
    message: expect.stringMatching(/^OpenAI no longer accepts your ChatGPT login: run `codex login`/),
  });
  expect(failureOfLogin(failed('network'), { source: 'x', key: 'k' }, NOW + HOUR)).toEqual(failed('network'));
});

test.each([
  [[], 'bwrap', true],
  [['npm'], 'bwrap', true],
  ['any', 'bwrap', false],
  ['host', 'bwrap', false],
  [[], 'none', false],
])('on the network %j, confined by %s: searching is off is %s', async (network, sandbox, isOff) => {
  const access = { tools: 'work', writeRoots: [], sandbox };
  const turn = { cwd: home, access, policy: { network } } as never;
  const config = await configFile('http://x', { source: 'x', key: 'key' }, turn, []);
  expect(config.includes('web_search = "disabled"')).toBe(isOff);
});
