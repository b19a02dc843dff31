/** The recovery table, row by row. */
import { describe, expect, test } from 'vitest';
import {
  APPROVE,
  awaiting,
  landing,
  type Play,
  queued,
  revising,
  running,
  turnOutcome,
} from '../../test/support/play.ts';
import { testPolicy } from '../../test/support/policy.ts';
import type { Action, PendingAction } from './action.ts';
import type { Policy } from './policy.ts';
import { isLeftBegun, type Probes, type RecoveryPlan, recover } from './recover.ts';

const INTACT = { exists: true, intact: true, problem: null };
const GONE = { exists: false, intact: false, problem: null };
const SAVED = { ...GONE, saved: 'c1c1c1c1c1c1' };
const BROKEN = { exists: true, intact: false, problem: 'its .git was replaced' };

const SEEN: Probes = { workspace: INTACT, session: 'resumable', finished: false, lastSignAt: null };

const coder: Action = {
  kind: 'turn',
  role: 'coder',
  turn: 2,
  sessionId: 's1',
  prompt: 'continuation',
  priorFailure: null,
};
const critic: Action = { ...coder, role: 'critic', prompt: 'critic', sessionId: 's9' };
const gate: Action = { kind: 'gate', scope: 'work', tree: 't', commit: 'c' };
const push: Action = { kind: 'push', sha: 'c', expected: null };

const started = (action: Action): PendingAction => ({
  id: 5,
  task: 't1',
  action,
  startedAt: 1,
  attempts: 1,
  notBefore: 0,
});

type Row = [
  string,
  Action | null,
  Probes['workspace'],
  Probes['session'],
  'abandon' | 'fresh_session',
  RecoveryPlan,
  string[],
];
const TABLE: Row[] = [
  ['nothing had started', null, INTACT, 'resumable', 'abandon', 'nothing', []],
  ['an effect was under way: it is simply performed again', push, GONE, 'lost', 'abandon', 'nothing', []],
  ['a gate: run again, whatever is lost', gate, GONE, 'lost', 'abandon', 'run_again', []],
  [
    'a critic: judge again, whatever is lost',
    critic,
    GONE,
    'lost',
    'abandon',
    'judge_again',
    ['turn_completed'],
  ],
  [
    'a coder, its session resumable',
    coder,
    INTACT,
    'resumable',
    'abandon',
    'resume_session',
    ['turn_completed'],
  ],
  [
    'a coder, its session never had a message',
    coder,
    INTACT,
    'empty',
    'abandon',
    'start_over',
    ['turn_completed', 'session_lost'],
  ],
  [
    'a coder, its session lost',
    coder,
    INTACT,
    'lost',
    'abandon',
    'give_up',
    ['turn_completed', 'recovery_failed'],
  ],
  [
    'a coder, its session lost, with fresh_session',
    coder,
    INTACT,
    'lost',
    'fresh_session',
    'fresh_session',
    ['turn_completed', 'session_lost'],
  ],
  [
    'a coder, its workspace gone',
    coder,
    GONE,
    'resumable',
    'fresh_session',
    'give_up',
    ['turn_completed', 'recovery_failed'],
  ],
  [
    'a coder, its workspace gone and its branch there',
    coder,
    SAVED,
    'resumable',
    'abandon',
    'resume_session',
    ['turn_completed', 'workspace_lost'],
  ],
  [
    'a coder, its workspace gone, its branch there, its session empty',
    coder,
    SAVED,
    'empty',
    'abandon',
    'start_over',
    ['turn_completed', 'session_lost', 'workspace_lost'],
  ],
  [
    'a coder, its workspace gone, its branch there, its session lost',
    coder,
    SAVED,
    'lost',
    'fresh_session',
    'fresh_session',
    ['turn_completed', 'session_lost', 'workspace_lost'],
  ],
  [
    'a coder, its workspace not the one we made',
    coder,
    BROKEN,
    'resumable',
    'abandon',
    'give_up',
    ['turn_completed', 'recovery_failed'],
  ],
  [
    'a coder, workspace gone and session empty',
    coder,
    GONE,
    'empty',
    'abandon',
    'give_up',
    ['turn_completed', 'recovery_failed'],
  ],
];

test.each(TABLE)('%s', (_what, action, workspace, session, onLostSession, plan, types) => {
  const policy = testPolicy({ recovery: { onLostSession } });
  const recovery = recover(action && started(action), { ...SEEN, workspace, session }, policy);
  expect(recovery.plan).toBe(plan);
  expect(recovery.events.map(({ type }) => type)).toEqual(['recovered', ...types]);
  expect(recovery.events[0]?.data).toMatchObject({ plan, why: recovery.why });
  expect(recovery.finishAction).toBe(types.length > 0 ? 5 : null);
});

test('an interrupted turn is recorded with unknown usage, never with none', () => {
  const { events } = recover(started(coder), SEEN, testPolicy());
  expect(events[1]?.data).toMatchObject({ status: 'interrupted', usage: 'unknown', role: 'coder', turn: 2 });
});

test.each([
  ['a coder', coder, {}, 'take_up'],
  ['a coder whose session is lost', coder, { session: 'lost' }, 'take_up'],
  ['a critic, whatever its task has lost', critic, { workspace: GONE }, 'take_up'],
  ['a specifier', { ...critic, role: 'specifier' }, {}, 'take_up'],
  ['a coder, its work gone', coder, { workspace: GONE }, 'give_up'],
] as const)('%s that finished while nobody listened: %j → %s', (_who, action, seen, plan) => {
  const recovery = recover(started(action as Action), { ...SEEN, finished: true, ...seen }, testPolicy());
  expect(recovery).toMatchObject({ plan, finishAction: 5 });
  if (plan === 'take_up') expect(recovery.events.map(({ type }) => type)).toEqual(['recovered']);
});

