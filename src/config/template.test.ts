import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { DEFAULT_PROMPTS } from '../core/words/prompts.ts';
import { detectGate } from './detect-gate.ts';
import { loadSettings } from './load.ts';
import { type TemplateChoices, workflowTemplate } from './template.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'template-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe('workflowTemplate', () => {
  function load(choices: TemplateChoices) {
    const file = join(folder, 'WORKFLOW.md');
    writeFileSync(file, workflowTemplate(choices));
    return loadSettings(file, {});
  }

  test('loads without a warning and says what was chosen', () => {
    const command = `my-agent --say "it's: #1"`;
    const settings = load({
      gateSetup: ['npm ci'],
      gateCommands: ['npm test', 'npm run lint -- "a: b"'],
      agentKind: 'command',
      agentCommand: command,
    });
    expect(settings.warnings).toEqual([]);
    expect(settings.policy.agents.coder).toMatchObject({ kind: 'command', command });
    expect(settings.policy.gate).toMatchObject({
      setup: ['npm ci'],
      commands: ['npm test', 'npm run lint -- "a: b"'],
    });
    expect(settings.prompts.task).toBe(DEFAULT_PROMPTS.task.trimEnd());
  });

  test('loads without a warning when nothing is known, and does not pretend to have a gate', () => {
    const settings = load({ gateCommands: [], agentKind: 'command', agentCommand: null });
    expect(settings.warnings).toEqual([]);
    expect(settings.policy.gate.commands).toEqual([]);
    expect(settings.policy.agents.coder.command).toBeNull();
  });

  test.each(['main', 'release/1.x', 'on', '#1: "x"'])('says that work lands on %s', (trunk) => {
    for (const tracker of ['local', 'github'] as const) {
      const settings = load({ gateCommands: ['true'], agentKind: 'claude', tracker, trunk });
      expect(settings.warnings).toEqual([]);
      expect(settings.tracker).toMatchObject({ kind: tracker, trunk });
    }
  });

  test('names the script of a scripted agent', () => {
    const settings = load({ gateCommands: ['true'], agentKind: 'scripted', agentScript: 'agent.yaml' });
    expect(settings.warnings).toEqual([]);
    expect(settings.policy.agents.coder).toMatchObject({
      kind: 'scripted',
      script: join(folder, 'agent.yaml'),
    });
    expect(load({ gateCommands: [], agentKind: 'scripted' }).warnings).toEqual([]);
  });
});

describe('detectGate', () => {
  const node = (scripts: object, more: object = {}) => JSON.stringify({ scripts, ...more });

  test.each<[string, Record<string, string>, string[], string[]]>([
    [
      'npm with a lockfile',
      { 'package.json': node({ test: 'vitest' }), 'package-lock.json': '{}' },
      ['npm ci'],
      ['npm test'],
    ],
    [
      'pnpm',
      { 'package.json': node({ test: 'vitest' }), 'pnpm-lock.yaml': '' },
      ['pnpm install --frozen-lockfile'],
      ['pnpm test'],
    ],
    ['yarn', { 'package.json': node({ test: 'vitest' }), 'yarn.lock': '' }, ['yarn install'], ['yarn test']],
    ['npm without dependencies', { 'package.json': node({ test: 'node --test' }) }, [], ['npm test']],
    [
      'npm without a lockfile',
      { 'package.json': node({ test: 'x' }, { devDependencies: { x: '1' } }) },
      ['npm install'],
      ['npm test'],
    ],
    ['Cargo', { 'Cargo.toml': '[package]' }, [], ['cargo test']],
    ['Go', { 'go.mod': 'module x' }, [], ['go test ./...']],
    ['pytest', { 'pyproject.toml': '[tool.pytest.ini_options]' }, [], ['python -m pytest']],
    [
      'pytest with uv',
      { 'pyproject.toml': 'dev = ["pytest"]', 'uv.lock': '' },
      ['uv sync'],
      ['uv run pytest'],
    ],
    ['make', { Makefile: 'build:\n\tcc x.c\ntest: build\n\t./x\n' }, [], ['make test']],
    [
      'two tools, and a Makefile that wraps them',
      { 'go.mod': '', 'Cargo.toml': '', Makefile: 'test:\n' },
      [],
      ['cargo test', 'go test ./...'],
    ],
  ])('proposes what %s has', (_what, files, setup, commands) => {
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
    expect(detectGate(folder, new Set(Object.keys(files)))).toMatchObject({ setup, commands });
  });

  test.each([
    ['package-lock.json', 'npm install', 'npm test'],
    ['pnpm-lock.yaml', 'pnpm install', 'pnpm test'],
  ])('a %s that git does not track is not asked for', (lockfile, setup, command) => {
    const manifest = node({ test: 'vitest' }, { devDependencies: { vitest: '1' } });
    writeFileSync(join(folder, 'package.json'), manifest);
    writeFileSync(join(folder, lockfile), '');
    expect(detectGate(folder, new Set())).toMatchObject({ setup: [setup], commands: [command] });
  });

  test.each<[string, Record<string, string>]>([
    ['an empty folder', {}],
    ['a package without a test script', { 'package.json': node({ build: 'tsc' }) }],
    [
      'the test script that npm init writes',
      { 'package.json': node({ test: 'echo "Error: no test specified" && exit 1' }) },
    ],
    ['a package.json that is not JSON', { 'package.json': '{' }],
    ['a package.json that is not a map', { 'package.json': 'null' }],
    ['a Python project without a test tool', { 'pyproject.toml': '[project]' }],
    ['a Makefile without a test target', { Makefile: 'build:\n' }],
  ])('proposes nothing for %s', (_what, files) => {
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
    expect(detectGate(folder, new Set(Object.keys(files)))).toEqual({ setup: [], commands: [], from: [] });
  });
});
