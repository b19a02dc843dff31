/** What ends a task whatever it is doing, what a person may ask of it, and how it is taken up again. */
import { describe, expect, test } from 'vitest';
import {
  APPROVE,
  awaiting,
  BLOCK,
  changes,
  landing,
  merging,
  type Play,
  queued,
  revising,
  running,
} from '../../test/support/play.ts';
import { REASONS } from './machine.ts';

const ended = (play: Play) => [play.task.state, play.task.reason];
const STATES: [string, () => Play][] = [
  ['queued', queued],
  ['running', running],
  ['awaiting_critic', awaiting],
  ['revising', revising],
  ['merging', () => merging().candidate()],
];

describe.each(STATES)('in %s', (_state, reach) => {
  test('the issue was closed: a neutral end (dispatch 24, 44)', () => {
    expect(ended(reach().issue({ state: 'closed' }))).toEqual(['abandoned', 'issue_closed']);
  });

  test('the issue is gone altogether: the same end, and nothing is written to it', () => {
    const play = reach();
    const before = play.actionsOf('comment').length;
    expect(ended(play.change({ issue: null }))).toEqual(['abandoned', 'issue_closed']);
    expect(play.actionsOf('comment')).toHaveLength(before);
  });

  test('its label was withdrawn: a neutral end', () => {
    expect(ended(reach().issue({ labels: ['bug'] }))).toEqual(['abandoned', 'label_withdrawn']);
  });

  test('loop:abandon was added: the operator’s end (dispatch 24)', () => {
    const play = reach().issue({ labels: ['loop:running', 'loop:abandon'] });
    expect(ended(play)).toEqual(['abandoned', 'operator_abandon']);
  });

  test.each([
    ['cancel', 'cancelled'],
    ['abandon', 'operator_abandon'],
  ])('a person asks to %s it (dispatch 25)', (kind, reason) => {
    const play = reach().ask(kind, 'bob');
    expect(ended(play)).toEqual(['abandoned', reason]);
    expect(play.task.why).toBe(`${kind} requested by bob`);
    expect(play.world.requests).toEqual([]);
  });

  test('the budget is spent, unless all that is left is a merge, which costs nothing', () => {
    const play = reach()
      .configure({ budget: { usd: 1 } })
      .change({ spend: { costUsd: 1.5, tokens: 9 } });
    const isMerging = play.task.state === 'merging';
    expect(ended(play)).toEqual(isMerging ? ['merging', null] : ['abandoned', 'budget_exhausted']);
    if (!isMerging) expect(play.task.why).toBe('$1.50 of $1.00 spent');
  });

  test('a person merged it, which closed the issue: merged, not closed (dispatch 44)', () => {
    const play = reach();
    play.world.issue = { ...play.world.issue!, state: 'closed', labels: [] };
    play.change({ pull: { state: 'merged', mergedSha: 'm9', approvals: [] }, branch: null });
    expect(ended(play)).toEqual(['merged', null]);
    expect(play.task.mergedSha).toBe('m9');
  });

  test('its workspace is kept when it is abandoned, and the comment says what to do', () => {
    const play = reach().ask('cancel');
    if (play.task.workspace) expect(play.of('worktree_preserved')).toEqual([{ path: 'ws' }]);
    expect(play.actionsOf('reap_workspace')).toEqual([]);
    expect(play.actionsOf('comment').at(-1)?.body).toContain(REASONS.cancelled.advice);
  });
});

describe('with a pull request', () => {
  test.each([
    ['awaiting_critic', awaiting],
    ['revising', revising],
  ] as const)('closed by a person in %s: a neutral end', (_state, reach) => {
    const play = reach().change({ pull: { state: 'closed', mergedSha: null, approvals: [] } });
    expect(ended(play)).toEqual(['abandoned', 'pull_closed']);
  });

  test('its branch was deleted: a neutral end', () => {
    expect(ended(awaiting().change({ branch: null }))).toEqual(['abandoned', 'branch_deleted']);
  });

  test('before the first push a missing branch means nothing', () => {
    expect(running().change({ branch: null }).task.state).toBe('running');
  });
});

describe('labels', () => {
  test('ready is as good as running: the swap may not have happened yet', () => {
    expect(running().issue({ labels: [' Loop:Ready'] }).task.state).toBe('running');
  });

  test.each([
    ['max_turns_reached', () => running({ maxTurns: 1 }).worked('c1', 'fail'), ['loop:needs-review']],
    ['spec_rejected', () => awaiting().critic({ verdict: 'BLOCK_ON_SPEC' }), ['loop:needs-spec']],
    ['critic_blocked', () => awaiting().critic({ verdict: 'BLOCK' }), ['loop:blocked']],
    ['label_withdrawn', () => running().issue({ labels: [] }), []],
    ['operator_abandon', () => running().ask('abandon'), []],
  ])('after %s', (reason, play, labels) => {
    const { task, world } = play();
    expect(task.reason).toBe(reason);
    expect(world.issue?.labels).toEqual(labels);
  });
});