test.each([
  ['until its last sign', 61_001, 61_000],
  ['nothing, when there was none', null, 0],
  ['nothing, when its last sign is of the turn before', 0, 0],
  [
    'no more than a turn may take, when a clock was set ahead',
    86_400_001,
    testPolicy().agents.coder.turnTimeoutMs,
  ],
])('the working time of a turn that was killed counts: %s', (_what, lastSignAt, durationMs) => {
  const { events } = recover(started(coder), { ...SEEN, lastSignAt }, testPolicy());
  expect(events[1]?.data).toMatchObject({ status: 'interrupted', durationMs });
});

const begun = [{ ...started(coder), action: gate }];
test.each<[string, PendingAction[], Policy['recovery']['mode'], boolean]>([
  ['was at work', begun, 'manual', true],
  ['was at work, and is taken up by itself', begun, 'auto', false],
  ['was to begin', [{ ...begun[0]!, startedAt: null }], 'manual', false],
  ['was done', [], 'manual', false],
])('one that %s, its runner gone', (_what, pending, mode, isLeft) => {
  expect(isLeftBegun(pending, testPolicy({ recovery: { mode } }))).toBe(isLeft);
});

test('why a workspace is lost is said', () => {
  expect(recover(started(coder), { ...SEEN, workspace: BROKEN }, testPolicy()).why).toBe(
    'its .git was replaced',
  );
});

describe('what follows', () => {
  const ended = (play: Play) => [play.task.state, play.task.reason];

  test('resumed: what was uncommitted is checkpointed first, then the same session goes on, uncounted (dispatch 38)', () => {
    const play = running().crash();
    expect(play.pending[0]?.action.kind).toBe('checkpoint');
    play.checkpoint('c1');
    expect(play.run()).toMatchObject({ turn: 1, sessionId: 's1', prompt: 'interrupted' });
  });

  test('a turn that finished is taken up: nobody is asked again, and it counts', () => {
    const play = running().crash({}, turnOutcome('finished'));
    expect(play.events.filter(({ type }) => type === 'turn_started')).toHaveLength(1);
    play.checkpoint('c1').gate('pass');
    expect(play.task.turns).toBe(1);
    expect(play.run()).toMatchObject({ role: 'critic' });
  });

  test('a critic that finished is taken at its word', () => {
    const play = awaiting();
    expect(play.run()).toMatchObject({ role: 'critic' });
    play.crash({}, turnOutcome('finished', { structured: { ...APPROVE, criteria: [], earlier: [] } }));
    expect(play.task.verdict).toMatchObject({ verdict: 'APPROVE', round: 1 });
  });

  test('an empty session starts over with the full prompt (dispatch 38)', () => {
    const play = running().crash({ workspace: INTACT, session: 'empty' }).checkpoint('base', { empty: true });
    expect(play.run()).toMatchObject({ turn: 1, sessionId: 's2', prompt: 'task' });
  });

  test('a fresh session takes over with the work so far', () => {
    const play = running({ recovery: { onLostSession: 'fresh_session' } });
    play.crash({ workspace: INTACT, session: 'lost' }).checkpoint('c1');
    expect(play.run()).toMatchObject({ sessionId: 's2', prompt: 'handover' });
  });

  test.each([
    ['the session is lost', { workspace: INTACT, session: 'lost' }],
    ['the workspace is lost', { workspace: GONE, session: 'resumable' }],
  ] as const)('%s: abandoned with crash_recovery_failed, worktree preserved (dispatch 38)', (why, probes) => {
    const play = running().crash(probes);
    expect(ended(play)).toEqual(['abandoned', 'crash_recovery_failed']);
    expect(play.task.why).toBe(why);
    expect(play.actionsOf('preserve_workspace')).toHaveLength(1);
  });

  test('a workspace that is gone is made anew from its branch, and its session is told what it lost', () => {
    const play = running().worked('c1', 'fail').crash({ workspace: SAVED, session: 'resumable' });
    expect(play.actionsOf('prepare_workspace')).toHaveLength(2);
    play.checkpoint('c1');
    expect(play.task.hold).toBeNull();
    expect(play.run()).toMatchObject({ turn: 2, sessionId: 's1', prompt: 'continuation' });
    expect(play.run()).toMatchObject({ priorFailure: expect.stringContaining('not committed is lost') });
  });

  test('an issue closed while nobody looked is closed, not resumed', () => {
    const play = running();
    play.world.issue = { ...play.world.issue!, state: 'closed' };
    expect(ended(play.crash())).toEqual(['abandoned', 'issue_closed']);
  });

  test('a merge by a person is found even when the session is lost', () => {
    const play = revising();
    play.world.pull = { state: 'merged', mergedSha: 'm1', approvals: [] };
    expect(ended(play.crash({ workspace: GONE, session: 'lost' }))).toEqual(['merged', null]);
  });

  test.each([
    ['queued', queued],
    ['awaiting_critic', () => awaiting({ critic: { enabled: false } })],
    ['merging', landing],
  ])('%s: goes on where it was', (_state, reach) => {
    const play = reach();
    const { task, pending } = play;
    play.crash();
    expect(play.task).toEqual(task);
    expect(play.pending).toEqual(pending);
  });

  test('counts survive: a crash in the third turn is not the first again', () => {
    const play = running({ maxTurns: 3 }).worked('c1', 'fail').worked('c2', 'fail').crash().checkpoint('c3');
    expect(play.run()).toMatchObject({ turn: 3 });
    expect(ended(play.worked('c4', 'fail'))).toEqual(['abandoned', 'max_turns_reached']);
  });
});
