/** One test per edge, each taken by the deciding core itself, and the edges that must not exist. */

import { describe, expect, test } from 'vitest';
import { filledPlan } from '../../test/support/plan-play.ts';
import {
  APPROVE,
  awaiting,
  changes,
  landing,
  merging,
  Play,
  queued,
  revising,
  running,
} from '../../test/support/play.ts';
import { event, type LoopEvent } from './event.ts';
import { apply } from './fold.ts';
import { EDGES, isEdge, isTerminal, REASONS, type Reason, STATES, type State } from './machine.ts';
import { draftEvents } from './plan/draft.ts';
import type { Task } from './task.ts';

/** Each live state, as a play that has come so far. */
const LIVE: Record<Exclude<State, 'merged' | 'completed' | 'abandoned'>, () => Play> = {
  queued,
  dispatched: () => {
    const play = queued();
    play.world.slotsFull = false;
    const decision = play.decide();
    if (decision.kind === 'act') play.commit(decision.events, []);
    return play;
  },
  running,
  awaiting_critic: awaiting,
  revising,
  merging: () => merging().candidate(),
};

const edgesOf = (play: Play): string[] =>
  play.of('worker_state_transition').map(({ from, to }) => `${from} → ${to}`);

describe('every edge is taken', () => {
  test('none → queued: an eligible issue was claimed', () => {
    expect(edgesOf(queued())).toEqual(['none → queued']);
  });

  test('queued → dispatched: a slot is granted', () => {
    const play = queued();
    expect(play.resting()).toBe('waiting for a slot');
    expect(edgesOf(play.change({ slotsFull: false }))).toContain('queued → dispatched');
  });

  test('dispatched → running: the workspace is ready and the first turn is about to start', () => {
    const play = LIVE.dispatched();
    expect(play.task.state).toBe('dispatched');
    play.look();
    expect(edgesOf(play).at(-1)).toBe('dispatched → running');
    expect(play.run()).toMatchObject({ kind: 'turn', turn: 1, prompt: 'task' });
  });

  test('dispatched → queued: the workspace could not be made, nothing was done yet', () => {
    const play = queued();
    play.failing.set('prepare_workspace', [{ kind: 'workspace_failed', problem: 'disk full' }]);
    play.change({ slotsFull: false });
    expect(edgesOf(play).at(-1)).toBe('dispatched → queued');
    expect(play.task.hold).toMatchObject({ reason: 'retry_backoff', until: 10_000 });
  });

  test('running → awaiting_critic: gate passed, branch pushed, pull request ensured', () => {
    const play = running().worked('c1');
    expect(edgesOf(play).at(-1)).toBe('running → awaiting_critic');
    expect(play.task).toMatchObject({ published: { sha: 'c1' }, pull: 1 });
  });

  test('dispatched → completed: a plan was drafted', () => {
    const play = new Play();
    play.world.issue = null;
    play.commit(draftEvents({ issue: 7, contract: running().task.contract, by: 'ann' }), []);
    play.look().turn('finished', { text: filledPlan('tokens') });
    expect(edgesOf(play).at(-1)).toBe('dispatched → completed');
  });

  test('running → completed exists for plans that deliver a branch; an issue never takes it', () => {
    const { task } = running();
    expect(apply(task, moved('running', 'completed')).state).toBe('completed');
    expect(landing().landed().states()).not.toContain('completed');
  });

  test('awaiting_critic → revising: changes were asked for and a slot is granted', () => {
    const play = awaiting();
    play.world.slotsFull = true;
    play.critic(changes());
    expect(play.task.state).toBe('awaiting_critic');
    expect(play.resting()).toBe('changes were asked for; waiting for a slot');
    expect(edgesOf(play.change({ slotsFull: false })).at(-1)).toBe('awaiting_critic → revising');
  });

  test('awaiting_critic → awaiting_critic: a person pushed', () => {
    const play = awaiting({ critic: { enabled: false } });
    play.change({ branch: { sha: 'theirs', tree: 'tree-theirs' } });
    expect(edgesOf(play).at(-1)).toBe('awaiting_critic → awaiting_critic');
    expect(play.run()).toMatchObject({ kind: 'gate', commit: 'theirs' });
  });

  test('awaiting_critic → merging: approved at the current head', () => {
    expect(edgesOf(awaiting().critic(APPROVE)).at(-1)).toBe('awaiting_critic → merging');
  });

  test('revising → awaiting_critic: gate passed at the new head, pushed', () => {
    const play = revising().worked('c2');
    expect(edgesOf(play).at(-1)).toBe('revising → awaiting_critic');
    expect(play.task.published?.sha).toBe('c2');
  });

  test('merging → merged: the merge was observed on trunk (dispatch 48)', () => {
    const play = landing();
    expect(play.task.state).toBe('merging');
    expect(edgesOf(play.landed('m1')).at(-1)).toBe('merging → merged');
    expect(play.task.mergedSha).toBe('m1');
  });

  test('merging → revising: the candidate conflicts and a slot is free', () => {
    const play = merging().answer({ kind: 'conflict', files: ['a.ts'], trunk: 'trunk-2' });
    expect(edgesOf(play).at(-1)).toBe('merging → revising');
  });

  test('merging → awaiting_critic: the head moved', () => {
    const play = merging();
    play.world.branch = { sha: 'theirs', tree: 'tree-theirs' };
    play.candidate();
    expect(edgesOf(play).slice(-2)).toEqual([
      'merging → awaiting_critic',
      'awaiting_critic → awaiting_critic',
    ]);
  });

  test.each(Object.entries(LIVE))('%s → merged: a person merged it', (state, reach) => {
    const play = reach().change({ pull: { state: 'merged', mergedSha: 'm9', approvals: [] } });
    expect(edgesOf(play).at(-1)).toBe(`${state} → merged`);
    expect(play.of('merge_observed')).toEqual([{ sha: 'm9', by: 'person' }]);
  });

  test.each(Object.entries(LIVE))('%s → abandoned: an operator cancels it', (state, reach) => {
    const play = reach().ask('cancel');
    if (play.run()) throw new Error('something still runs');
    expect(edgesOf(play).at(-1)).toBe(`${state} → abandoned`);
    expect(play.task.reason).toBe('cancelled');
  });

  test('abandoned → queued: a person restarts it', () => {
    expect(edgesOf(running().ask('cancel').restart())).toContain('abandoned → queued');
  });
});