describe('requests', () => {
  test('pause holds the task until a person resumes it', () => {
    const play = awaiting({ critic: { enabled: false } }).ask('pause', 'ann');
    expect(play.task.hold).toMatchObject({ reason: 'operator_pause', detail: 'paused by ann', until: null });
    expect(play.wait(86_400_000).task.hold?.reason).toBe('operator_pause');
    expect(play.ask('resume').task.hold?.reason).toBe('needs_approval');
  });

  test('a paused task in a slot gives it back, and waits for one to go on', () => {
    const paused = running().ask('pause').turn();
    expect(paused.task).toMatchObject({ state: 'running', hold: { reason: 'operator_pause' } });
    paused.world.slotsFull = true;
    paused.ask('resume');
    expect(paused.resting()).toBe('its hold is over; waiting for a slot');
    expect(paused.change({ slotsFull: false }).checkpoint('c1').run()).toMatchObject({ kind: 'gate' });
  });

  test.each([
    ['pause, resume', ['pause', 'resume'], null],
    ['pause, resume, pause', ['pause', 'resume', 'pause'], 'operator_pause'],
    ['pause, pause, resume', ['pause', 'pause', 'resume'], null],
  ] as const)('asked during a turn, the last one counts: %s', (_, asked, reason) => {
    const play = running();
    for (const kind of asked) play.ask(kind);
    play.turn();
    expect(play.task.hold?.reason ?? null).toBe(reason);
    expect(play.world.requests).toEqual([]);
    expect(play.of('hold_set')).toHaveLength(reason === null ? 0 : 1);
  });

  test('a pause that was taken back leaves the resume to what the task is held for', () => {
    const play = awaiting({ critic: { enabled: false } });
    play.world.requests.push({ id: 1, kind: 'pause', by: 'ann' }, { id: 2, kind: 'resume', by: 'ann' });
    play.configure({ critic: { enabled: true } });
    expect(play.run()).toMatchObject({ role: 'critic' });
  });

  test('a dispatched task that is paused goes back to the queue and starts again from there', () => {
    const play = queued();
    play.world.slotsFull = false;
    const decision = play.decide();
    if (decision.kind !== 'act') throw new Error('not dispatched');
    play.commit(decision.events, []);
    expect(play.task.state).toBe('dispatched');
    play.ask('pause');
    expect(play.task).toMatchObject({ state: 'queued', hold: { reason: 'operator_pause' } });
    expect(play.ask('resume').task.state).toBe('running');
  });

  test('none is passed over for a later one: an approval counts although a pause follows it', () => {
    const play = awaiting({ critic: { enabled: false } });
    play.world.requests.push({ id: 1, kind: 'approve', by: 'ann' }, { id: 2, kind: 'pause', by: 'bob' });
    play.look();
    expect(play.task).toMatchObject({ verdict: { by: 'ann' }, hold: { reason: 'operator_pause' } });
    expect(play.ask('resume').task.state).toBe('merging');
  });

  test('an approval of a task that is not waiting for one is used up without effect', () => {
    const play = running().ask('approve').turn();
    expect(play.world.requests).toEqual([]);
    expect(play.task.verdict).toBeNull();
  });

  test('resume lets a backoff end early', () => {
    const play = running().turn('failed').checkpoint('c1');
    expect(play.task.hold?.until).toBe(10_000);
    expect(play.ask('resume').run()).toMatchObject({ turn: 2 });
  });
});

describe('while the loop can’t', () => {
  test('a paused loop starts nothing, but an ending is still decided', () => {
    const play = queued();
    play.world.paused = 'the loop is paused by ann';
    play.change({ slotsFull: false });
    expect(play.resting()).toBe('the loop is paused by ann');
    expect(ended(play.issue({ state: 'closed' }))).toEqual(['abandoned', 'issue_closed']);
  });

  test('an effect that can’t be performed holds everything but an ending', () => {
    const play = queued();
    play.world.stuck = 'label failed 3×; will retry';
    play.change({ slotsFull: false });
    expect(play.resting()).toBe('label failed 3×; will retry');
    expect(ended(play.ask('cancel'))).toEqual(['abandoned', 'cancelled']);
  });

  test('an ended task rests, whatever the facts say', () => {
    const play = landing().landed();
    play.world.issue = null;
    play.world.requests.push({ id: 1, kind: 'cancel', by: 'ann' });
    expect(play.decide()).toEqual({
      kind: 'rest',
      why: 'landed on trunk',
      until: null,
      for: 'fact',
    });
  });
});

