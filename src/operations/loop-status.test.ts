/** What a loop cost, and how its phases are drawn. */
import { expect, test } from 'vitest';
import { MINUTE, openedRepository } from '../../test/support/opened-repository.ts';
import { TEXT } from '../cli/text.ts';
import { perform } from '../operations.ts';
import { taskLease, type UsageDelta } from '../store/store.ts';

const here = openedRepository();
const started = () => perform(here.context, 'loop.start', { goal: 'Tidy up.', name: 'tidy' });
const shown = () => perform(here.context, 'loop.show', { loop: 'tidy' });

test('usage is told of each session and of each role with each model; both add up to what the loop spent (loops 40)', async () => {
  const { task } = await started();
  const store = await here.context.writing();
  const lease = (await store.acquireLease(taskLease(task), 'me', here.context.now(), MINUTE, () => false))!;
  const used = (role: UsageDelta['role'], sessionId: string, model: string, key: string): UsageDelta => ({
    ...{ task, turn: 1, role, sessionId, model, key, at: here.context.now() },
    ...{ input: 1, output: 10, reasoning: 100, cacheRead: 1000, cacheWrite: 10_000, costUsd: 0.5 },
  });
  const all = [
    used('coder', 's1', 'big', 'a'),
    used('coder', 's1', 'big', 'b'),
    used('coder', 's1', 'small', 'c'),
    used('auditor', 's2', 'big', 'd'),
    used('coder', 's3', 'big', 'e'),
  ];
  await store.addUsage(lease, all);
  await store.addUsage(lease, all);

  const { usage, cost, task: view } = await shown();
  expect(usage.map(({ role, sessionId, model, messages }) => [role, sessionId, model, messages])).toEqual([
    ['coder', 's1', 'big', 2],
    ['coder', 's1', 'small', 1],
    ['auditor', 's2', 'big', 1],
    ['coder', 's3', 'big', 1],
  ]);
  expect(cost).toEqual([
    {
      ...{ role: 'coder', model: 'big', sessions: 2, messages: 3, costUsd: 1.5 },
      ...{ input: 3, output: 30, reasoning: 300, cacheRead: 3000, cacheWrite: 30_000 },
    },
    expect.objectContaining({ role: 'coder', model: 'small', sessions: 1, messages: 1 }),
    expect.objectContaining({ role: 'auditor', model: 'big', sessions: 1, messages: 1 }),
  ]);
  const total = (lines: readonly { costUsd: number | null }[]) =>
    lines.reduce((sum, { costUsd }) => sum + (costUsd ?? 0), 0);
  expect([total(usage), total(cost)]).toEqual([view.costUsd, view.costUsd]);
});

test('a goal alone has one audit: its graph has no other, and it counts no milestones', async () => {
  await started();
  const terminal = { paint: new Proxy({}, { get: () => (text: string) => text }), columns: null };
  const text = TEXT['loop.show'](await shown(), terminal as Parameters<(typeof TEXT)['loop.show']>[1]);
  expect(text).toContain('coding ──0─▶ auditing ──0─▶ done');
  expect(text).not.toMatch(/final_auditing|next milestone/);
  expect(text).toContain('`forge-loop loop restart tidy --force` cancels it first');
  const loops = await perform(here.context, 'loop.list', { all: false });
  expect(TEXT['loop.list'](loops, terminal as Parameters<(typeof TEXT)['loop.list']>[1])).not.toContain(
    '0/0',
  );
});
