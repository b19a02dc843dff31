/** What a loop cost, and how its phases are drawn. */
import { expect, test } from 'vitest';
import { MINUTE, moved, openedRepository } from '../../test/support/opened-repository.ts';
import type { Terminal } from '../cli/terminal.ts';
import { TEXT } from '../cli/text.ts';
import { restKey } from '../core/cost.ts';
import { event } from '../core/event.ts';
import { perform } from '../operations.ts';
import { taskLease, type UsageDelta } from '../store/store.ts';

const here = openedRepository();
const started = () => perform(here.context, 'loop.start', { goal: 'Tidy up.', name: 'tidy' });
const terminal = { paint: new Proxy({}, { get: () => (text: string) => text }), columns: null } as Terminal;
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
    used('coder', 's3', 'big', restKey('s3')),
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
      // What was used on the side is no message of its own.
      ...{ role: 'coder', model: 'big', sessions: 2, messages: 3, costUsd: 2 },
      ...{ input: 4, output: 40, reasoning: 400, cacheRead: 4000, cacheWrite: 40_000 },
    },
    expect.objectContaining({ role: 'coder', model: 'small', sessions: 1, messages: 1 }),
    expect.objectContaining({ role: 'auditor', model: 'big', sessions: 1, messages: 1 }),
  ]);
  const total = (lines: readonly { costUsd: number | null }[]) =>
    lines.reduce((sum, { costUsd }) => sum + (costUsd ?? 0), 0);
  expect([total(usage), total(cost)]).toEqual([view.costUsd, view.costUsd]);
  expect(await perform(here.context, 'loop.list', { all: false })).toMatchObject([{ cost }]);
});

test('limits that the operator gave it hold in place of the settings, and are shown', async () => {
  here.configure('agent: { command: "true" }\ngate: none\nbudget: { usd: 5 }\nloop: { max_iterations: 8 }');
  await perform(here.context, 'loop.start', { goal: 'Plain.', name: 'plain' });
  expect(await perform(here.context, 'loop.show', { loop: 'plain' })).toMatchObject({
    maxIterations: 8,
    budgetUsd: 5,
    task: { maxTurns: 20 },
  });
  const limits = { maxIterations: 0, maxTurns: 7, budgetUsd: 2.5 };
  await perform(here.context, 'loop.start', { goal: 'Tidy up.', name: 'tidy', ...limits });
  expect(await shown()).toMatchObject({ maxIterations: null, budgetUsd: 2.5, task: { maxTurns: 7 } });
  const text = TEXT['loop.show'](await shown(), terminal);
  expect(text).toContain('$0.00 of at most $2.50');
  expect(text).toContain('(at most 7)');
});

test('the list says what the last audit came to, in a line', async () => {
  const { task } = await started();
  const store = await here.context.writing();
  const looked = async () => {
    const loops = await perform(here.context, 'loop.list', { all: false });
    return [loops[0]!.auditVerdict, TEXT['loop.list'](loops, terminal)];
  };
  expect(await looked()).toEqual([null, expect.stringMatching(/ 0 +0 +\$0\.00 /)]);
  await here.commit(
    (await store.task(task))!,
    event('phase_entered', { phase: 'auditing', milestone: 0, isFresh: false }),
    event('audit_recorded', {
      ...{ audit: 1, phase: 'auditing', milestone: 0, head: { sha: 'a', tree: 't' }, isClean: false },
      ...{ open: ['1'], summary: null, amendments: [] },
      says: '1 open bug:\n- 1 [sev2] a float',
    }),
  );
  expect(await looked()).toEqual(['1 open bug', expect.stringContaining('1: 1 open bug')]);
});

test.each([
  ['max_iterations', 'errored (failure: max_iterations)', { status: 'errored', outcome: 'failure' }],
  ['stall_timeout', 'stalled (failure: stall_timeout)', { status: 'stalled', outcome: 'failure' }],
  ['cancelled', 'cancelled (operator)', { status: 'cancelled', outcome: 'operator' }],
] as const)(
  'one that ended by %s has its status and beside it the class of its outcome (loops 14)',
  async (reason, says, view) => {
    const { task } = await started();
    expect(await shown()).toMatchObject({ status: 'running', outcome: null });
    const store = await here.context.writing();
    await here.commit((await store.task(task))!, moved('queued', 'abandoned', reason));
    expect(await shown()).toMatchObject(view);
    expect(TEXT['loop.show'](await shown(), terminal)).toContain(says);
    const loops = await perform(here.context, 'loop.list', { all: false });
    expect(loops).toMatchObject([view]);
    expect(TEXT['loop.list'](loops, terminal)).toContain(says);
  },
);

test('a goal alone has one audit: its graph has no other, and it counts no milestones', async () => {
  await started();
  const text = TEXT['loop.show'](await shown(), terminal);
  expect(text).toContain('coding ──0─▶ auditing ──0─▶ done');
  expect(text).not.toMatch(/final_auditing|next milestone/);
  expect(text).toContain('`forge-loop loop restart tidy --force` cancels it first');
  const loops = await perform(here.context, 'loop.list', { all: false });
  expect(TEXT['loop.list'](loops, terminal)).not.toContain('0/0');
});
