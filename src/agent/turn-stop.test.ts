import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { IDLE_POLICY } from '../../test/support/agent-stage.ts';
import { stopTurn } from './turn-stop.ts';

const LIMIT_MS = 60_000;

describe('stopping a turn', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  function turn(cancel = new AbortController()) {
    const heard: string[] = [];
    const stop = stopTurn(
      { policy: { ...IDLE_POLICY, turnTimeoutMs: LIMIT_MS } },
      { signal: cancel.signal },
      { ask: async () => void heard.push('asked'), cut: () => void heard.push('cut') },
    );
    return { stop, heard, cancel: () => cancel.abort() };
  }

  test('it is asked to stop when its time is over', async () => {
    const { stop, heard } = turn();
    await vi.advanceTimersByTimeAsync(LIMIT_MS - 1);
    expect(heard).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(stop.result(true)).toMatchObject({ status: 'timed_out' });
    expect(heard).toEqual(['asked']);
  });

  test('whoever was asked nothing has no last words', () => {
    const cancel = new AbortController();
    cancel.abort();
    const { stop, heard } = turn(cancel);
    expect(heard).toEqual(['cut']);
    expect(stop.result(true)).toEqual({ status: 'cancelled', usageKnown: true });
  });

  test('whoever is at work is asked first, and cut off when it does not answer', async () => {
    const { heard, cancel } = turn();
    await vi.advanceTimersByTimeAsync(1);
    cancel();
    await vi.advanceTimersByTimeAsync(4_999);
    expect(heard).toEqual(['asked']);
    await vi.advanceTimersByTimeAsync(1);
    expect(heard).toEqual(['asked', 'cut']);
  });

  test('a turn that is over is neither timed out nor cut off', async () => {
    const { stop, heard, cancel } = turn();
    stop.disarm();
    cancel();
    await vi.advanceTimersByTimeAsync(LIMIT_MS * 2);
    expect(heard).toEqual([]);
    expect(stop.result(true)).toBeNull();
  });
});
