/** Which model a turn is asked of, after which failures. */
import { describe, expect, test } from 'vitest';
import { awaiting, running } from '../../../test/support/play.ts';
import { testPolicy } from '../../../test/support/policy.ts';
import { asking, fallback } from './models.ts';

const { coder } = testPolicy().agents;
const agent = { ...coder, model: 'big', fallbackModels: ['middle', 'small'] };

test.each([
  ['overload', 0, 'big'],
  ['overload', 1, 'middle'],
  ['model_unavailable', 2, 'small'],
  ['overload', 7, 'small'],
  ['crashed', 1, 'middle'],
  ['network', 1, 'big'],
  ['usage_limit', 2, 'big'],
  [null, 2, 'big'],
])('after %s, %i in a row: %s', (code, failures, model) => {
  expect(asking(agent, fallback('coder', agent, code, failures).fallback).model).toBe(model);
});

test('without fallback models, or with fewer than there were, the role’s own is asked', () => {
  expect(fallback('coder', coder, 'overload', 2)).toEqual({});
  expect(asking({ ...agent, fallbackModels: [] }, 2).model).toBe('big');
});

describe('in a task', () => {
  const { agents } = testPolicy();
  const policy = { agents: { ...agents, coder: agent, critic: agent } };

  test('a coder that is overloaded goes on in its session with the next model, and later with its own (loops 49)', () => {
    const play = running(policy)
      .turn('failed', { code: 'overload', message: 'busy' })
      .checkpoint('c1')
      .wait(20_000);
    expect(play.run()).toMatchObject({ kind: 'turn', turn: 1, sessionId: 's1', fallback: 1 });
    play.worked('c2', 'fail');
    expect(play.run()).toMatchObject({ turn: 2, sessionId: 's1' });
    expect(play.run()).not.toHaveProperty('fallback');
  });

  test('a critic too', () => {
    const play = awaiting(policy).turn('failed', { code: 'overload', message: 'busy' }).wait(20_000);
    expect(play.run()).toMatchObject({ role: 'critic', fallback: 1 });
    play.critic({ verdict: 'APPROVE', findings: [] });
    expect(play.task.roles.critic).toMatchObject({ failed: 0, last: null });
  });
});
