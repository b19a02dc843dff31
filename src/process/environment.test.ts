import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, test, vi } from 'vitest';
import { BARE } from '../../test/support/policy.ts';
import type { ChildPolicy } from '../core/access/toolchains.ts';
import { childEnvironment } from './environment.ts';

afterEach(() => vi.unstubAllEnvs());

const home = mkdtempSync(join(tmpdir(), 'forge-home-'));
afterAll(() => rmSync(home, { recursive: true }));

const identity = { name: 'Ada', email: 'ada@example.com' };

test('nothing of the operator reaches a child: no token, no agent, no git configuration', () => {
  const poison = {
    GITHUB_TOKEN: 'ghp_poison',
    GH_TOKEN: 'poison',
    AWS_SECRET_ACCESS_KEY: 'poison',
    ANTHROPIC_API_KEY: 'poison',
    NPM_TOKEN: 'poison',
    SSH_AUTH_SOCK: '/poison/agent',
    GIT_DIR: '/poison/.git',
    GIT_CONFIG_COUNT: '1',
    GIT_ASKPASS: '/poison/askpass',
    NODE_OPTIONS: '--poison',
    LD_PRELOAD: '/poison.so',
    FORGE_MARK: 'poison',
  };
  for (const [name, value] of Object.entries(poison)) vi.stubEnv(name, value);
  const env = childEnvironment({ home, mark: 't1', identity, env: BARE });
  expect(JSON.stringify(env)).not.toContain('poison');
  expect(env.FORGE_MARK).toBe('t1');
  expect(env.PATH).toBe(process.env.PATH);
});

test('a child lives in its private home and commits as the identity given', () => {
  writeFileSync(join(home, '.gitconfig'), '[user]\n\tname = Mallory\n[credential]\n\thelper = store\n');
  const env = childEnvironment({ home, mark: 't1', identity, env: BARE, extra: { FORGE_ROLE: 'coder' } });
  const inChild = (command: string) =>
    execFileSync('/bin/sh', ['-c', command], { env, encoding: 'utf8' }).trim();
  expect(inChild('echo ~ $XDG_CONFIG_HOME $FORGE_ROLE')).toBe(`${home} ${home}/.config coder`);
  expect(inChild('git var GIT_AUTHOR_IDENT')).toContain('Ada <ada@example.com>');
  expect(inChild('git config --get credential.helper || echo none')).toBe('none');
});

test('locale and time zone are passed on when set, and the mark can not be overridden', () => {
  vi.stubEnv('TZ', 'Europe/Berlin');
  vi.stubEnv('LC_ALL', undefined);
  const env = childEnvironment({ home, mark: 't1', identity, env: BARE, extra: { FORGE_MARK: 'other' } });
  expect(env.TZ).toBe('Europe/Berlin');
  expect('LC_ALL' in env).toBe(false);
  expect(env.FORGE_MARK).toBe('t1');
});

describe('what `env` adds', () => {
  const child = (env: Partial<ChildPolicy>, extra: Record<string, string> = {}) =>
    childEnvironment({ home, mark: 't1', identity, env: { ...BARE, ...env }, extra });

  test('variables by name and fixed values; the agent’s own settings and the loop’s win', () => {
    vi.stubEnv('REGISTRY_URL', 'https://registry.example');
    vi.stubEnv('HTTPS_PROXY', 'http://proxy:3128');
    const env = child(
      { pass: ['REGISTRY_URL', 'HTTPS_PROXY', 'NOT_SET'], set: { CI: 'yes', MODEL: 'mine', HOME: '/x' } },
      { MODEL: 'theirs' },
    );
    expect(env).toMatchObject({
      REGISTRY_URL: 'https://registry.example',
      HTTPS_PROXY: 'http://proxy:3128',
      CI: 'yes',
      MODEL: 'theirs',
      HOME: home,
    });
    expect('NOT_SET' in env).toBe(false);
  });

  test('the operator’s own home, with what they say of their folders', () => {
    vi.stubEnv('HOME', '/home/op');
    vi.stubEnv('XDG_CONFIG_HOME', '/home/op/cfg');
    vi.stubEnv('XDG_CACHE_HOME', undefined);
    const env = child({ home: 'operator' });
    expect(env).toMatchObject({ HOME: '/home/op', XDG_CONFIG_HOME: '/home/op/cfg' });
    expect('XDG_CACHE_HOME' in env).toBe(false);
    expect(env.GIT_CONFIG_GLOBAL, 'git still finds no configuration').toBe('/dev/null');
  });
});
