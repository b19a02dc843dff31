import { expect, test } from 'vitest';
import type { UsageReport } from './agent.ts';
import { usageMeter } from './usage-meter.ts';

const usage = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, reasoning: 0 };

test('totals become deltas; nothing new, or less than before, is not told', () => {
  const told: UsageReport[] = [];
  const meter = usageMeter('m', (report) => told.push(report));
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
  for (let run = 0; run < 2; run++) {
    const meter = usageMeter('m', (report) => told.push(report));
    meter({ usage: { ...usage, input: 10 }, costUsd: null });
    meter({ usage: { ...usage, input: 20 }, costUsd: null });
  }
  expect(new Set(told.map(({ key }) => key)).size).toBe(4);
});

test('an unknown cost is null, never 0', () => {
  const told: UsageReport[] = [];
  usageMeter('m', (report) => told.push(report))({ usage: { ...usage, output: 1 }, costUsd: null });
  expect(told).toMatchObject([{ ...usage, model: 'm', output: 1, costUsd: null }]);
});
