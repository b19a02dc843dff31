import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { DEFAULT_PROMPTS } from '../core/words/prompts.ts';
import { type EffectiveKey, effectiveConfig } from './effective.ts';
import { loadSettings } from './load.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'effective-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function effective(text: string, env = {}): (key: string) => EffectiveKey | undefined {
  const file = join(folder, 'WORKFLOW.md');
  writeFileSync(file, text);
  const rows = effectiveConfig(loadSettings(file, env));
  return (key) => rows.find((row) => row.key === key);
}

test('every key has its value and its origin', () => {
  const of = effective('---\nagent: { max_turns: 5 }\nroles: { critic: { model: m } }\n---\nHello\n');
  expect(of('agent.max_turns')).toEqual({ key: 'agent.max_turns', value: 5, origin: 'file' });
  expect(of('agent.max_concurrent')).toEqual({ key: 'agent.max_concurrent', value: 3, origin: 'default' });
  expect(of('tracker.trunk')).toEqual({ key: 'tracker.trunk', value: null, origin: 'default' });
  expect(of('roles.critic.model')).toEqual({ key: 'roles.critic.model', value: 'm', origin: 'file' });
  expect(of('roles.coder.model')).toBeUndefined();
  expect(of('prompts.revise')).toEqual({
    key: 'prompts.revise',
    value: DEFAULT_PROMPTS.revise,
    origin: 'default',
  });
  expect(of('body')).toEqual({ key: 'body', value: 'Hello', origin: 'file' });
});

test('"gate: none" is one key', () => {
  const of = effective('---\ngate: none\n---\n');
  expect(of('gate')).toEqual({ key: 'gate', value: 'none', origin: 'file' });
  expect(of('gate.commands')).toBeUndefined();
});

test('secrets are not shown', () => {
  const of = effective(
    `---
tracker: { provider: { token: $TOKEN } }
agent: { command: "API_KEY=hunter2 MY_TOKEN=$MY_TOKEN agent --api-key abc123 --model m sk-abcdefghijkl" }
gate: { commands: ["PASSWORD='a b' npm test"] }
env: { pass: [NPM_TOKEN], set: { RUSTFLAGS: "-D warnings", DB_PASSWORD: hunter2 } }
---
`,
    { TOKEN: 'hunter2' },
  );
  expect(of('tracker.provider')?.value).toEqual({ token: '[redacted]' });
  expect(of('agent.command')?.value).toBe(
    'API_KEY=[redacted] MY_TOKEN=$MY_TOKEN agent --api-key [redacted] --model m [redacted]',
  );
  expect(of('env.pass')?.value).toEqual(['NPM_TOKEN']);
  expect(of('env.set')?.value).toEqual({ RUSTFLAGS: '-D warnings', DB_PASSWORD: '[redacted]' });
  expect(of('gate.commands')?.value).toEqual(['PASSWORD=[redacted] npm test']);
});

test('of MCP servers no variable is shown', () => {
  const of = effective(
    '---\nmcp:\n  docs: { command: [docs, --token, sk-abcdefghijkl], env: { PLACE: $PLACE } }\nroles: { coder: { access: { mcp: [docs/search] } } }\n---\n',
    { PLACE: 'secret' },
  );
  expect(of('mcp')?.value).toEqual({
    docs: { command: ['docs', '--token', '[redacted]'], env: { PLACE: '[redacted]' } },
  });
  expect(of('roles.coder.access.mcp')?.value).toEqual(['docs/search']);
});

test('of channels neither where they are nor what they are signed with is shown', () => {
  const of = effective(
    '---\nnotify:\n  channels:\n    team: { kind: webhook, url: $HOOK, secret: $KEY, events: [merged] }\n---\n',
    { HOOK: 'https://example.org/hidden', KEY: 'hidden' },
  );
  expect(of('notify.channels')?.value).toMatchObject({
    team: { kind: 'webhook', events: ['merged'], url: '[redacted]', secret: '[redacted]' },
  });
  expect(JSON.stringify(of('notify.channels'))).not.toContain('hidden');
});
