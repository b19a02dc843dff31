import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { codexAccount } from './account.ts';
import { brokeOff } from './failure.ts';

const total = (calls: number) => ({
  inputTokens: 100 * calls,
  cachedInputTokens: 0,
  cacheWriteInputTokens: 0,
  outputTokens: 10 * calls,
  reasoningOutputTokens: 0,
});

test('a runner that lost its session to another takes nothing back of what that one wrote', async () => {
  const sessionDir = await mkdtemp(join(tmpdir(), 'forge-codex-account-'));
  onTestFinished(() => rm(sessionDir, { recursive: true, force: true }));
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
