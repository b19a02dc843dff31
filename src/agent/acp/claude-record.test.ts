import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { IDLE_POLICY } from '../../../test/support/agent-stage.ts';
import type { TurnRequest, UsageReport } from '../agent.ts';
import { beyond, claudeRecorder } from './claude-record.ts';

const NONE = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, reasoning: 0 };
const used = (model: string, usage: object, costUsd: number | null = 0): UsageReport => ({
  key: 'k',
  model,
  ...NONE,
  ...usage,
  costUsd,
});

test.each([
  ['nothing', [used('a', { input: 5, output: 3 })], [used('a', { input: 5, output: 2, reasoning: 1 })], null],
  [
    'a title',
    [used('a', { input: 5 }), used('b', { input: 2, output: 1 })],
    [used('a', { input: 5 })],
    { model: 'b', input: 2, output: 1 },
  ],
  ['a model by another name', [used('a[1m]', { input: 5 })], [used('a', { input: 5 })], null],
  [
    'another price',
    [used('a', {}, 0.5), used('a', { input: 5 })],
    [used('a', { input: 5 }, 0.2)],
    { costUsd: 0.3, input: 0 },
  ],
  ['what it never told', [used('a', {}, 0.5)], [used('a', { input: 5 }, 0.2)], null],
])('beyond its record it counted: %s', (_, heard, recorded, expected) => {
  const rest = beyond(heard, recorded);
  if (expected === null) expect(rest).toBeNull();
  else expect(rest).toMatchObject(expected);
});

test('each message is told once, over turns; one that is not finished only when the program has ended', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'forge-claude-record-'));
  onTestFinished(() => rm(dir, { recursive: true, force: true }));
  const projects = join(dir, 'acp', 'claude', 'projects', 'p');
  await mkdir(projects, { recursive: true });
  const lines: string[] = [];
  const said = async (id: string, stop_reason: string | null) => {
    const usage = { input_tokens: 1, output_tokens: 1 };
    lines.push(
      JSON.stringify({ type: 'assistant', message: { id, model: 'm', stop_reason, usage, content: [] } }),
    );
    await writeFile(join(projects, 's.jsonl'), lines.join('\n'));
  };
  const told: string[] = [];
  const begin = (turn: number) =>
    claudeRecorder(
      { sessionDir: dir, turn, policy: IDLE_POLICY } as TurnRequest,
      join(dir, 'acp'),
      ({ key }) => told.push(key),
    );

  await said('died', 'tool_use');
  const first = await begin(1);
  expect(told).toEqual(['died']);
  await said('done', 'tool_use');
  await said('open', null);
  await first.read();
  await first.read();
  expect(told).toEqual(['died', 'done']);
  await first.close?.();
  expect(told).toEqual(['died', 'done', 'open']);
  await said('next', 'end_turn');
  await (await begin(2)).read();
  expect(told.slice(3)).toEqual(['next']);
});
