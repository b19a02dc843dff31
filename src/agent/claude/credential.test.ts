import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { findCredential } from './credential.ts';

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
  expect((await find({}))?.env).toEqual({ CLAUDE_CODE_OAUTH_TOKEN: 'access' });
});

test('nobody is signed in: no file, half a file, an ended login', async () => {
  expect(await find({})).toBeNull();
  await signIn({ claudeAiOauth: {} });
  expect(await find({})).toBeNull();
  await writeFile(join(home, '.claude', '.credentials.json'), '{');
  expect(await find({})).toBeNull();
  await signIn({ claudeAiOauth: { accessToken: 'access', expiresAt: 1000 } });
  expect(await find({})).toBeNull();
});
