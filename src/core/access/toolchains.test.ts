import { describe, expect, test } from 'vitest';
import {
  CREDENTIAL_ENTRIES,
  isOurs,
  looksCredential,
  looksSecret,
  passedOn,
  TOOLCHAIN_ENTRIES,
  TOOLCHAIN_VARIABLES,
} from './toolchains.ts';

describe('the lists', () => {
  test('name nothing that looks like a secret, and nothing twice', () => {
    expect(TOOLCHAIN_VARIABLES.filter(looksSecret)).toEqual([]);
    expect(TOOLCHAIN_ENTRIES.filter(looksCredential)).toEqual([]);
    for (const list of [TOOLCHAIN_VARIABLES, TOOLCHAIN_ENTRIES, CREDENTIAL_ENTRIES])
      expect(new Set(list).size).toBe(list.length);
  });

  test('leave out what tools write to', () => {
    const written = ['CARGO_HOME', 'GOPATH', 'GOMODCACHE', 'GOCACHE', 'npm_config_cache', 'PIP_CACHE_DIR'];
    expect(TOOLCHAIN_VARIABLES.filter((name) => written.includes(name))).toEqual([]);
    expect(TOOLCHAIN_ENTRIES).not.toContain('.cargo');
    expect(TOOLCHAIN_ENTRIES).not.toContain('.cargo/bin');
  });
});

test('proxies in both cases, extra CAs and toolchains are passed on, where they are set', () => {
  const operator = {
    HTTPS_PROXY: 'http://proxy:3128',
    no_proxy: 'localhost',
    NODE_EXTRA_CA_CERTS: '/ca.pem',
    RUSTUP_HOME: '/opt/rustup',
    MISE_DATA_DIR: '/mise',
    MISE_GITHUB_TOKEN: 'poison',
    GITHUB_TOKEN: 'poison',
    UNKNOWN: 'x',
  };
  expect(passedOn(operator, TOOLCHAIN_VARIABLES)).toEqual({
    HTTPS_PROXY: 'http://proxy:3128',
    no_proxy: 'localhost',
    NODE_EXTRA_CA_CERTS: '/ca.pem',
    RUSTUP_HOME: '/opt/rustup',
    MISE_DATA_DIR: '/mise',
  });
  expect(passedOn(operator, ['GITHUB_TOKEN']), 'the operator named it').toEqual({ GITHUB_TOKEN: 'poison' });
});

test.each([
  ['NPM_TOKEN', true],
  ['AWS_SECRET_ACCESS_KEY', true],
  ['DB_PASSWORD', true],
  ['SSH_AUTH_SOCK', true],
  ['OPENAI_API_KEY', true],
  ['GH_PAT', true],
  ['GOPRIVATE', false],
  ['KEYBOARD', false],
  ['RUSTFLAGS', false],
])('%s looks like a secret: %s', (name, secret) => {
  expect(looksSecret(name)).toBe(secret);
});

test.each([
  ['HOME', true],
  ['XDG_CONFIG_HOME', true],
  ['GIT_DIR', true],
  ['GIT_ASKPASS', true],
  ['FORGE_MARK', true],
  ['FORGE_ANYTHING', true],
  ['GIT_SSL_CAINFO', false],
  ['PATH', false],
  ['HOMEBREW_PREFIX', false],
  ['CI', false],
])('%s is the loop’s own: %s', (name, ours) => {
  expect(isOurs(name)).toBe(ours);
});
