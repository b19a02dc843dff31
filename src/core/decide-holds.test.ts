/** What keeps a run from starting although its task could go on: a broken template, a missing sandbox, a half-made workspace. */
import { describe, expect, test } from 'vitest';
import { awaiting, changes, merging, type Play, revising, running } from '../../test/support/play.ts';
import { MAX_WORKSPACE_FAILURES } from './decision.ts';

describe('a prompt that can’t be rendered', () => {
  const broken = (play: Play): Play => {
    const action = play.run();
    if (action?.kind !== 'turn') throw new Error('no turn is pending');
    const problem = `The ${action.prompt} prompt can't be rendered, line 3: unknown variable "isue".`;
    return play.answer({ kind: 'prompt_broken', prompt: action.prompt, problem, digest: 'd1' });
  };

  test.each([
    ['first', running, 'task', 1],
    ['revision’s', revising, 'revise', 2],
    ['critic’s', awaiting, 'critic', 1],
  ] as const)('the %s: held with its name and the problem, the turn not counted', (_, start, kind, turn) => {
    const play = broken(start());
    expect(play.task.hold).toMatchObject({ reason: 'prompt_broken', until: null });
    expect(play.task.hold?.detail).toContain(`The ${kind} prompt can't be rendered, line 3`);
    expect(play.run()).toBeNull();
    expect(play.decide()).toMatchObject({ kind: 'rest', until: null });
    play.change({ promptChanged: true });
    if (kind !== 'critic') play.checkpoint('c1', { empty: kind === 'task' });
    expect(play.task.hold).toBeNull();
    expect(play.run()).toMatchObject({ kind: 'turn', prompt: kind, turn });
  });

  test('is tried again when a person says so, and never ends the task as interrupted', () => {
    const play = running();
    for (let times = 0; times < 5; times++) {
      broken(play).ask('resume').checkpoint('c1', { empty: true });
      expect(play.run()).toMatchObject({ prompt: 'task', turn: 1 });
    }
  });
});

describe('a sandbox that is required and not there', () => {
  const MISSING = 'no sandbox here';

  test.each([
    ['a turn', () => running(), 'running'],
    ['a gate', () => running().turn().checkpoint('c1'), 'running'],
    ['a critic', () => awaiting(), 'awaiting_critic'],
    ['a revision', () => revising(), 'revising'],
  ] as const)('stops %s, starts nothing more, and goes on when the setting changes', (_, start, state) => {
    const play = start();
    expect(play.run()).not.toBeNull();
    play.change({ unconfined: MISSING });
    expect(play.story.filter((step) => 'stop' in step)).toEqual([
      { stop: { kind: 'stop', status: 'cancelled', why: MISSING, code: null } },
    ]);
    expect(play.task).toMatchObject({ state, hold: { reason: 'sandbox_unavailable', detail: MISSING } });
    expect(play.run()).toBeNull();
    expect(play.decide()).toMatchObject({ kind: 'rest' });
    play.change({ unconfined: null });
    expect(play.task.hold).toBeNull();
    expect(play.pending).toHaveLength(1);
  });

  test('a merge steps aside before its gate', () => {
    const play = merging();
    play.world.unconfined = MISSING;
    play.candidate();
    expect(play.task).toMatchObject({ state: 'awaiting_critic', hold: { reason: 'sandbox_unavailable' } });
    expect(play.actionsOf('gate').filter(({ scope }) => scope === 'candidate')).toEqual([]);
  });
});

describe('a workspace that had to be made anew for a revision', () => {
  const failed = { kind: 'workspace_failed', problem: 'hook afterCreate failed (exit 3)' } as const;
  const remade = (times: number): Play => {
    const play = awaiting();
    play.failing.set('prepare_workspace', Array(times).fill(failed));
    return play.critic(changes());
  };

  test('gets no turn until its hook has succeeded', () => {
    const play = remade(1);
    expect(play.task).toMatchObject({
      state: 'revising',
      hold: { reason: 'retry_backoff', detail: 'hook afterCreate failed (exit 3)' },
    });
    expect(play.run()).toBeNull();
    play.wait(play.task.hold!.until! - play.now);
    expect(play.actionsOf('prepare_workspace')).toHaveLength(3);
    expect(play.run()).toMatchObject({ kind: 'turn', prompt: 'revise', turn: 2 });
  });

  test('ends the task with the problem when it never succeeds', () => {
    const play = remade(MAX_WORKSPACE_FAILURES);
    while (play.task.hold) play.wait(play.task.hold.until! - play.now);
    expect(play.task).toMatchObject({ state: 'abandoned', reason: 'workspace_failed', why: failed.problem });
    expect(play.actionsOf('turn').filter(({ role }) => role === 'coder')).toHaveLength(1);
  });

  test('is not confused with a work tree that could not be saved', () => {
    const play = running().turn().answer({ kind: 'refused', problem: 'nested repository' });
    expect(play.run()).toMatchObject({ kind: 'turn', turn: 2 });
  });
});
