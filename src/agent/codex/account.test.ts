import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { PassThrough } from 'node:stream';
import { expect, onTestFinished, test } from 'vitest';
import type { Dialogue } from '../../process/dialogue.ts';
import type { TurnHooks, TurnRequest, UsageReport } from '../agent.ts';
import { codexAccount } from './account.ts';
import { talk } from './conversation.ts';
import { brokeOff } from './failure.ts';
import { codexHome, recordedTotals } from './thread.ts';

const total = (calls: number) => ({
  inputTokens: 100 * calls,
  cachedInputTokens: 0,
  cacheWriteInputTokens: 0,
  outputTokens: 10 * calls,
  reasoningOutputTokens: 0,
});

const scratch = async () => {
  const dir = await mkdtemp(join(tmpdir(), 'forge-codex-account-'));
  onTestFinished(() => rm(dir, { recursive: true, force: true }));
  return dir;
};

/**
 * As codex-cli 0.163.0 told it: a thread hands work to a subagent with `fork_context`, so that one begins with all that
 * was said, and with none of what was used. Input, cached, output and reasoning so far, in the order they came.
 */
const [THREAD, SUBAGENT] = ['01a1f52c-3760-7c80-bdf7-27229300dce7', '01a1f52c-386a-7642-b1d7-888b10c745aa'];
const TOLD: [thread: string, input: number, cached: number, output: number, reasoning: number][] = [
  [THREAD, 16, 5, 9, 2],
  [THREAD, 32, 10, 18, 4],
  [SUBAGENT, 16, 5, 302, 2],
  [THREAD, 48, 15, 27, 6],
  [SUBAGENT, 32, 10, 804, 4],
  [THREAD, 64, 20, 36, 8],
];
const ON_WIRE = TOLD.map(
  ([threadId, inputTokens, cachedInputTokens, outputTokens, reasoningOutputTokens]) => {
    const count = {
      inputTokens,
      cachedInputTokens,
      cacheWriteInputTokens: 0,
      outputTokens,
      reasoningOutputTokens,
    };
    const tokenUsage = {
      total: { totalTokens: inputTokens + outputTokens, ...count },
      modelContextWindow: 258_400,
    };
    return { method: 'thread/tokenUsage/updated', params: { threadId, turnId: 't', tokenUsage } };
  },
);
const IN_RECORD = TOLD.map(([thread, input_tokens, cached_input_tokens, output_tokens, reasoning]) => {
  const count = { input_tokens, cached_input_tokens, output_tokens, reasoning_output_tokens: reasoning };
  const total_token_usage = {
    ...count,
    cache_write_input_tokens: 0,
    total_tokens: input_tokens + output_tokens,
  };
  return { thread, payload: { type: 'token_count', info: { total_token_usage } } };
});

/** A server that answers what begins a turn, and then says this. */
function saying(messages: readonly object[]): Dialogue {
  const [stdin, stdout] = [new PassThrough(), new PassThrough()];
  const say = (message: object) => void stdout.write(`${JSON.stringify(message)}\n`);
  const answers = new Map<string, object>([
    ['initialize', {}],
    ['thread/start', { thread: { id: THREAD }, model: 'm' }],
    ['turn/start', { turn: { id: 't' } }],
  ]);
  createInterface({ input: stdin }).on('line', (line) => {
    const { id, method } = JSON.parse(line) as { id?: number; method: string };
    if (id !== undefined) say({ id, result: answers.get(method) });
    if (method === 'turn/start') for (const message of messages) say(message);
  });
  return { stdin, stdout } as unknown as Dialogue;
}

