/** What agents tell through their tools, on its way to the outcome of their turn. */
import { beforeEach, expect, test } from 'vitest';
import { memoryStore } from '../../test/support/memory-store.ts';
import { testPolicy } from '../../test/support/policy.ts';
import { claimed, commit, started } from '../../test/support/store-steps.ts';
import type { Action } from '../core/action.ts';
import { event, type NewEvent } from '../core/event.ts';
import { bornPlan } from '../core/plan/progress.ts';
import type { Role } from '../core/role.ts';
import type { Task } from '../core/task.ts';
import type { Store } from '../store/store.ts';
import type { Ports } from './ports.ts';
import { toldIn, turnTools } from './turn-tools.ts';

let store: Store;
let task: Task;
let isFull = false;
beforeEach(async () => {
  store = memoryStore();
  isFull = false;
  const stored = await claimed(store, 'a', 1);
  const plan = bornPlan({
    name: 'tidy',
    mode: 'loop',
    delivers: 'branch',
    recovery: 'manual',
    startedBy: 'ada',
    models: {},
    objective: '',
    shared: '',
    milestones: [],
  });
  task = { ...stored.task, plan };
});

const record = (one: NewEvent) => store.record({ task: task.id, events: [one], at: 0 });
const actionOf = (role: Role, sessionId = 's') =>
  ({ kind: 'turn', role, turn: 1, sessionId, prompt: 'task' }) as Extract<Action, { kind: 'turn' }>;
const activity = {
  see() {},
  note: async (one: NewEvent) => {
    if (!isFull) await record(one);
    return !isFull;
  },
  over: async () => {},
};
function toolsOf(role: Role, sessionId = 's') {
  const settings = { policy: () => testPolicy() } as Ports['settings'];
  return turnTools({ store, settings }, task, actionOf(role, sessionId), activity);
}
const bug = (description: string) => ({ severity: 'bug', description });
const told = (role: Role, sessionId?: string) => toldIn({ store }, task, actionOf(role, sessionId));

test('who has none is offered none', () => {
  expect(toolsOf('critic')).toBe(null);
});

test('what an auditor notes is in the outcome, and not in the ledger', async () => {
  const tools = toolsOf('auditor');
  expect(await tools?.call('findings_write', bug('one'))).toEqual({
    text: 'Noted as new-1.',
    isError: false,
  });
  expect(await tools?.call('findings_write', bug('two'))).toEqual({
    text: 'Noted as new-2.',
    isError: false,
  });
  await tools?.call('findings_resolve', { id: 'new-1', why: 'I was wrong' });
  expect(await told('auditor')).toMatchObject({
    notes: {
      findings: [{ description: 'one' }, { description: 'two' }],
      resolved: [{ id: 'new-1', why: 'I was wrong' }],
    },
  });
  expect(await store.findings(task.id)).toEqual([]);
});

test('an audit that is asked for again keeps its notes; one that is recorded, or another, has none', async () => {
  await toolsOf('auditor')?.call('findings_write', bug('one'));
  expect(await toolsOf('auditor')?.call('findings_write', bug('two'))).toMatchObject({
    text: 'Noted as new-2.',
  });
  expect((await told('auditor', 'other')).notes).toEqual({ findings: [], resolved: [] });
  const head = { sha: 'a', tree: 'b' };
  const nothing = { open: [], says: '', summary: null, amendments: [] };
  await record(
    event('audit_recorded', { audit: 1, phase: 'auditing', milestone: 0, head, isClean: false, ...nothing }),
  );
  expect((await told('auditor')).notes).toEqual({ findings: [], resolved: [] });
});

test('what could not be written is said to be so, and not taken for noted', async () => {
  isFull = true;
  expect(await toolsOf('auditor')?.call('findings_write', bug('one'))).toMatchObject({ isError: true });
});

test('a coder’s summary is that of this turn, with its choices', async () => {
  await toolsOf('coder')?.call('finish', { summary: 'before' });
  await commit(store, (await store.task('a'))!, [started('coder', 2)]);
  expect(await told('coder')).toEqual({});
  await toolsOf('coder')?.call('finish', { summary: 'now', choices: ['blue'] });
  expect(await told('coder')).toEqual({
    summary: { summary: 'now', tests: '', open: [], choices: ['blue'] },
  });
});
