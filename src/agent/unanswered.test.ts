import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { agentStage } from '../../test/support/agent-stage.ts';
import { hostParts } from '../../test/support/programs.ts';
import type { Agent } from './agent.ts';
import { codexAgent } from './codex/codex.ts';
import { opencodeAgent } from './opencode/opencode.ts';
import { answered, failureOfSilence } from './unanswered.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
afterEach(() => void vi.useRealTimers());

const PATIENCE_MS = 120_000;

test('what is never answered fails in time (symphony 4)', async () => {
  const failure = answered(new Promise(() => {}), 'thread/start').catch(failureOfSilence);
  await vi.advanceTimersByTimeAsync(PATIENCE_MS);
  expect(await failure).toEqual({
    code: 'unanswered',
    message: 'its program did not answer within 120 s (thread/start)',
    retryAt: null,
  });
});

test('an answer, or a refusal, is handed on, and nothing waits behind it', async () => {
  expect(await answered(Promise.resolve(7), 'x')).toBe(7);
  await expect(answered(Promise.reject(new Error('no')), 'x')).rejects.toThrow('no');
  expect(vi.getTimerCount()).toBe(0);
  expect(failureOfSilence(new Error('no'))).toBeNull();
});

const SILENT = ['/bin/sh', '-c', 'exec cat > /dev/null'];
const parts = { ...hostParts(), program: SILENT, now: Date.now };

describe.each<[string, Agent, string | null]>([
  ['codex', codexAgent({ ...parts, operator: { OPENAI_API_KEY: 'key' } }), null],
  ['opencode', opencodeAgent({ ...parts, operator: { OPENAI_API_KEY: 'key' } }), 'openai/gpt-5.2'],
])('%s', (_, agent, model) => {
  const { turnOf, watched } = agentStage({ agent, performing: async () => ({ model }) });

  test('a program that says nothing is no turn that goes on for ever (symphony 4)', async () => {
    const turn = await turnOf([]);
    const { hooks } = watched();
    const isHeld = new Promise<void>((resolve) => {
      const { onHeld } = hooks;
      hooks.onHeld = async (child) => {
        await onHeld(child);
        resolve();
      };
    });
    const result = agent.run(turn, hooks);
    await isHeld;
    await expect.poll(() => vi.getTimerCount()).toBeGreaterThan(1);
    await vi.advanceTimersByTimeAsync(PATIENCE_MS);
    expect(await result).toMatchObject({ status: 'failed', code: 'unanswered' });
  });
});
