import { describe, expect, test } from 'vitest';
import { dirty, IN, planOf, started } from '../../../test/support/plan-play.ts';
import type { Policy } from '../policy.ts';
import { iterationText } from '../words/plan-text.ts';
import { type PlanLimits, policyFor, whyNotSandbox } from './limits.ts';

const given = (limits: PlanLimits) => ({ limits });

test('a plan ends by its own cap of iterations, and its coder is told of it', () => {
  const play = IN.auditing({ loop: { maxIterations: 9 } }, given({ maxIterations: 2 })).audit(dirty());
  expect(iterationText(play.task.plan!, policyFor(play.task, play.policy))).toBe('iteration 2 (at most 2)');
  play.worked('c2').audit(dirty());
  expect(play.task).toMatchObject({ reason: 'max_iterations' });
  expect(play.task.why).toMatch(/^2 of 2 iterations used/);
});

test('0 is no limit, also where the settings have one', () => {
  const play = IN.auditing({ loop: { maxIterations: 1 } }, given({ maxIterations: 0 })).audit(dirty());
  expect(play.task.state).toBe('running');
});

test('a milestone ends by its own turns', () => {
  const play = started(planOf('Schema'), { maxTurns: 9 }, given({ maxTurns: 2 }));
  play.worked('c1', 'fail').worked('c2', 'fail');
  expect(play.task).toMatchObject({ reason: 'max_turns_reached' });
});

test('it spends what it was allowed, more or less than the settings allow', () => {
  const spent = (budgetUsd: number) =>
    IN.coding({ budget: { usd: 5 } }, given({ budgetUsd })).change({ spend: { costUsd: 6, tokens: 0 } }).task;
  expect(spent(10).state).toBe('running');
  expect(spent(4)).toMatchObject({ state: 'abandoned', reason: 'budget_exhausted' });
});

test('a restart keeps them, and what was not given is as the settings say', () => {
  const play = IN.coding({}, given({ maxTurns: 3 }))
    .ask('cancel')
    .restart();
  expect(policyFor(play.task, play.policy)).toEqual({ ...play.policy, maxTurns: 3 });
});

const SANDBOX = { image: 'node:24', read: [], network: [], trusted: [] };

describe('a sandbox of its own', () => {
  test.each([
    ['none', 'bwrap', null],
    ['none', 'srt', null],
    ['auto', 'required', null],
    ['required', 'bwrap', null],
    ['required', 'container', null],
    ['bwrap', 'bwrap', null],
    ['auto', 'srt', 'WORKFLOW.md says `sandbox: auto`'],
    ['required', 'srt', 'WORKFLOW.md says `sandbox: required`'],
    ['bwrap', 'srt', 'WORKFLOW.md says `sandbox: bwrap`'],
    ['container', 'required', 'WORKFLOW.md says `sandbox: container`'],
  ] as const)('where the settings say %s, %s: %s', (kind, own, why) => {
    const found = whyNotSandbox({ ...SANDBOX, kind }, own);
    if (why === null) expect(found).toBe(null);
    else expect(found).toContain(why);
  });

  test('a container needs an image', () => {
    expect(whyNotSandbox({ ...SANDBOX, kind: 'none', image: null }, 'container')).toBe(
      'sandbox.image is not set',
    );
  });

  test('is kept by a restart, and gives way to settings that have become stricter', () => {
    const play = IN.coding({}, given({ sandbox: 'required' }))
      .ask('cancel')
      .restart();
    const { policy } = play;
    const having = (kind: Policy['sandbox']['kind']) =>
      policyFor(play.task, { ...policy, sandbox: { ...policy.sandbox, kind } }).sandbox;
    expect(having('auto')).toMatchObject({ kind: 'required', isOwn: true });
    expect(having('none')).toMatchObject({ kind: 'required', isOwn: true });
    expect(having('bwrap')).toEqual({ ...policy.sandbox, kind: 'bwrap' });
  });
});
