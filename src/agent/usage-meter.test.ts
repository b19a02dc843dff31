import { expect, test } from 'vitest';
import type { UsageReport } from './agent.ts';
import { usageMeter } from './usage-meter.ts';

const usage = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, reasoning: 0 };

const run = (change: Partial<Parameters<typeof usageMeter>[0]> = {}) => ({
  launch: 'a',
  model: 'm',
  reported: [],
  ...change,
});

test('totals become deltas; nothing new, or less than before, is not told', () => {
  const told: UsageReport[] = [];
  const meter = usageMeter(run(), (report) => told.push(report));
  meter({ usage: null, costUsd: null });
  meter({ usage: { ...usage, input: 10 }, costUsd: 0.5 });
  meter({ usage: { ...usage, input: 10 }, costUsd: 0.5 });
  meter({ usage: { ...usage, input: 4 }, costUsd: 0.1 });
  meter({ usage: { ...usage, input: 12, output: 3 }, costUsd: 0.75 });
  expect(told).toMatchObject([
    { ...usage, model: 'm', input: 10, costUsd: 0.5 },
    { ...usage, model: 'm', input: 2, output: 3, costUsd: 0.25 },
  ]);
});

test('a turn that is run again under its number repeats no key: both runs were paid for', () => {
  const told: UsageReport[] = [];
  for (const launch of ['first', 'second']) {
    const meter = usageMeter(run({ launch }), (report) => told.push(report));
    meter({ usage: { ...usage, input: 10 }, costUsd: null });
    meter({ usage: { ...usage, input: 20 }, costUsd: null });
  }
  expect(new Set(told.map(({ key }) => key)).size).toBe(4);
});

test('an unknown cost is null, never 0', () => {
  const told: UsageReport[] = [];
  usageMeter(run(), (report) => told.push(report))({ usage: { ...usage, output: 1 }, costUsd: null });
  expect(told).toMatchObject([{ ...usage, model: 'm', output: 1, costUsd: null }]);
});

test('whoever meters on tells only what is new, under keys of its own', () => {
  const told: UsageReport[] = [];
  const tell = (report: UsageReport) => told.push(report);
  usageMeter(run(), tell)({ usage: { ...usage, input: 10 }, costUsd: 0.5 });
  usageMeter(
    run({ reported: [...told] }),
    tell,
  )({ usage: { ...usage, input: 15, output: 2 }, costUsd: 0.75 });
  expect(told).toMatchObject([
    { key: 'a:1', input: 10, costUsd: 0.5 },
    { key: 'a:2', input: 5, output: 2, costUsd: 0.25 },
  ]);
});
