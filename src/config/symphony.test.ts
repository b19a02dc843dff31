import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ConfigError } from '../errors.ts';
import { loadSettings, type Settings } from './load.ts';

const SYMPHONYS = readFileSync(new URL('../../test/fixtures/symphony-workflow.md', import.meta.url), 'utf8');

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'forge symphony '));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function load(text: string): Settings {
  const file = join(folder, 'WORKFLOW.md');
  writeFileSync(file, text);
  return loadSettings(file, { HOME: '/home/ann' });
}

const matter = (...lines: string[]): string => `---\n${lines.join('\n')}\n---\nDo it.\n`;
const warned = ({ warnings }: Settings): Record<string, string> =>
  Object.fromEntries(warnings.map(({ key, message }) => [key, message.replace(/^.*?WORKFLOW\.md:/, '')]));

describe('a WORKFLOW.md written for Symphony', () => {
  const edited = SYMPHONYS.replace('kind: linear', 'kind: github');

  test('symphony 16: needs one edit, its tracker, and is told which', () => {
    expect(() => load(SYMPHONYS)).toThrow(ConfigError);
    let refused: ConfigError | null = null;
    try {
      load(SYMPHONYS);
    } catch (error) {
      refused = error as ConfigError;
    }
    const { problems, message, hint } = refused!;
    expect(message.split('\n'), 'the one error').toEqual([
      expect.stringMatching(/WORKFLOW\.md:3: tracker\.kind: /),
    ]);
    expect(hint).toMatch(/\d+ warnings: run `forge-loop doctor`$/);
    expect(problems.filter(({ level }) => level === 'error')).toMatchObject([
      { key: 'tracker.kind', line: 3, hint: expect.stringContaining('`kind: github` or `kind: local`') },
    ]);
    expect(() => load(edited)).not.toThrow();
  });

  test('symphony 16: what means the same is read as ours', () => {
    const { policy, workflow } = load(edited);
    expect(workflow).toMatchObject({
      polling: { interval_ms: 15_000 },
      workspace: { root: '/home/ann/symphony/billing' },
      server: { port: 4000, bind: '127.0.0.1' },
    });
    expect(policy).toMatchObject({ maxConcurrent: 4, maxTurns: 12, maxBackoffMs: 120_000 });
    expect(policy.agents.coder).toMatchObject({
      kind: 'codex',
      command: 'codex --config model_reasoning_effort=high app-server',
      turnTimeoutMs: 1_800_000,
      stallTimeoutMs: 0,
    });
    expect(policy.hooks).toMatchObject({
      afterCreate: 'set -eu\n:\nnpm ci\n',
      beforeRun: 'docker compose up -d database\n',
      afterRun: 'docker compose stop database',
      beforeRemove: 'docker compose down --volumes\n',
      timeoutMs: 300_000,
    });
  });

  test('symphony 16: nothing is passed over in silence', () => {
    expect(warned(load(edited))).toEqual({
      gate: expect.stringContaining('"gate" is not set: finished work waits until gate.commands says'),
      'tracker.api_key': '4: "tracker.api_key" is ignored: the token of GitHub is "tracker.provider.token"',
      'tracker.project_slug':
        '5: "tracker.project_slug" is ignored: the repository is that of `origin`, or "tracker.provider.repository"',
      'tracker.active_states': expect.stringMatching(/^6: .*"labels\.ready"/),
      'tracker.terminal_states': expect.stringMatching(/^10: .*closed/),
      'hooks.after_create': expect.stringMatching(/^17: .*`git clone` into the workspace is left out/),
      'agent.max_concurrent_agents': '27: "agent.max_concurrent_agents" is read as "agent.max_concurrent"',
      'agent.max_concurrent_agents_by_state':
        '30: "agent.max_concurrent_agents_by_state" is read as "agent.max_concurrent_by_state"',
      'agent.max_concurrent_by_state.Rework': expect.stringContaining(
        'unknown key "agent.max_concurrent_by_state.Rework" is ignored; the states are running, revising',
      ),
      'agent.kind': expect.stringContaining('"agent.kind" is not set: defaulting to codex'),
      'codex.command': '33: "codex.command" is read as "agent.command"',
      'codex.approval_policy': expect.stringMatching(/^34: .*"sandbox"/),
      'codex.thread_sandbox': expect.stringMatching(/^35: .*"sandbox"/),
      'codex.turn_sandbox_policy': expect.stringMatching(/^36: .*"sandbox"/),
      'codex.turn_timeout_ms': '38: "codex.turn_timeout_ms" is read as "agent.turn_timeout_ms"',
      'codex.read_timeout_ms': expect.stringMatching(/^39: .*two minutes/),
      'codex.stall_timeout_ms': '40: "codex.stall_timeout_ms" is read as "agent.stall_timeout_ms"',
      'server.host': '43: "server.host" is read as "server.bind"',
      observability: expect.stringMatching(/^44: .*"server\.port"/),
    });
  });
});