describe('a restart', () => {
  const gaveUp = () => running({ maxTurns: 2 }).worked('c1', 'fail').worked('c2', 'fail');

  test('goes on with the same row, branch, work and findings, and counts from the start', () => {
    const before = awaiting()
      .critic(changes('a'))
      .worked('c2')
      .critic(changes('b'))
      .worked('c3')
      .critic(changes('c'));
    const { id, branch, workedMs } = before.task;
    const play = before.restart();
    expect(play.task).toMatchObject({ id, branch, workedMs, turns: 1, criticRounds: 0, changeRequests: 0 });
    expect(play.task).toMatchObject({
      state: 'running',
      reason: null,
      endedAt: null,
      pull: 1,
      headSha: 'c3',
    });
    expect(play.findings).toHaveLength(3);
  });

  test('opens a fresh session, told that it takes over and what was still open', () => {
    const play = awaiting()
      .critic(changes('a'))
      .worked('c2')
      .critic(changes('b'))
      .worked('c3')
      .critic(changes('c'));
    play.restart();
    expect(play.run()).toMatchObject({ prompt: 'handover', turn: 1 });
    expect(play.run()).not.toMatchObject({ sessionId: 's1' });
    expect(play.task.feedback).toMatchObject([{ kind: 'critic' }]);
  });

  test('of a task that did nothing begins at the beginning', () => {
    expect(running().ask('cancel').restart().run()).toMatchObject({ prompt: 'task', turn: 1 });
  });

  test('can end again, and says so again', () => {
    const play = gaveUp().restart();
    play.now += 1;
    play.worked('c3', 'fail').worked('c4', 'fail');
    expect(ended(play)).toEqual(['abandoned', 'max_turns_reached']);
    const marks = play.actionsOf('comment').map(({ marker }) => marker);
    expect(new Set(marks).size).toBe(marks.length);
  });

  test('does not forget what was spent', () => {
    const play = running({ budget: { wallMs: 1500 } })
      .worked('c1', 'fail')
      .turn();
    expect(ended(play)).toEqual(['abandoned', 'budget_exhausted']);
    expect(ended(play.restart())).toEqual(['abandoned', 'budget_exhausted']);
    expect(
      play
        .configure({ budget: { wallMs: 60_000 } })
        .restart()
        .run(),
    ).toMatchObject({ prompt: 'handover' });
  });

  test('new findings never take the name of old ones', () => {
    const play = awaiting().critic(changes('a')).ask('cancel').restart();
    play.worked('c2').critic(changes('b'));
    expect(play.findings.map(({ id, message }) => `${id} ${message}`)).toEqual(['t1.1 a', 't1.2 b']);
  });

  describe('goes on where the task was', () => {
    const coderTurns = (play: Play) => play.actionsOf('turn').filter(({ role }) => role === 'coder').length;
    const gates = (play: Play) => play.actionsOf('gate').length;

    test.each<[string, () => Play]>([
      ['it awaited its critic', () => awaiting()],
      [
        'its critic gave no usable report',
        () => awaiting().turn('finished', { structured: {} }).turn('finished', { structured: {} }),
      ],
    ])('%s: straight to the critic, on the evidence it has', (_, start) => {
      const play = start().ask('cancel');
      const before = { turns: coderTurns(play), gates: gates(play) };
      play.restart().checkpoint('c1');
      expect(play.task.state).toBe('awaiting_critic');
      expect(play.run()).toMatchObject({ role: 'critic' });
      expect({ turns: coderTurns(play), gates: gates(play) }).toEqual(before);
    });

    test('approved: to the merge, without another round', () => {
      const play = awaiting({ merge: { enabled: false } })
        .critic(APPROVE)
        .ask('cancel');
      play.configure({ merge: { enabled: true } });
      play.restart().checkpoint('c1');
      expect(play.pending[0]?.action.kind).toBe('build_candidate');
      expect(coderTurns(play)).toBe(1);
      expect(play.actionsOf('turn').filter(({ role }) => role === 'critic')).toHaveLength(1);
    });

    test('verified by other commands than today’s: the gate runs again, and a red one asks the coder', () => {
      const play = awaiting().ask('cancel');
      play.configure({ gate: { commands: ['npm run check'] } });
      play.restart().checkpoint('c1');
      expect(play.run()).toMatchObject({ kind: 'gate' });
      expect(play.gate('fail').run()).toMatchObject({ role: 'coder', prompt: 'handover' });
    });

    test.each<[string, () => Play]>([
      ['changes were asked for', () => awaiting().critic(changes()).ask('cancel')],
      ['it was blocked', () => awaiting().critic(BLOCK)],
      ['the gate was red', () => running().worked('c1', 'fail').ask('cancel')],
      ['it was never published', () => running().turn().checkpoint('c1').ask('cancel')],
      ['nothing was done', () => running().ask('cancel')],
    ])('%s: the coder is asked', (_, start) => {
      expect(start().restart().run()).toMatchObject({ role: 'coder', turn: 1 });
    });

    test('more than was published is in its work tree: the coder is asked', () => {
      expect(awaiting().ask('cancel').restart().checkpoint('c2').run()).toMatchObject({
        role: 'coder',
        turn: 1,
      });
    });
  });
});
