import { expect, test } from 'vitest';
import { testPolicy } from '../../test/support/policy.ts';
import { event } from './event.ts';
import type { Evidence } from './gate.ts';
import type { Policy } from './policy.ts';
import { afterTrials, gateHold, isTrialDue, type Trial, trialDigest, whyUntried } from './trial.ts';

const withGate = (commands: Policy['gate']['commands']): Policy => {
  const policy = testPolicy();
  return { ...policy, gate: { ...policy.gate, commands } };
};
const policy = withGate(['npm test']);
const trial = (tree: string, outcome: Trial['outcome'] = 'pass'): Trial => ({
  tree,
  digest: trialDigest(policy.gate),
  outcome,
  detail: outcome === 'pass' ? '' : '`npm test` command not found (exit 127)',
});

test('a gate is due on each trunk it was not tried on, and again when its commands or setup change', () => {
  expect(isTrialDue([], 't1', policy)).toBe(true);
  expect(isTrialDue([trial('t1')], 't1', policy)).toBe(false);
  expect(isTrialDue([trial('t1')], 't2', policy)).toBe(true);
  const env = { ...policy.gate.env, homeEntries: ['.rustup'] };
  expect(isTrialDue([trial('t1')], 't1', { ...policy, gate: { ...policy.gate, env } })).toBe(true);
  expect(isTrialDue([trial('t1')], 't1', withGate(['npm run check']))).toBe(true);
  expect(isTrialDue([trial('t1', 'could_not_run')], 't1', policy), 'it may be able to by now').toBe(true);
  const patient = { ...policy, gate: { ...policy.gate, timeoutMs: policy.gate.timeoutMs * 2 } };
  expect(isTrialDue([trial('t1')], 't1', patient)).toBe(true);
  const installed = { ...policy, gate: { ...policy.gate, setup: ['npm ci'] } };
  expect(isTrialDue([trial('t1')], 't1', installed)).toBe(true);
});

test.each(['none', []] as const)('with %j there is nothing to try', (commands) => {
  const without = withGate(commands as Policy['gate']['commands']);
  expect(isTrialDue([], 't1', without)).toBe(false);
});

test('`gate: none` needs no trial; an empty gate lets no turn start', () => {
  expect(whyUntried([], withGate('none'), 't1')).toBeNull();
  expect(whyUntried([], withGate([]), 't1')).toContain('gate.commands is empty');
  expect(gateHold([], withGate([]))).toMatchObject({ reason: 'gate_empty' });
});

test('an empty gate that may be empty lets turns start, since its work waits for a person', () => {
  const without = withGate([]);
  const symphonys = { ...without, gate: { ...without.gate, mayBeEmpty: true } };
  expect(whyUntried([], symphonys, 't1')).toBeNull();
  expect(gateHold([], symphonys)).toBeNull();
});

test('work begins on a trunk the gate was tried on, red or green', () => {
  expect(whyUntried([trial('t1')], policy, 't2')).toContain('running the gate on trunk');
  expect(whyUntried([trial('t1')], policy, 't1')).toBeNull();
  expect(whyUntried([trial('t1', 'fail')], policy, 't1')).toBeNull();
  expect(whyUntried([trial('t1', 'could_not_run')], policy, 't1')).toBe('the gate could not run on trunk');
});

test('work that has begun goes on while trunk moves, unless the gate could not run when it was last tried', () => {
  expect(whyUntried([trial('t1')], policy)).toBeNull();
  expect(whyUntried([trial('t1'), trial('t2', 'could_not_run')], policy)).toContain('could not run');
});

test('only what waits for a person is a hold, which says what could not run, once for all tasks', () => {
  expect(gateHold([], policy)).toBeNull();
  expect(gateHold([trial('t1', 'fail')], policy)).toBeNull();
  expect(gateHold([trial('t1', 'could_not_run')], policy)).toEqual({
    reason: 'gate_could_not_run',
    detail: 'the gate could not run on trunk: `npm test` command not found (exit 127)',
  });
});

test('other settings of the gate, its patience among them, release what held it', () => {
  const held = [trial('t1', 'could_not_run')];
  for (const other of [{ timeoutMs: policy.gate.timeoutMs * 2 }, { setup: ['npm ci'] }, { commands: ['x'] }])
    expect(gateHold(held, { ...policy, gate: { ...policy.gate, ...other } })).toBeNull();
});

test('the newest trial of a tree counts; a person’s resume forgets those that could not run', () => {
  const { tree, ...rest } = trial('t1', 'could_not_run');
  const tried = event('gate_tried', { tree, ...rest, sha: 'c1', durationMs: 5 });
  const again = event('gate_tried', { ...trial('t1'), sha: 'c1', durationMs: 5 });
  expect(afterTrials([], [tried])).toEqual([trial('t1', 'could_not_run')]);
  expect(afterTrials([], [tried, again])).toEqual([trial('t1')]);
  // As a person asks now, and as older databases have it.
  for (const type of ['gate_retry_requested', 'gate_trials_forgotten'] as const)
    expect(afterTrials([trial('t0')], [tried, event(type, { by: 'eva' })])).toEqual([trial('t0')]);
});

test('a candidate that passed counts for the trunk it becomes; a work tree, or what did not pass, for nothing', () => {
  const evidence = (more: Partial<Evidence> = {}): Evidence => ({
    tree: 't9',
    outcome: 'pass',
    results: [],
    at: 1,
    trial: trialDigest(policy.gate),
    ...more,
  });
  const on = (scope: 'work' | 'candidate', found: Evidence) =>
    afterTrials([], [event('gate_completed', { scope, evidence: found })]);
  expect(on('candidate', evidence())).toEqual([trial('t9')]);
  expect(on('work', evidence())).toEqual([]);
  expect(on('candidate', evidence({ outcome: 'fail' }))).toEqual([]);
  const { trial: _, ...old } = evidence();
  expect(on('candidate', old)).toEqual([]);
});

test('so many are kept', () => {
  const events = Array.from({ length: 30 }, (_, n) =>
    event('gate_tried', { ...trial(`t${n}`), sha: `c${n}`, durationMs: 1 }),
  );
  const kept = afterTrials([], events);
  expect(kept).toHaveLength(20);
  expect(kept.at(-1)?.tree).toBe('t29');
});
