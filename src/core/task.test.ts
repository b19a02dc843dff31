import { describe, expect, test } from 'vitest';
import {
  APPROVE,
  awaiting,
  changes,
  EXPAND,
  landing,
  merging,
  Play,
  queued,
  revising,
  running,
} from '../../test/support/play.ts';
import { event, type LoopEvent, type NewEvent } from './event.ts';
import { apply, fold } from './fold.ts';
import { isEnded, occupiesSlot, required } from './task.ts';

describe('the row is the fold of the events', () => {
  const plays: [string, () => Play][] = [
    ['merged', () => landing().landed()],
    ['revised', () => revising().worked('c2').critic(APPROVE)],
    [
      'conflicted',
      () =>
        merging()
          .answer({ kind: 'conflict', files: [], trunk: 'm' })
          .answer({ kind: 'merged_in', conflicts: [], landed: [] }),
    ],
    [
      'specified',
      () => {
        const play = new Play({ spec: { expand: 'propose' } });
        play.world.issue!.body = 'We need `revoke`.';
        return play.claim().specifier({ decision: 'perhaps' }).crash().specifier(EXPAND).ask('approve');
      },
    ],
    ['crashed', () => running().crash().checkpoint('c1').crash()],
    ['held and resumed', () => running().worked('c1', 'could_not_run').ask('resume').gate('pass')],
    ['restarted', () => awaiting().critic(changes()).ask('cancel').restart()],
    ['failed', () => running().turn('failed').checkpoint('c1').wait(10_000)],
  ];

  test.each(plays)('%s: from scratch it is what it grew to', (_what, played) => {
    const play = played();
    expect(play.fold()).toEqual(play.task);
  });

  test.each(plays)('%s: at every event on the way', (_what, played) => {
    const { events } = played();
    let grown = null as ReturnType<typeof apply> | null;
    events.forEach((one, index) => {
      grown = apply(grown, one);
      expect(fold('t1', events.slice(0, index + 1))).toEqual(grown);
    });
  });

  test('survives a trip through JSON, as the store makes it', () => {
    const play = landing().landed();
    expect(fold('t1', JSON.parse(JSON.stringify(play.events)))).toEqual(play.task);
    expect(JSON.parse(JSON.stringify(play.task))).toEqual(play.task);
  });

  test('events of a version that knew no criteria have none', () => {
    const old = JSON.parse(JSON.stringify(running().events).replaceAll(/,"criteria":\[.*?\]/g, ''));
    expect(JSON.stringify(old)).not.toContain('criteria');
    const folded = fold('t1', old);
    expect(folded.contract.criteria).toEqual([]);
  });

  test('other tasks and the loop’s own events say nothing about it', () => {
    const play = running();
    const other = landing()
      .landed()
      .events.map((one) => ({ ...one, task: 't2' }));
    const own = { ...event('loop_paused', { by: 'ann' }), seq: 1, at: 0, task: null };
    expect(fold('t1', [own, ...play.events, ...other])).toEqual(play.task);
  });

  test('nothing is changed in place', () => {
    const before = structuredClone(running().task);
    const play = running();
    const { task } = play;
    play.worked('c1');
    expect(task).toEqual(before);
  });

  test('no task without its creation', () => {
    expect(() => fold('t1', [])).toThrow('no task_created among the events of t1');
    expect(() => apply(null, stamped(event('work_updated', { mergedIn: 'x', conflicts: [] })))).toThrow(
      'work_updated before task_created',
    );
  });
});

describe('counts', () => {
  test('turns are counted when they start; an interrupted one is taken back', () => {
    const play = running();
    expect(play.task.turns).toBe(1);
    expect(play.crash().task.turns).toBe(0);
    expect(play.checkpoint('c1').task.turns).toBe(1);
  });

  test('a critic’s turn is not a turn of the coder', () => {
    expect(awaiting().task).toMatchObject({
      turns: 1,
      sessionIds: ['s1'],
      turn: { role: 'critic', turn: 1 },
    });
  });

  test('working time is carried over every turn of every role', () => {
    expect(revising().worked('c2').critic(APPROVE).task.workedMs).toBe(4000);
  });

  test('one entry per session, however often it is resumed', () => {
    expect(running().worked('c1', 'fail').worked('c2', 'fail').task.sessionIds).toEqual(['s1']);
  });
});

describe('feedback', () => {
  test('is delivered by the turn that carried it; what came meanwhile stays for the next', () => {
    const play = revising();
    expect(play.task.feedback).toHaveLength(1);
    play.commit([event('feedback_added', { feedback: { kind: 'review', text: 'and this' } })], []);
    play.turn();
    expect(play.task.feedback).toEqual([{ kind: 'review', text: 'and this' }]);
  });

  test('is not delivered by a turn that did not finish', () => {
    expect(revising().turn('failed').task.feedback).toHaveLength(1);
    expect(revising().crash().task.feedback).toHaveLength(1);
  });
});

describe('evidence', () => {
  test('a verdict is of one contract: a new text voids it', () => {
    const play = merging();
    const contract = { title: 't', body: 'b', hash: 'h2', criteria: [] };
    expect(apply(play.task, stamped(event('contract_updated', { contract }))).verdict).toBeNull();
  });

  test('leaving merging drops the candidate and its gate', () => {
    const play = merging().candidate();
    expect(play.task.landing).not.toBeNull();
    play.world.mergeBlocker = 'dirty';
    expect(play.gate('pass').task).toMatchObject({ landing: null });
  });

  test('a new candidate has not been through the gate', () => {
    const play = landing().answer({ kind: 'trunk_moved' }).candidate('k2');
    expect(play.task).toMatchObject({ landing: { candidate: { sha: 'k2' }, gate: null } });
  });

  test('the last head is known while a turn may be changing it', () => {
    expect(revising().task).toMatchObject({ head: null, headSha: 'c1' });
  });
});

test('a slot is held by dispatched, running and revising tasks that are not held', () => {
  expect(
    [queued(), running(), awaiting(), revising(), merging()].map(({ task }) => occupiesSlot(task)),
  ).toEqual([false, true, false, true, false]);
  expect(occupiesSlot(running().worked('c1', 'could_not_run').task)).toBe(false);
});

test('ended is merged, completed or abandoned', () => {
  expect([running(), landing().landed(), running().ask('cancel')].map(({ task }) => isEnded(task))).toEqual([
    false,
    true,
    true,
  ]);
});

function stamped(one: NewEvent): LoopEvent {
  return { ...one, seq: 1, at: 0, task: 't1' };
}

test('what a task must have by now is given, or said to be a bug', () => {
  const { task } = awaiting();
  expect(required(task, 'head').sha).toBe('c1');
  expect(() => required({ ...task, workspace: null }, 'workspace')).toThrow(
    'bug: task t1 is awaiting_critic and has no workspace',
  );
});