test('symphony 1: codex.command is a shell command line, kept as it is', () => {
  const line = `codex --config 'model="gpt-5.5"' app-server`;
  const given = load(matter('codex:', `  command: ${JSON.stringify(line)}`));
  expect(given.policy.agents.coder).toMatchObject({ kind: 'codex', command: line });
  expect(load(matter('agent: { kind: codex }')).policy.agents.coder.command).toBe(null);
});

test('symphony 16: a file without a gate lets turns run; ours does not', () => {
  const symphonys = load(SYMPHONYS.replace('kind: linear', 'kind: local'));
  expect(symphonys.policy.gate).toMatchObject({ commands: [], mayBeEmpty: true });
  const own = load(matter('tracker: { kind: local }'));
  expect(own.policy.gate).toMatchObject({ commands: [], mayBeEmpty: false });
  expect(warned(own).gate).toBeUndefined();
});

test('symphony 3: agent.max_retry_backoff_ms is five minutes unless it is set', () => {
  expect(load('Do it.').policy.maxBackoffMs).toBe(300_000);
  expect(load(matter('agent: { max_retry_backoff_ms: 90000 }')).policy.maxBackoffMs).toBe(90_000);
});

test('symphony 8: the limits by state normalise names and leave out what is invalid', () => {
  const given = load(matter('agent:', '  max_concurrent_by_state: { " Running ": 2, REVISING: 0, Todo: 1 }'));
  expect(given.policy.perState).toEqual({ running: 2 });
  expect(Object.keys(warned(given))).toEqual([
    'agent.max_concurrent_by_state.REVISING',
    'agent.max_concurrent_by_state.Todo',
  ]);
});

describe('symphony 16: an old name', () => {
  test.each([
    ['continuation_prompt: Go on.', 'prompts.continuation'],
    ['agent: { continuation_prompt: Go on. }', 'prompts.continuation'],
  ])('%s is read', (line, ours) => {
    const given = load(matter(line));
    expect(given.prompts.continuation).toBe('Go on.');
    expect(Object.values(warned(given)).join('\n')).toContain(`is read as "${ours}"`);
  });

  test.each(['active_states: [Todo]', 'terminal_states: [Done]'])('%s gets a suggestion', (line) => {
    expect(Object.values(warned(load(matter(line)))).join('\n')).toContain('"labels.ready"');
  });

  test('gives way to ours', () => {
    const given = load(matter('agent: { kind: codex, max_concurrent: 2 }', 'codex: { model: a }'));
    expect(given.policy).toMatchObject({ maxConcurrent: 2, agents: { coder: { model: 'a' } } });
    const both = load(matter('agent: { max_concurrent: 2, max_concurrent_agents: 5 }'));
    expect(both.policy.maxConcurrent).toBe(2);
    expect(warned(both)['agent.max_concurrent_agents']).toContain('"agent.max_concurrent" is set, too');
  });

  test('under codex that nobody knows is told; so is codex beside another agent', () => {
    expect(warned(load(matter('codex: { service_tier: fast }')))['codex.service_tier']).toContain(
      '"agent.command"',
    );
    const other = load(matter('agent: { kind: claude }', 'codex: { model: gpt-5.5 }'));
    expect(other.policy.agents.coder).toMatchObject({ kind: 'claude', model: null });
    expect(warned(other).codex).toContain('agent.kind is "claude"');
  });

  test('leaves a program of the operator’s own in place', () => {
    const given = load(matter('agent: { command: my-agent, max_concurrent_agents: 2 }'));
    expect(given.policy.agents.coder).toMatchObject({ kind: 'command', command: 'my-agent' });
  });
});

test.each([
  ['git clone git@example.com:a/b .', ':'],
  ['if true; then\n  git clone https://example.com/a "$PWD"\nfi', 'if true; then\n:\nfi'],
  ['git clone https://example.com/a tools', null],
  ['git clone https://example.com/a . && npm ci', null],
])('after_create %j', (script, expected) => {
  const given = load(matter('hooks:', `  after_create: ${JSON.stringify(script)}`));
  expect(given.policy.hooks.afterCreate).toBe(expected ?? script);
  expect(given.warnings).toHaveLength(expected === null ? 0 : 1);
});
