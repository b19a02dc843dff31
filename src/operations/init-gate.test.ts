/** The gate that `init` proposes, found on trunk and really run there. */
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { openedRepository } from '../../test/support/opened-repository.ts';
import { chooseGate, findGate, type TriedCommand, tryGateOnce } from './init-gate.ts';

const here = openedRepository();

function commit(files: Record<string, string>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(here.root, path)), { recursive: true });
    writeFileSync(join(here.root, path), text);
    here.git('add', path);
  }
  here.git('commit', '-q', '-m', 'files');
}

const quiet = { minutes: 5, signal: new AbortController().signal, onStart: () => {}, onEnd: () => {} };

describe('findGate', () => {
  test('goes by trunk: neither by what is not committed nor by a lockfile that git ignores', async () => {
    const manifest = JSON.stringify({ scripts: { test: 'x' }, devDependencies: { x: '1' } });
    commit({ 'package.json': manifest, '.gitignore': 'pnpm-lock.yaml\n' });
    writeFileSync(join(here.root, 'pnpm-lock.yaml'), '');
    writeFileSync(join(here.root, 'Cargo.toml'), '');
    const { sha, proposals } = await findGate(here.context, 'main');
    expect(sha).toBe(here.git('rev-parse', 'HEAD'));
    expect(proposals).toMatchObject([{ setup: ['pnpm install'], commands: ['pnpm test'] }]);
  });

  test('without a commit it goes by the files that git would take', async () => {
    here.git('update-ref', '-d', 'HEAD');
    writeFileSync(join(here.root, 'Makefile'), 'test:\n');
    writeFileSync(join(here.root, 'Cargo.toml'), '');
    writeFileSync(join(here.root, '.gitignore'), 'Cargo.toml\n');
    expect(await findGate(here.context, 'main')).toMatchObject({
      sha: null,
      proposals: [{ commands: ['make test'] }],
    });
  });
});

describe('tryGateOnce', () => {
  test('runs each once on trunk; what fails, and what has no tool here, is left out with why', async () => {
    const scripts = { test: 'node -e "process.exit(0)"', lint: 'echo line 7 is untidy && exit 3' };
    commit({
      'package.json': JSON.stringify({ name: 'one', version: '1.0.0', scripts }),
      'package-lock.json': JSON.stringify({
        name: 'one',
        version: '1.0.0',
        lockfileVersion: 3,
        packages: { '': { name: 'one', version: '1.0.0' } },
      }),
    });
    const { sha, proposals } = await findGate(here.context, 'main');
    const missing = {
      ecosystem: '.net',
      from: ['App.sln'],
      tool: 'no-dotnet',
      setup: ['no-dotnet restore'],
      commands: ['no-dotnet test'],
    };
    const found = { sha: sha!, proposals: [...proposals, missing] };
    const said: string[] = [];
    const tried = await tryGateOnce(here.context, found, {
      ...quiet,
      onStart: (command) => said.push(command),
    });
    expect(said).toEqual(['npm ci', 'npm test', 'npm run lint']);
    expect(chooseGate(found, tried)).toEqual({
      setup: ['npm ci'],
      gate: ['npm test'],
      from: ['package.json'],
      leftOut: [
        {
          command: 'npm run lint',
          why: 'failed: exit 3',
          output: expect.arrayContaining(['line 7 is untidy']),
        },
        { command: 'no-dotnet restore', why: 'could not run: no-dotnet is not installed', output: [] },
        { command: 'no-dotnet test', why: 'could not run: no-dotnet is not installed', output: [] },
      ],
    });
    expect(existsSync(join(here.root, 'node_modules'))).toBe(false);
  });

  test('a setup that fails takes its commands with it, and nothing else', async () => {
    commit({ Makefile: 'test:\n\t@echo fine\n' });
    const proposals = [
      { ecosystem: 'a', from: ['a'], tool: 'sh', setup: ['echo no; false'], commands: ['true'] },
      ...(await findGate(here.context, 'main')).proposals,
    ];
    const found = { sha: here.git('rev-parse', 'HEAD'), proposals };
    const tried = await tryGateOnce(here.context, found, quiet);
    expect(chooseGate(found, tried)).toEqual({
      setup: [],
      gate: ['make test'],
      from: ['Makefile'],
      leftOut: [
        { command: 'echo no; false', why: 'failed: exit 1', output: ['no'] },
        { command: 'true', why: 'not run, since `echo no; false` did not pass', output: [] },
      ],
    });
  });

  test('stops what takes too long, and runs nothing after it', async () => {
    const proposals = [
      { ecosystem: 'a', from: ['a'], tool: 'sh', setup: [], commands: ['echo on; sleep 600', 'true'] },
    ];
    const found = { sha: here.git('rev-parse', 'HEAD'), proposals };
    const tried = await tryGateOnce(here.context, found, { ...quiet, minutes: 0.2 });
    expect(chooseGate(found, tried)).toMatchObject({
      gate: [],
      leftOut: [
        { command: 'echo on; sleep 600', why: 'stopped after 0.2 minutes in all', output: ['on'] },
        { command: 'true', why: 'not run: 0.2 minutes were over' },
      ],
    });
  });

  test('cut short, it stops what runs and leaves no tree, no process and no lease', async () => {
    const stop = new AbortController();
    const ended: TriedCommand[] = [];
    const proposals = [
      { ecosystem: 'a', from: ['a'], tool: 'sh', setup: [], commands: ['sleep 600', 'true'] },
    ];
    const found = { sha: here.git('rev-parse', 'HEAD'), proposals };
    const tried = await tryGateOnce(here.context, found, {
      minutes: 5,
      signal: stop.signal,
      onStart: () => stop.abort(),
      onEnd: (one) => ended.push(one),
    });
    expect([tried, ended]).toEqual([[], []]);
    const store = (await here.context.reading())!;
    expect(await store.processes()).toEqual([]);
    expect(await store.leases()).toEqual([]);
    const { workspaces } = await here.context.tools();
    expect(await workspaces.removeAbandonedTrees(true)).toEqual([]);
    expect(readdirSync(here.root)).not.toContain('node_modules');
  });
});

test('a person may take what failed: its setup comes with it, and it is not called left out', () => {
  const proposals = [{ ecosystem: 'npm', from: ['p'], tool: 'npm', setup: ['npm ci'], commands: ['a', 'b'] }];
  const tried: TriedCommand[] = [
    { command: 'npm ci', outcome: 'pass', why: null, output: [], durationMs: 1 },
    { command: 'a', outcome: 'fail', why: 'failed: exit 1', output: [], durationMs: 1 },
    { command: 'b', outcome: 'pass', why: null, output: [], durationMs: 1 },
  ];
  const choice = chooseGate({ sha: 'x', proposals }, tried, (command) => command === 'a');
  expect(choice).toEqual({ setup: ['npm ci'], gate: ['a'], leftOut: [], from: ['p'] });
});
