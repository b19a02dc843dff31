import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { IDLE_POLICY } from '../../../test/support/agent-stage.ts';
import type { TurnRequest, UsageReport } from '../agent.ts';
import { claudeRecorder } from './claude-record.ts';

const TITLE = { sessionUpdate: 'session_info_update', title: 't' };

/** A transcript that grows, and the account of the turns that read it. */
async function transcript() {
  const dir = await mkdtemp(join(tmpdir(), 'forge-claude-record-'));
  onTestFinished(() => rm(dir, { recursive: true, force: true }));
  const projects = join(dir, 'acp', 'claude', 'projects', 'p');
  await mkdir(projects, { recursive: true });
  const lines: object[] = [];
  const write = async (line: object) => {
    lines.push(line);
    await writeFile(join(projects, 's.jsonl'), lines.map((one) => JSON.stringify(one)).join('\n'));
  };
  return {
    said: (id: string, stop_reason: string | null = 'end_turn') => {
      const usage = { input_tokens: 100, output_tokens: 1 };
      return write({
        type: 'assistant',
        message: { id, model: 'claude-sonnet-5', stop_reason, usage, content: [] },
      });
    },
    /** The whole session's, as Claude writes it when it ends. */
    summed: (inputTokens: number, outputTokens: number) =>
      write({
        type: 'cost-state',
        modelUsage: {
          'claude-sonnet-5': {
            ...{ inputTokens, outputTokens, cacheReadInputTokens: 0, cacheCreationInputTokens: 0 },
            costUSD: (inputTokens * 2 + outputTokens * 10) / 1e6,
          },
        },
        hasUnknownModelCost: false,
      }),
    failed: (error: object) => write({ type: 'system', subtype: 'api_error', error }),
    begin: async (number: number) => {
      const reports: UsageReport[] = [];
      const turn = { sessionDir: dir, number, policy: IDLE_POLICY } as TurnRequest;
      const recorder = await claudeRecorder(turn, join(dir, 'acp'), (one) => reports.push(one));
      return { reports, recorder };
    },
  };
}

test('a turn of a session that goes on tells its own part of the sums, and what was asked on the side', async () => {
  const { said, summed, begin } = await transcript();
  const first = await begin(1);
  await said('m1');
  await summed(100, 1);
  first.recorder.hear?.(TITLE);
  await first.recorder.close?.();
  const second = await begin(2);
  await said('m2');
  await summed(257, 4);
  second.recorder.hear?.(TITLE);
  await second.recorder.close?.();
  expect(first.reports).toMatchObject([{ key: 'm1', input: 100, output: 1 }]);
  expect(second.reports).toMatchObject([
    { key: 'm2', input: 100, output: 1 },
    { key: expect.stringMatching(/^rest:/), input: 57, output: 2, costUsd: expect.closeTo(0.000_134, 9) },
  ]);
  expect([first, second].map(({ recorder }) => recorder.isComplete())).toEqual([true, true]);
});

test.each<[string, (of: Awaited<ReturnType<typeof transcript>>) => Promise<unknown>, boolean]>([
  ['its title is still being made', ({ summed }) => summed(100, 1), false],
  ['it was killed before it wrote its sums', async () => {}, true],
  [
    'a request was lost on its way',
    async ({ failed, summed }) => {
      await failed({ connection: { code: 'ECONNRESET' } });
      await summed(100, 1);
    },
    true,
  ],
])('a turn is not known in full when %s', async (_, happen, isTitled) => {
  const file = await transcript();
  const { recorder } = await file.begin(1);
  await file.said('m1');
  await happen(file);
  if (isTitled) recorder.hear?.(TITLE);
  await recorder.close?.();
  expect(recorder.isComplete()).toBe(false);
});

test('a request that was refused with a status cost nothing', async () => {
  const { begin, failed, said, summed } = await transcript();
  const { recorder } = await begin(1);
  await failed({ status: 529 });
  await said('m1');
  await summed(100, 1);
  recorder.hear?.(TITLE);
  await recorder.close?.();
  expect(recorder.isComplete()).toBe(true);
});

test('each message is told once, over turns; one that is not finished only when the program has ended', async () => {
  const { said, begin: open } = await transcript();
  const told: string[] = [];
  const begin = async (number: number) => {
    const { recorder, reports } = await open(number);
    const note = () => void told.push(...reports.splice(0).map(({ key }) => key));
    note();
    return {
      read: () => recorder.read().then(note),
      close: () => recorder.close?.().then(note),
    };
  };

  await said('died', 'tool_use');
  const first = await begin(1);
  expect(told).toEqual(['died']);
  await said('done', 'tool_use');
  await said('open', null);
  await first.read();
  await first.read();
  expect(told).toEqual(['died', 'done']);
  await first.close();
  expect(told).toEqual(['died', 'done', 'open']);
  await said('next', 'end_turn');
  await (await begin(2)).read();
  expect(told.slice(3)).toEqual(['next']);
});
