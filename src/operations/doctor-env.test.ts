import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { BARE, testPolicy } from '../../test/support/policy.ts';
import type { ChildPolicy } from '../core/access/toolchains.ts';
import type { Policy } from '../core/policy.ts';
import { environment } from './doctor-env.ts';

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'forge-doctor-home-'));
});
afterEach(() => rmSync(home, { recursive: true }));

function said(change: Partial<ChildPolicy>, env: Record<string, string> = {}, isConfined = false): string[] {
  const child = { ...BARE, ...change };
  const base = testPolicy();
  const coder = { ...base.agents.coder, env: child };
  const policy: Policy = {
    ...base,
    agents: { ...base.agents, coder },
    gate: { ...base.gate, env: child },
    hooks: { ...base.hooks, env: child },
  };
  return environment(policy, isConfined, { env, home }).map(({ level, what }) => `${level} ${what}`);
}

test('nothing is said of a child that gets nothing', () => {
  expect(said({})).toEqual([]);
});

test('a variable that looks like a secret is passed, and said', () => {
  expect(said({ pass: ['NPM_TOKEN', 'REGISTRY'] }, { NPM_TOKEN: 'x', REGISTRY: 'y' })).toEqual([
    expect.stringMatching(/^warn .*looks like a secret: NPM_TOKEN\./),
  ]);
});

test('one that is not set here is said; of the built-in list none is', () => {
  expect(said({ pass: ['REGISTRY', 'JAVA_HOME'] })).toEqual([
    'warn `env.pass` names variables that are not set here: REGISTRY',
  ]);
});

test('links can be written through, and that is said plainly; credentials are named', () => {
  mkdirSync(join(home, '.rustup'));
  writeFileSync(join(home, '.tool-versions'), '');
  writeFileSync(join(home, '.npmrc'), '');
  writeFileSync(join(home, '.netrc'), '');
  expect(said({ homeEntries: ['.rustup', '.tool-versions', '.nvm', '.npmrc'] })).toEqual([
    'ok private, with your .rustup, .tool-versions, .npmrc',
    expect.stringMatching(/^warn .*children can write to, since nothing confines them: \.rustup$/),
    expect.stringMatching(/^warn .*may hold credentials: \.npmrc\./),
    expect.stringMatching(/^ok kept out, .*: \.netrc\./),
  ]);
  expect(said({ homeEntries: ['.rustup'] }, {}, true)).toEqual([
    'ok private, with your .rustup',
    expect.stringMatching(/^ok kept out/),
  ]);
});

test('the operator’s own home has its risk', () => {
  expect(said({ home: 'operator', homeEntries: ['.rustup'] })).toEqual([
    expect.stringMatching(/^warn `env.home: operator`: .*every credential/),
  ]);
});
