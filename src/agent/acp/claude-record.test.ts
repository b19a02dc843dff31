import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { IDLE_POLICY } from '../../../test/support/agent-stage.ts';
import type { TurnRequest } from '../agent.ts';
import { claudeRecorder } from './claude-record.ts';

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
