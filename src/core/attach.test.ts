/** A person in a task's place, through the pure core: what they may take over, and what follows when they have left. */
import { describe, expect, test } from 'vitest';
import { awaiting, merging, Play, revising, running } from '../../test/support/play.ts';
import type { PendingAction } from './action.ts';
import { detaching, mayHandOver } from './attach.ts';
import { type RequestKind, refusal } from './request.ts';
import type { Task } from './task.ts';

const refused = (task: Task, kind: RequestKind = 'attach'): string | null => refusal(task, kind)?.why ?? null;

describe('who may be attached to', () => {
  test('a task at work, under review or about to land, with a conversation to go on with', () => {
    for (const play of [running().turn(), revising(), awaiting(), merging()])
      expect(refused(play.task), play.task.state).toBeNull();
  });

  test('none that has no worktree yet, has ended, begins a new conversation, or that the forge may merge', () => {
    const claimed = new Play();
    claimed.world.slotsFull = true;
    expect(refused(claimed.claim().task)).toContain('has no worktree yet');
    const { task } = awaiting();
    expect(refused({ ...task, roles: running().task.roles, state: 'queued' })).toContain('no worktree yet');
    const coder = { ...task.roles.coder, session: null };
    expect(refused({ ...task, roles: { ...task.roles, coder } })).toContain('no session to continue');
    expect(refused({ ...task, inMergeQueue: { tree: 't' } })).toContain('merge queue');
    expect(refused({ ...task, state: 'merged' })).toContain('has ended: merged');
  });

  test('by one person at a time; until they leave nobody can resume it', () => {
    const play = awaiting().attach();
    expect(refused(play.task)).toContain('is attached to by ann');
    expect(refused(play.task, 'attach_now')).toContain('is attached to by ann');
    expect(refused(play.task, 'resume')).toContain('is attached to by ann');
  });
});

test('a runner lets go where nothing is left to do but runs that have not begun and words to people', () => {
  const one = (action: PendingAction['action'], startedAt: number | null = null): PendingAction => ({
    ...{ id: 1, task: 'a', action, startedAt, attempts: 0, notBefore: 0 },
  });
  const gate = { kind: 'gate', scope: 'work', tree: 't', commit: 'c' } as const;
  expect(mayHandOver([])).toBe(true);
  expect(mayHandOver([one(gate), one({ kind: 'tell_status', issue: 1 })])).toBe(true);
  expect(mayHandOver([one(gate, 5)])).toBe(false);
  for (const kind of ['checkpoint', 'prepare_workspace'] as const)
    expect(mayHandOver([one({ kind })]), kind).toBe(false);
  expect(mayHandOver([one({ kind: 'push', sha: 'a', expected: null })])).toBe(false);
});

test('a turn that had not begun is taken back, and begins anew afterwards', () => {
  const play = running();
  expect(play.run()?.kind).toBe('turn');
  const { turns } = play.task;
  play.attach();
  expect(play.pending).toEqual([]);
  expect(play.task).toMatchObject({ turn: null, turns: turns - 1, attached: { by: 'ann' } });
  expect(play.task.roles.coder.interrupted, 'nobody’s fault').toBe(0);
  expect(play.task.hold).toMatchObject({ reason: 'attached', until: null });
  play.leave('c1');
  expect(play.task).toMatchObject({ attached: null });
  expect(play.fold()).toEqual(play.task);
});

test('what is about to land steps aside, and lines up again when nothing was changed', () => {
  const play = merging().candidate().attach();
  expect(play.task).toMatchObject({ state: 'awaiting_critic', landing: null });
  play.leave('c1');
  expect(play.task.hold).toBeNull();
  expect(play.task.state).toBe('merging');
});

describe('under review', () => {
  test('a new head goes back to work for a slot, is verified, pushed and judged; no coder is asked', () => {
    const play = awaiting().attach();
    play.world.slotsFull = true;
    const { turns } = play.task;
    play.leave('c2');
    expect(play.task).toMatchObject({ state: 'awaiting_critic', head: { sha: 'c2' } });
    expect(play.decide()).toMatchObject({ kind: 'rest', for: 'grant', grant: 'slot' });
    play.change({ slotsFull: false });
    expect(play.task.state).toBe('revising');
    expect(play.run()).toMatchObject({ kind: 'gate', commit: 'c2' });
    play.gate('pass');
    expect(play.task).toMatchObject({ state: 'awaiting_critic', published: { sha: 'c2' }, turns });
    expect(play.run()).toMatchObject({ kind: 'turn', role: 'critic' });
    expect(play.fold()).toEqual(play.task);
  });

  test('a worktree that can’t be saved is the coder’s to mend', () => {
    const play = awaiting().attach();
    play.failing.set('checkpoint', [{ kind: 'refused', problem: 'it left its branch' }]);
    const { events, actions } = detaching(
      play.task,
      { how: 'exited', detail: '', durationMs: 1, tokens: 0, costUsd: 0, usage: 'known' },
      null,
    );
    play.commit(events, actions);
    play.look();
    expect(play.task.state).toBe('revising');
    expect(play.run()).toMatchObject({ kind: 'turn', role: 'coder' });
  });
});

describe('a task that waited already', () => {
  test('for a time, or because a person paused it, waits on', () => {
    const play = awaiting({ critic: { enabled: false } }).ask('pause');
    expect(play.task.hold?.reason).toBe('operator_pause');
    play.attach().leave('c1');
    expect(play.task.hold?.reason).toBe('operator_pause');
  });

  test('for a person goes on: they were there', () => {
    const play = awaiting({ critic: { enabled: false } });
    expect(play.task.hold?.reason).toBe('needs_approval');
    play.attach().leave('c1');
    expect(play.of('hold_cleared').at(-1)).toEqual({ reason: 'attached', by: 'loop' });
    expect(play.task.hold?.reason, 'asked for anew').toBe('needs_approval');
  });

  test('stays paused where they want it to', () => {
    const play = awaiting().attach().leave('c1', 'ann');
    expect(play.task.hold).toMatchObject({ reason: 'operator_pause', detail: 'paused by ann' });
    play.ask('resume');
    expect(play.task.hold).toBeNull();
  });
});

test('a run is stopped only for whoever does not want to wait, and it counts for nothing', () => {
  const play = running();
  play.world.requests = [{ id: 1, kind: 'attach', by: 'ann' }];
  expect(play.decide()).toMatchObject({ kind: 'rest' });
  play.world.requests = [{ id: 1, kind: 'attach_now', by: 'ann' }];
  expect(play.decide()).toEqual({
    ...{ kind: 'stop', status: 'interrupted', code: 'attached' },
    why: 'stopped for ann, who attaches to it',
  });
});

test('a hold whose person is gone ends: whoever looks at it has the task', () => {
  const play = awaiting().attach();
  play.look();
  expect(play.task.hold).toBeNull();
});
