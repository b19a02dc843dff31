/** A plan drafted from an issue: one planner's answer, and everything that can be wrong with it. */
import { describe, expect, test } from 'vitest';
import { filledPlan } from '../../../test/support/plan-play.ts';
import { Play } from '../../../test/support/play.ts';
import { NO_BUDGET, type PolicyChange } from '../../../test/support/policy.ts';
import { transition } from '../decision.ts';
import { REPEATING } from '../outcome.ts';
import { adviceText } from '../words/words.ts';
import { draftEvents } from './draft.ts';

const PLAN = filledPlan('tokens');
const contract = { title: 'Add tokens', body: 'We need tokens.', hash: 'h', criteria: [] };

function drafting(change: PolicyChange = {}): Play {
  const play = new Play(change);
  play.world.issue = null;
  play.commit(draftEvents({ issue: 7, contract, by: 'eva' }), []);
  return play.look();
}

const turns = (play: Play) => play.actionsOf('turn').map(({ role, prompt }) => `${role} ${prompt}`);

describe('the planner', () => {
  test('is asked in the slot of the task, without a workspace', () => {
    const play = drafting();
    expect(play.task).toMatchObject({ state: 'dispatched', turns: 0, workspace: null });
    expect(turns(play)).toEqual(['planner plan_draft']);
    expect(play.actionsOf('prepare_workspace')).toEqual([]);
  });

  test.each([
    ['as a text', { text: PLAN }],
    ['with words around it', { text: `Sure.\n\n${PLAN}\nThat is all.` }],
    ['as a field', { structured: { plan: PLAN }, text: 'see the plan' }],
  ])('%s: its plan is stored as a draft, and the task is completed', (_how, answer) => {
    const play = drafting().turn('finished', answer);
    expect(play.of('plan_stored')).toMatchObject([
      { name: 'tokens', status: 'draft', source: { kind: 'draft', issue: 7 }, by: 'planner' },
    ]);
    expect(play.task).toMatchObject({ state: 'completed', why: expect.stringContaining('tokens') });
    expect(play.actionsOf('reap_workspace'), 'there is none').toEqual([]);
  });

  test.each([
    ['no plan', 'I would rather talk.', 'the start marker is missing'],
    ['two plans', `${PLAN}\n${PLAN}`, 'several plans'],
    ['no end', PLAN.replace('<!-- forge-plan:end -->', ''), 'the plan has no end'],
    ['a milestone nobody can check', PLAN.replace('### Verification', '### Hopes'), '`### Verification`'],
  ])('%s: is told what is wrong, in the same session', (_what, text, problem) => {
    const play = drafting().turn('finished', { text });
    expect(turns(play)).toEqual(['planner plan_draft', 'planner plan_draft_again']);
    const [first, second] = play.actionsOf('turn');
    expect(second).toMatchObject({
      sessionId: first!.sessionId,
      priorFailure: expect.stringContaining(problem),
    });
    expect(play.turn('finished', { text: PLAN }).task.state).toBe('completed');
  });

  test('is told so twice; then the task ends with the problem', () => {
    const play = drafting().turn('finished', { text: 'no' }).turn('finished', { text: 'no' });
    expect(play.task).toMatchObject({ state: 'queued', hold: { reason: 'retry_backoff' } });
    play.wait(600_000).turn('finished', { text: 'no' });
    expect(turns(play)).toHaveLength(3);
    expect(play.task).toMatchObject({ state: 'abandoned', reason: 'spec_rejected' });
    expect(play.task.why).toContain('the start marker is missing');
    expect(adviceText(play.task)).toContain('forge-loop plan draft 7');
  });

  test('that fails is asked again, three times, with a wait between', () => {
    const play = drafting();
    for (let n = 1; n <= 3; n += 1) {
      play.turn('failed', { code: 'crashed', message: 'it broke' });
      if (n < 3) expect(play.task).toMatchObject({ state: 'queued', hold: { reason: 'retry_backoff' } });
      play.wait(600_000);
    }
    expect(play.task).toMatchObject({ state: 'abandoned', reason: 'error_max_retries', why: 'it broke' });
  });

  test('that repeats itself does not go on for ever', () => {
    const play = drafting();
    for (let n = 0; n < 3; n += 1) play.turn('stalled', { code: REPEATING, message: 'again' }).wait(600_000);
    expect(play.task).toMatchObject({ state: 'abandoned', reason: 'error_max_retries' });
  });

  test('that was interrupted begins anew', () => {
    const play = drafting().turn('interrupted', { code: null });
    expect(turns(play)).toEqual(['planner plan_draft', 'planner plan_draft']);
  });

  test('ends with the task: cancelled, or out of budget', () => {
    expect(drafting().ask('cancel').task).toMatchObject({ state: 'abandoned', reason: 'cancelled' });
    const spent = drafting({ budget: { ...NO_BUDGET, usd: 1 } }).change({
      spend: { costUsd: 2, tokens: 10 },
    });
    expect(spent.task).toMatchObject({ state: 'abandoned', reason: 'budget_exhausted' });
  });

  test('is asked again when a person restarts it', () => {
    const play = drafting().ask('cancel');
    play.commit([transition(play.task, 'queued', 'restarted by ann')], []);
    expect(play.look().turn('finished', { text: PLAN }).task.state).toBe('completed');
  });
});
