import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Failure } from '../agent.ts';
import { type Credential, failureOfLogin, findCredential, signInOf } from './credential.ts';

let home: string;
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'forge-credential-'));
  await mkdir(join(home, '.claude'));
});
afterEach(() => rm(home, { recursive: true, force: true }));

const find = (env: Record<string, string>) => findCredential({ HOME: home, ...env }, 1000);
const signIn = (login: unknown) =>
  writeFile(join(home, '.claude', '.credentials.json'), JSON.stringify(login));

test('one credential and where the provider is, nothing else of the operator', async () => {
  const found = await find({
    ANTHROPIC_API_KEY: 'key',
    CLAUDE_CODE_OAUTH_TOKEN: 'token',
    ANTHROPIC_BASE_URL: 'http://gateway',
    GITHUB_TOKEN: 'secret',
  });
  expect(found).toEqual({
    source: 'ANTHROPIC_API_KEY',
    env: { ANTHROPIC_API_KEY: 'key', ANTHROPIC_BASE_URL: 'http://gateway' },
  });
});

test('a login gives its access, never what could renew it', async () => {
  await signIn({ claudeAiOauth: { accessToken: 'access', refreshToken: 'refresh', expiresAt: 2000 } });
  expect(await find({})).toMatchObject({ env: { CLAUDE_CODE_OAUTH_TOKEN: 'access' }, expiresAt: 2000 });
  expect(await signInOf({ HOME: home }, 1000)).toMatchObject({ expires: { at: 2000 } });
});

test('nobody is signed in: no file, half a file, an ended login', async () => {
  const none = expect.stringMatching(/^Claude is not signed in: .*setup-token/);
  expect(await find({})).toEqual(none);
  await signIn({ claudeAiOauth: {} });
  expect(await find({})).toEqual(none);
  await writeFile(join(home, '.claude', '.credentials.json'), '{');
  expect(await find({})).toEqual(none);
  await signIn({ claudeAiOauth: { accessToken: 'access', expiresAt: 1000 } });
  expect(await find({})).toMatch(
    /^your Claude login expired at \d\d:\d\d:01: start `claude` to renew it, or run `claude setup-token`/,
  );
});

test('a login that ended is named, and one that ends in the middle of a turn is what it failed for', async () => {
  await signIn({ claudeAiOauth: { accessToken: 'access', expiresAt: 2000 } });
  expect(await signInOf({ HOME: home }, 3000)).toEqual({
    unusable: expect.stringMatching(/^your Claude login expired at .*: start `claude` to renew it/),
  });
  const login = (await find({})) as Credential;
  const refused: Failure = { code: 'auth', message: 'OAuth token has expired.', retryAt: null };
  expect(failureOfLogin(refused, login, 3000)).toMatchObject({
    code: 'auth',
    message: expect.stringMatching(/^your Claude login expired at /),
  });
  expect(failureOfLogin(refused, login, 1999)).toEqual(refused);
  expect(failureOfLogin(refused, { source: 'ANTHROPIC_API_KEY', env: {} }, 3000)).toEqual(refused);
});