describe('no other edge exists', () => {
  const reached: Record<string, () => Task> = {
    ...Object.fromEntries(Object.entries(LIVE).map(([state, reach]) => [state, () => reach().task])),
    merged: () => landing().landed().task,
    completed: () => apply(running().task, moved('running', 'completed')),
    abandoned: () => running().ask('cancel').task,
  };
  const missing = STATES.flatMap((from) =>
    STATES.filter((to) => !isEdge(from, to)).map((to) => [from, to] as const),
  );

  test.each(missing)('%s → %s is refused', (from, to) => {
    const task = reached[from]!();
    expect(task.state).toBe(from);
    expect(() => apply(task, moved(from, to))).toThrow(`no edge ${from} → ${to}`);
  });

  test.each(STATES.filter((state) => state !== 'queued'))('none → %s is refused', (to) => {
    expect(() => apply(queued().task, moved('none', to))).toThrow('no edge');
  });

  test.each(STATES.filter((state) => state !== 'queued'))('a task in %s is not claimed again', (state) => {
    expect(() => apply(reached[state]!(), moved('none', 'queued'))).toThrow('no edge');
  });

  test('an edge is refused when it starts from a state the task is not in', () => {
    expect(() => apply(running().task, moved('queued', 'dispatched'))).toThrow('event said queued');
  });

  test('terminal states have no way out but the restart of an abandoned one', () => {
    const out = EDGES.filter(({ from }) => from !== 'none' && isTerminal(from));
    expect(out.map(({ from, to }) => `${from} → ${to}`)).toEqual(['abandoned → queued']);
  });
});

describe('reasons', () => {
  test('are exactly the documented ones', () => {
    expect(Object.keys(REASONS).sort()).toEqual(
      `max_turns_reached max_critic_rounds critic_blocked critic_unusable spec_rejected finding_stuck no_progress
      budget_exhausted stall_timeout error_max_retries audit_retry_exhausted final_audit_retry_exhausted max_iterations
      provider_limit issue_closed label_withdrawn pull_closed branch_deleted superseded cancelled operator_abandon
      crash_recovery_failed workspace_failed sandbox_failed`
        .split(/\s+/)
        .sort(),
    );
  });

  test.each(Object.entries(REASONS))('%s has an outcome class, a sentence and advice', (_name, info) => {
    expect(['failure', 'neutral', 'operator']).toContain(info.outcome);
    expect(info.says).toMatch(/^[a-z].{10,}[^.]$/);
    expect(info.advice).toMatch(/^.{10,}\.$/);
  });

  test('what people did to the issue is neutral, what the operator decided is theirs', () => {
    const of = (outcome: string) =>
      (Object.keys(REASONS) as Reason[]).filter((name) => REASONS[name].outcome === outcome).sort();
    expect(of('neutral')).toEqual([
      'branch_deleted',
      'issue_closed',
      'label_withdrawn',
      'pull_closed',
      'superseded',
    ]);
    expect(of('operator')).toEqual(['cancelled', 'operator_abandon']);
  });
});

function moved(from: State | 'none', to: State): LoopEvent {
  const reason = to === 'abandoned' ? 'cancelled' : null;
  const data = { from, to, reason, why: 'test', sessionId: null, turn: 0, headSha: null } as const;
  return { ...event('worker_state_transition', data), seq: 99, at: 0, task: 't1' };
}
