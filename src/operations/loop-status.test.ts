/** What a loop cost, and how its phases are drawn. */
import { expect, test } from 'vitest';
import { MINUTE, moved, openedRepository } from '../../test/support/opened-repository.ts';
import type { Terminal } from '../cli/terminal.ts';
import { TEXT } from '../cli/text.ts';
import { event } from '../core/event.ts';
import { restKey } from '../core/money/cost.ts';
import { writtenFinding } from '../core/plan/audit.ts';
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
  const limits = { maxIterations: 0, maxTurns: 7, budgetUsd: 2.5, sandbox: 'required' };
  await perform(here.context, 'loop.start', { goal: 'Tidy up.', name: 'tidy', ...limits });
  expect(await shown()).toMatchObject({ maxIterations: null, budgetUsd: 2.5, task: { maxTurns: 7 } });
  const text = TEXT['loop.show'](await shown(), terminal);
  expect(text).toContain('$0.00 of at most $2.50');
  expect(text).toContain('(at most 7)');
  expect(text).toMatch(/^sandbox +required$/m);
});

test('the list says what the last audit came to, in a line', async () => {
  const { task } = await started();
  const store = await here.context.writing();
  const looked = async () => {
    const loops = await perform(here.context, 'loop.list', { all: false });
    return [loops[0]!.auditVerdict, TEXT['loop.list'](loops, terminal)];
  };
  expect(await looked()).toEqual([null, expect.stringMatching(/ 0 +0\/0 +\$0\.00 /)]);
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

test('the list says what each loop cost by role and model, its findings, and how its summary begins', async () => {
  const { task } = await started();
  await perform(here.context, 'loop.start', { goal: 'Plain.', name: 'plain' });
  const store = await here.context.writing();
  const lease = (await store.acquireLease(taskLease(task), 'me', here.context.now(), MINUTE, () => false))!;
  const used = (role: UsageDelta['role'], model: string, costUsd: number | null): UsageDelta => ({
    ...{ task, turn: 1, role, sessionId: role, model, key: model, at: here.context.now() },
    ...{ input: 1, output: 10, reasoning: 0, cacheRead: 0, cacheWrite: 0, costUsd },
  });
  await store.addUsage(lease, [
    used('coder', 'big', 0.5),
    used('coder', 'small', null),
    used('auditor', 'big', 0.25),
  ]);
  const summary = '\nAll of it is done.\nNothing is left.';
  const { task: row, version } = (await store.task(task))!;
  const said = { by: 'auditor', at: 1, sha: 'c1' };
  const found = (severity: 'bug' | 'warning', n: number) => ({
    ...writtenFinding(
      { severity, file: 'a.ts', line: n, description: `float ${n}`, scenario: null },
      { task, plan: row.plan!, ledger: [] },
      said,
    ),
    id: `${task}.${n}`,
  });
  await store.commit({
    lease,
    taskId: task,
    expectedVersion: version,
    events: [event('post_action_ended', { summary, problem: null })],
    findings: [found('bug', 1), found('warning', 2), found('warning', 3)],
    at: here.context.now(),
  });
  await store.releaseLease(lease);
  const loops = await perform(here.context, 'loop.list', { all: false });
  const [head, tidy, ...below] = TEXT['loop.list'](loops, terminal).split('\n');
  expect(head).toMatch(/^LOOP +STATUS +MILESTONES +ITERATION +AUDITS +BUGS\/WARNINGS +COST +WHERE$/);
  expect(tidy).toMatch(/^tidy .* 1\/2 +≥\$0\.75 /);
  expect(below).toEqual([
    '  cost: coder big $0.50, coder small ?, auditor big $0.25',
    '  summary: All of it is done.',
    expect.stringMatching(/^plain /),
  ]);
  for (const line of TEXT['loop.list'](loops, { ...terminal, columns: 40 }).split('\n'))
    expect(line.length).toBeLessThanOrEqual(40);
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
  expect(TEXT['loop.list'](loops, terminal)).toMatch(/^tidy +queued +- +1\/20 /m);
});

test.each(['session', 'here'] as const)('in mode %s nothing is audited: its graph says so', async (mode) => {
  await perform(here.context, 'loop.start', { goal: 'Tidy up.', name: 'tidy', mode });
  const text = TEXT['loop.show'](await shown(), terminal);
  expect(text).not.toMatch(/audit|iteration/);
  expect(text).toContain('coding ──0─▶ done');
  const { task } = await shown();
  const store = await here.context.writing();
  await here.commit(
    (await store.task(task.id))!,
    moved('queued', 'dispatched'),
    moved('dispatched', 'running'),
    moved('running', 'completed'),
  );
  expect(TEXT['loop.show'](await shown(), terminal)).toContain('coding ──1─▶ done');
});