test('what a subagent used is told once, beside what its parent used, on the wire and in the record (loops 41)', async () => {
  const sessionDir = await scratch();
  const reports: UsageReport[] = [];
  const account = await codexAccount(
    { sessionDir, number: 1 },
    {},
    () => 'm',
    (report) => reports.push(report),
  );
  const turn = {
    sessionDir,
    cwd: sessionDir,
    prompt: 'Go.',
    resume: false,
    access: { tools: 'work', sandbox: 'none', writeRoots: [] },
    policy: { mcp: [], model: null, effort: null },
  };
  const over = { threadId: THREAD, turn: { id: 't', status: 'completed', error: null } };
  const server = saying([...ON_WIRE, { method: 'turn/completed', params: over }]);
  const hooks = { onProgress: () => {} } as unknown as TurnHooks;
  const ending = await talk(server, turn as unknown as TurnRequest, hooks, account, () => {}).over;
  expect(ending).toMatchObject({ status: 'completed', usageKnown: true });
  const call = { input: 11, cacheRead: 5, cacheWrite: 0, reasoning: 2 };
  const outputs = [7, 7, 300, 7, 500, 7];
  expect(reports).toMatchObject(outputs.map((output) => ({ ...call, output })));
  expect(new Set(reports.map(({ key }) => key)).size).toBe(outputs.length);

  const records = join(codexHome(sessionDir), 'sessions');
  await mkdir(records, { recursive: true });
  for (const one of [THREAD, SUBAGENT]) {
    const lines = IN_RECORD.filter(({ thread }) => thread === one).map(({ payload }) =>
      JSON.stringify({ type: 'event_msg', payload }),
    );
    await writeFile(join(records, `rollout-2026-11-19T18-56-46-${one}.jsonl`), `${lines.join('\n')}\n`);
  }
  const recorded = await recordedTotals(sessionDir);
  expect(recorded).toHaveLength(TOLD.length);
  for (const { thread, total } of recorded) account.see(thread, total);
  expect(reports).toHaveLength(outputs.length);
});

test('a runner that lost its session to another takes nothing back of what that one wrote', async () => {
  const sessionDir = await scratch();
  const told: number[] = [];
  const begin = (number: number) =>
    codexAccount(
      { sessionDir, number },
      {},
      () => 'm',
      ({ input }) => void told.push(input),
    );
  const old = await begin(1);
  old.see('t', total(1));
  const again = await begin(1);
  for (const calls of [1, 2]) again.see('t', total(calls));
  await again.settle();
  await old.settle();
  const next = await begin(2);
  next.see('t', total(3));
  await next.settle();
  await old.settle();
  (await begin(3)).see('t', total(4));
  expect(told).toEqual([100, 100, 100, 100, 100]);
});

test.each([
  [{ responseStreamDisconnected: { httpStatusCode: null } }, true],
  [{ httpConnectionFailed: { httpStatusCode: null } }, true],
  [{ responseStreamDisconnected: { httpStatusCode: 200 } }, true],
  [{ responseTooManyFailedAttempts: { httpStatusCode: 503 } }, false],
  ['serverOverloaded', false],
  [null, false],
])('what was answered broke off: %j is %s', (codexErrorInfo, expected) => {
  expect(brokeOff({ message: 'x', codexErrorInfo })).toBe(expected);
});

test('what a person used between two turns is told once, and the next turn begins where they ended', async () => {
  const sessionDir = await mkdtemp(join(tmpdir(), 'forge-codex-account-'));
  onTestFinished(() => rm(sessionDir, { recursive: true, force: true }));
  const told: string[] = [];
  const begin = (number: number) =>
    codexAccount(
      { sessionDir, number },
      {},
      () => 'm',
      ({ input }) => void told.push(`${number}: ${input}`),
    );
  const turn = await begin(2);
  turn.see('t', total(1));
  await turn.settle();
  for (const calls of [3, 4]) {
    const person = await begin(0);
    person.see('t', total(calls));
    await person.settle();
  }
  // A turn that is run again under its number after that does not tell it again.
  for (const number of [2, 3]) (await begin(number)).see('t', total(5));
  expect(told).toEqual(['2: 100', '0: 200', '0: 100', '2: 100', '3: 100']);
});
