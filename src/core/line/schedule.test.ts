import { describe, expect, test } from 'vitest';
import {
  APPROVE,
  awaiting,
  changes,
  merging,
  queued,
  revising,
  running,
} from '../../../test/support/play.ts';
import { type PolicyChange, testPolicy } from '../../../test/support/policy.ts';
import type { WorkItem } from '../claim.ts';
import { NO_FRONTIER } from '../direction/frontier.ts';
import { readiness } from '../issue/readiness.ts';
import { REASONS, type Reason } from '../machine.ts';
import type { AccountLimit } from '../money/account.ts';
import type { Task } from '../task.ts';
import { clashText } from './apart.ts';
import { NO_PACE } from './pace.ts';
import {
  backoffMs,
  givesWay,
  grants,
  hasLabel,
  isHeld,
  keptFrom,
  makesRoom,
  orderBy,
  type ScheduleInput,
  schedule,
} from './schedule.ts';

const HOUR = 3_600_000;

function issue(number: number, change: Partial<WorkItem> = {}): WorkItem {
  const { title, body } = { title: `Issue ${number}`, body: 'Returns `42`.', ...change };
  return {
    kind: 'issue',
    number,
    slug: `issue-${number}`,
    title,
    body,
    textHash: 'hash',
    state: 'open',
    labels: ['loop:ready'],
    priority: null,
    blockedBy: [],
    readyHash: 'hash',
    readyAt: null,
    createdAt: number,
    readiness: () => readiness(title, body),
    ...change,
  };
}

/** The schedule, with issues by their number. */
function plan(
  items: WorkItem[],
  more: Partial<Omit<ScheduleInput, 'policy'>> & { policy?: PolicyChange } = {},
) {
  const { policy, ...rest } = more;
  const planned = schedule({
    items,
    tasks: [],
    policy: testPolicy({ maxConcurrent: 99, ...policy }),
    now: 0,
    accountLimits: [],
    left: new Set(),
    forced: new Set(),
    pace: NO_PACE,
    ...rest,
  });
  return {
    claims: planned.claims.map(({ number }) => number),
    declines: planned.declines.map(({ item, ...asked }) => ({ issue: item.number, ...asked })),
    withdrawals: planned.withdrawals.map(({ number }) => number),
    alignment: planned.alignment,
    standings: new Map([...planned.standings].map(([{ number }, standing]) => [number, standing])),
  };
}

const claims = (...args: Parameters<typeof plan>) => plan(...args).claims;
const why = (one: WorkItem, more: Parameters<typeof plan>[1] = {}) =>
  plan([one], more).standings.get(one.number);

/** A task at issue #1 that ended. */
function gone(change: Partial<Task>): Task {
  return {
    ...running().task,
    issue: 1,
    state: 'abandoned',
    reason: 'max_turns_reached',
    endedAt: 0,
    contract: { title: '', body: '', hash: 'hash', criteria: [] },
    ...change,
  };
}

describe('eligibility', () => {
  test('required labels count whatever their case and spaces (dispatch 8)', () => {
    const policy = { requiredLabels: ['Team  A', 'backend'] };
    expect(claims([issue(1, { labels: ['LOOP:READY ', 'team a', ' Backend'] })], { policy })).toEqual([1]);
    expect(why(issue(1), { policy })).toEqual({ kind: 'not_ready', why: 'lacks the required label Team  A' });
  });

  const notTaken: [string, Partial<WorkItem>, string][] = [
    ['closed', { state: 'closed' }, 'closed'],
    ['not ready', { labels: [] }, 'not labelled loop:ready'],
    ['declined before', { labels: ['loop:needs-spec'] }, 'declined: answer the questions'],
    ['abandoned by label', { labels: ['loop:ready', 'loop:abandon'] }, 'labelled loop:abandon'],
    ['blocked by label', { labels: ['loop:ready', 'Loop:Blocked'] }, 'labelled loop:blocked'],
  ];
  test.each(notTaken)('%s: not taken, and the reason is said (dispatch 9, 11)', (_what, change, says) => {
    const one = issue(1, change);
    expect(claims([one])).toEqual([]);
    expect(why(one)).toMatchObject({ kind: 'not_ready', why: expect.stringContaining(says) });
  });

  test('edited since it was made ready: not taken, and its readiness is withdrawn (dispatch 11)', () => {
    const edited = plan([issue(1, { readyHash: 'other' }), issue(2)]);
    expect(edited.claims).toEqual([2]);
    expect(edited.withdrawals).toEqual([1]);
    expect(edited.standings.get(1)).toEqual({
      kind: 'edited',
      why: 'edited since it was made ready; mark it ready again',
    });
  });

  test('blocked by an issue that is open, and free once that one is closed (dispatch 9)', () => {
    const blocked = issue(2, { blockedBy: [1] });
    const other = issue(1, { labels: [] });
    expect(plan([other, blocked]).standings.get(2)).toEqual({
      kind: 'waiting',
      why: 'blocked by the open issue #1',
      until: null,
    });
    expect(claims([{ ...other, state: 'closed' }, blocked])).toEqual([2]);
    expect(claims([blocked])).toEqual([2]);
  });

  test('blocked from another repository, by what is open there or can not be seen', () => {
    const blocked = (elsewhere: { name: string; isSeen: boolean }[]) =>
      plan([issue(12), issue(2, { blockedElsewhere: elsewhere })]).standings.get(2);
    expect(blocked([{ name: 'acme/other#12', isSeen: true }])).toEqual({
      kind: 'waiting',
      why: 'blocked by the open issue acme/other#12',
      until: null,
    });
    expect(blocked([{ name: 'acme/other#12', isSeen: false }])).toMatchObject({
      kind: 'waiting',
      why: expect.stringMatching(/^blocked by acme\/other#12, which the loop can't see/),
    });
    expect(blocked([])).toMatchObject({ kind: 'eligible' });
  });

  test('waits until its history proves what was agreed to, and is not turned away before', () => {
    const unproved = { why: 'its history lags', until: 9000 };
    const plans = plan([issue(1, { unproved, readyHash: 'another', readyProblem: 'by eve' })]);
    expect(plans.standings.get(1)).toEqual({ kind: 'waiting', ...unproved });
    expect(plans.withdrawals).toEqual([]);
  });

  test('in hand while a task of it lives (dispatch 9)', () => {
    const { task } = running();
    expect(why(issue(7), { tasks: [task] })).toEqual({ kind: 'in_hand', task: 't1' });
  });

  test('an unknown moment of readiness is no obstacle', () => {
    expect(claims([issue(1, { readyHash: null })])).toEqual([1]);
  });

  test('an issue of taste is declined with questions and takes no slot (dispatch 12)', () => {
    const taste = issue(1, { title: 'Make it nicer', body: 'It should feel modern.' });
    const { claims, declines, standings } = plan([taste, issue(2)]);
    expect(claims).toEqual([2]);
    expect(declines).toMatchObject([
      {
        issue: 1,
        questions: [expect.stringContaining('Make it nicer'), expect.any(String), expect.any(String)],
      },
    ]);
    expect(standings.get(1)?.kind).toBe('declined');
  });

  test('every issue has a standing (dispatch 11)', () => {
    const issues = [
      issue(1),
      issue(2, { labels: [] }),
      issue(3, { blockedBy: [1] }),
      issue(4, { state: 'closed' }),
    ];
    expect([...plan(issues).standings.keys()]).toEqual([1, 2, 3, 4]);
  });
});

describe('after an attempt', () => {
  test('a failure with an unchanged body cools down for an hour, and says which attempt failed (dispatch 9)', () => {
    const tasks = [gone({ attempt: 2, endedAt: 1000 })];
    expect(why(issue(1), { tasks, now: 1000 })).toEqual({
      kind: 'waiting',
      why: 'cooling down: attempt 2 failed (max_turns_reached) and the issue is unchanged',
      until: 1000 + HOUR,
    });
    expect(claims([issue(1)], { tasks, now: 1000 + HOUR - 1 })).toEqual([]);
    expect(claims([issue(1)], { tasks, now: 1000 + HOUR })).toEqual([1]);
  });

  test('an edited body does not cool down', () => {
    expect(claims([issue(1, { textHash: 'new', readyHash: 'new' })], { tasks: [gone({})] })).toEqual([1]);
  });

  test('forced by a person it does not cool down', () => {
    expect(claims([issue(1)], { tasks: [gone({})], forced: new Set([1]) })).toEqual([1]);
  });

  test.each(Object.entries(REASONS))('%s cools down only if it is a failure', (reason, { outcome }) => {
    const tasks = [gone({ reason: reason as Reason })];
    expect(claims([issue(1)], { tasks })).toEqual(outcome === 'failure' ? [] : [1]);
  });

  test('a merged issue that was marked ready again is a new attempt', () => {
    expect(claims([issue(1)], { tasks: [gone({ state: 'merged', reason: null })] })).toEqual([1]);
  });

  test('the latest attempt counts, in whatever order they come', () => {
    const tasks = [gone({ attempt: 2, reason: 'cancelled' }), gone({ attempt: 1 })];
    expect(claims([issue(1)], { tasks })).toEqual([1]);
  });

  test('a label from before the last attempt ended is not a new wish', () => {
    const tasks = [gone({ reason: 'cancelled', endedAt: 500 })];
    expect(why(issue(1, { readyAt: 400 }), { tasks })).toMatchObject({ kind: 'not_ready' });
    expect(claims([issue(1, { readyAt: 501 })], { tasks })).toEqual([1]);
    expect(claims([issue(1, { readyAt: 400 })], { tasks, forced: new Set([1]) })).toEqual([1]);
  });
});

describe('order', () => {
  test('priority 1 to 4, then the others, then the oldest, then the number (dispatch 10)', () => {
    const issues = [
      issue(1, { createdAt: 9 }),
      issue(2, { priority: 4 }),
      issue(3, { priority: 1 }),
      issue(4, { priority: 0, createdAt: 5 }),
      issue(5, { priority: 7, createdAt: 5 }),
      issue(6, { priority: 2 }),
    ];
    expect(claims(issues)).toEqual([3, 6, 2, 4, 5, 1]);
  });

  describe('by direction', () => {
    const frontier = {
      ...NO_FRONTIER,
      nextExpansion: ['session recovery'],
      rejected: [{ approach: 'home-made cluster', why: null }],
    };
    const about = (number: number, title: string, rest: Partial<WorkItem> = {}) =>
      issue(number, { title, ...rest });
    const issues = [
      about(1, 'Start a cluster of our own, home-made'),
      about(2, 'Tidy the docs'),
      about(3, 'Recover sessions after a reboot'),
      about(4, 'Say more', { priority: 1 }),
    ];

    test('what comes next goes first and dead ends last, within a priority; none is dropped (dispatch 10)', () => {
      expect(claims(issues)).toEqual([4, 1, 2, 3]);
      expect(claims(issues, { frontier })).toEqual([4, 3, 2, 1]);
    });

    test('it says what it rests on', () => {
      const { alignment } = plan(issues, { frontier });
      expect(issues.map((one) => alignment(one).why)).toEqual([
        'matches "home-made cluster" in rejected_approaches',
        null,
        'matches "session recovery" in next_expansion',
        null,
      ]);
    });

    test('none is passed over by more than five others', () => {
      let taken: Task[] = [];
      let waiting = [about(1, 'Tidy the docs')];
      const starts: number[] = [];
      for (let hour = 1; hour <= 8; hour++) {
        const next = about(100 + hour, 'Session recovery', { createdAt: hour * HOUR });
        waiting = [...waiting, next];
        const [first] = claims(waiting, {
          tasks: taken,
          now: hour * HOUR,
          policy: { maxConcurrent: 1 },
          frontier,
        });
        starts.push(first!);
        waiting = waiting.filter(({ number }) => number !== first);
        const merged = { ...gone({ state: 'merged' }), createdAt: hour * HOUR };
        taken = [...taken, { ...merged, id: `t${hour}`, issue: first! }];
      }
      expect(starts).toEqual([101, 102, 103, 104, 105, 1, 106, 107]);
    });

    test('two that were passed over go in the order they came', () => {
      const taken = [5, 6, 7, 8, 9].map((number) => ({
        ...gone({ state: 'merged' }),
        id: `t${number}`,
        issue: number,
        createdAt: number * HOUR,
      }));
      const waiting = [about(2, 'Tidy more', { createdAt: 2 }), about(1, 'Tidy the docs', { createdAt: 1 })];
      expect(
        claims([...waiting, about(10, 'Session recovery')], { tasks: taken, now: 10 * HOUR, frontier }),
      ).toEqual([1, 2, 10]);
    });
  });

  test('however many urgent ones keep coming, every tenth claim is whoever has waited longest', () => {
    let taken: Task[] = [];
    let waiting = [issue(1, { priority: 4 }), issue(2, { priority: 4, readyAt: 5 }), issue(3)];
    const starts: number[] = [];
    for (let hour = 1; hour <= 30; hour++) {
      const urgent = issue(100 + hour, { priority: 1, createdAt: hour * HOUR });
      waiting = [...waiting, urgent];
      const [next] = claims(waiting, { tasks: taken, now: hour * HOUR, policy: { maxConcurrent: 1 } });
      starts.push(next!);
      waiting = waiting.filter(({ number }) => number !== next);
      taken = [...taken, { ...gone({ state: 'merged' }), id: `t${hour}`, issue: next! }];
    }
    expect(starts.flatMap((number, at) => (number < 100 ? [[at + 1, number]] : []))).toEqual([
      [10, 1],
      [20, 3],
      [30, 2],
    ]);
  });

  test('ten times as many issues take no more than about ten times as many looks at them', () => {
    const looksAt = (count: number): number => {
      let looks = 0;
      const items = Array.from({ length: count }, (_, index) => ({
        ...issue(index + 1),
        get readyAt() {
          looks += 1;
          return index;
        },
      }));
      expect(claims(items, { policy: { maxConcurrent: count } })).toHaveLength(count);
      return looks;
    };
    expect(looksAt(2000) / looksAt(200)).toBeLessThan(15);
  });

  test('no more are claimed than there are slots', () => {
    expect(claims([issue(1), issue(2), issue(3)], { policy: { maxConcurrent: 2 } })).toEqual([1, 2]);
  });
});

describe('slots', () => {
  const named = (task: Task, id: string, createdAt = 0): Task => ({ ...task, id, createdAt });
  const wantsRevision = (id: string, createdAt = 0): Task => {
    const play = awaiting();
    play.world.slotsFull = true;
    return named(play.critic(changes()).task, id, createdAt);
  };
  const slots = (live: Task[], eligible: number, change: PolicyChange, now = 0) =>
    grants(live, eligible, testPolicy(change), now, []).slots;

  test('dispatched, running and revising use one; waiting and held tasks do not', () => {
    const held = running().turn('failed').checkpoint('c1').task;
    const live = [running().task, revising().task, held, awaiting().task, merging().task].map((task, n) =>
      named(task, `t${n}`),
    );
    expect(grants(live, 0, testPolicy({ maxConcurrent: 4 }), 0, []).free).toBe(2);
  });

  test('revisions go before new dispatches (their cache is warm)', () => {
    const live = [named(queued().task, 'new', 0), wantsRevision('warm', 5)];
    expect(slots(live, 0, { maxConcurrent: 1 })).toEqual(['warm']);
  });

  test('while new work exists and there are two or more slots, one is kept for it', () => {
    const live = [
      wantsRevision('r1', 1),
      wantsRevision('r2', 2),
      wantsRevision('r3', 3),
      named(queued().task, 'new', 9),
    ];
    expect(slots(live, 0, { maxConcurrent: 3 })).toEqual(['r1', 'r2', 'new']);
    expect(slots(live.slice(0, 3), 0, { maxConcurrent: 3 })).toEqual(['r1', 'r2', 'r3']);
    expect(grants(live.slice(0, 3), 1, testPolicy({ maxConcurrent: 3 }), 0, [])).toMatchObject({
      slots: ['r1', 'r2'],
      free: 1,
    });
  });

  test('the kept slot is not kept again while new work already has one', () => {
    const live = [named(running().task, 'busy'), wantsRevision('r1'), named(queued().task, 'new')];
    expect(slots(live, 0, { maxConcurrent: 2 })).toEqual(['r1']);
  });

  test('a hold that ran out in the middle of work asks for its slot again, a hold that did not does not', () => {
    const held = named(running().turn('failed').checkpoint('c1').task, 'held');
    expect(slots([held], 0, {}, 9_999)).toEqual([]);
    expect(slots([held], 0, {}, 10_000)).toEqual(['held']);
  });

  test('per-state limits hold within the whole', () => {
    const live = [
      named(revising().task, 'r0'),
      wantsRevision('r1'),
      named(queued().task, 'q1', 1),
      named(queued().task, 'q2', 2),
    ];
    expect(slots(live, 0, { maxConcurrent: 9, perState: { revising: 1, running: 1 } })).toEqual(['q1']);
    expect(grants([], 5, testPolicy({ maxConcurrent: 9, perState: { running: 2 } }), 0, []).free).toBe(2);
  });

  describe('plans and issues', () => {
    const task = (kind: 'plan' | 'issue', task: Task, id: string): Task => ({
      ...named(task, id, Number(id.slice(1))),
      issue: kind === 'plan' ? null : Number(id.slice(1)),
    });
    /** `i1 p2* p3`: an issue and two plans, one of which is at work. */
    const tasks = (said: string): Task[] =>
      said
        .split(' ')
        .filter(Boolean)
        .map((word) =>
          task(
            word.startsWith('p') ? 'plan' : 'issue',
            word.endsWith('*') ? running().task : queued().task,
            word.replace('*', ''),
          ),
        );

    test.each<[string, number, number, string, string, number]>([
      ['plans came first: one slot is kept for the issue', 2, 0, 'p1 p2 i3', 'p1 i3', 0],
      ['issues came first: one slot is kept for the plan', 3, 0, 'i1 i2 i3 p4', 'i1 i2 p4', 0],
      ['the issue is not claimed yet', 2, 1, 'p1 p2', 'p1', 1],
      ['so many issues are not claimed that the plan would wait', 3, 9, 'p1', 'p1', 2],
      ['plans have all but one', 2, 0, 'p1* p2 i3', 'i3', 0],
      ['issues have all but one', 2, 5, 'i1* p2', 'p2', 0],
      ['both have one: the older goes first', 3, 0, 'p1* i2* p3 i4', 'p3', 0],
      ['nobody else waits: all slots are theirs', 3, 0, 'p1 p2 p3', 'p1 p2 p3', 0],
      ['nobody else waits any more: the other works already', 2, 0, 'i1* p2 p3', 'p2', 0],
      ['one slot alone goes to who is next', 1, 3, 'p1 i2', 'p1', 0],
    ])('%s', (_, maxConcurrent, eligible, live, granted, free) => {
      const given = grants(tasks(live), eligible, testPolicy({ maxConcurrent }), 0, []);
      expect([given.slots.join(' '), given.free]).toEqual([granted, free]);
    });

    test('whoever waits for a slot that is kept is told for whom', () => {
      const live = tasks('p1* p2 i3');
      const policy = testPolicy({ maxConcurrent: 2 });
      expect(live.slice(1).map((one) => keptFrom(one, live, policy, 0))).toEqual(['issues', null]);
      expect(keptFrom(live[1]!, tasks('p1* i2* p3'), policy, 0), 'none is free').toBeNull();
    });
  });

  test('a lowered limit takes nothing away and grants nothing', () => {
    const live = [named(running().task, 'a'), named(running().task, 'b'), named(queued().task, 'c')];
    expect(grants(live, 3, testPolicy({ maxConcurrent: 1 }), 0, [])).toMatchObject({ slots: [], free: 0 });
  });

  test('the oldest first', () => {
    const live = [
      named(queued().task, 'young', 5),
      named(queued().task, 'b', 1),
      named(queued().task, 'a', 1),
    ];
    expect(slots(live, 0, { maxConcurrent: 2 })).toEqual(['a', 'b']);
  });
});

describe('critics', () => {
  const verified = (id: string): Task => {
    const play = awaiting({ critic: { enabled: false } });
    return { ...play.task, id, hold: null };
  };
  const critics = (live: Task[], parallel: number) =>
    grants(live, 0, testPolicy({ critic: { parallel } }), 0, []).critics;

  test('at most critic.parallel at once, those at work counted', () => {
    const atWork = { ...awaiting().task, id: 'c0' };
    expect(critics([atWork, verified('c1'), verified('c2')], 2)).toEqual(['c1']);
  });

  test('a task that waits for its merge, or whose head is not verified, keeps none from others', () => {
    const play = awaiting();
    play.world.mergeFree = false;
    const approved = { ...play.critic(APPROVE).task, id: 'a' };
    const unverified = { ...verified('b'), gate: null };
    expect(critics([approved, unverified, verified('c')], 1)).toEqual(['c']);
  });
});

describe('a task whose runner died again and again runs alone', () => {
  /** Interrupted so often in a row, and its wait is over. */
  const lone = (id: string, times = 3, createdAt = 0): Task => {
    const play = running();
    for (let n = 1; n <= times; n += 1) {
      play.crash().checkpoint('c1');
      if (n < times && play.task.hold?.until) play.wait(play.task.hold.until - play.now);
    }
    return { ...play.task, id, createdAt };
  };
  const granted = (live: Task[], eligible = 0, now = HOUR, limits: AccountLimit[] = []) =>
    grants(live, eligible, testPolicy({ maxConcurrent: 5, critic: { parallel: 5 } }), now, limits);
  const named = (task: Task, id: string): Task => ({ ...task, id });
  const atWork = (id: string): Task => ({ ...lone(id), hold: null });
  const toJudge = { ...awaiting({ critic: { enabled: false } }).task, id: 'judge', hold: null };

  test('when nothing else is at work', () => {
    expect(granted([lone('a')])).toEqual({ slots: ['a'], critics: [], free: 0 });
    expect(granted([lone('a'), named(running().task, 'busy')]).slots).toEqual([]);
    expect(granted([lone('a'), named(awaiting().task, 'judging')]).slots).toEqual([]);
  });

  test('after what is in hand and could start, and before anything new is taken up', () => {
    const live = [lone('a'), named(queued().task, 'queued'), toJudge];
    expect(granted(live, 3)).toEqual({ slots: ['queued'], critics: ['judge'], free: 0 });
  });

  test('while it is at work nobody else begins', () => {
    const live = [atWork('a'), named(queued().task, 'queued'), toJudge];
    expect(granted(live, 3)).toEqual({ slots: [], critics: [], free: 0 });
  });

  test('two of them, one after the other: who was interrupted less goes first', () => {
    expect(granted([lone('a', 5), lone('b', 4, 9), lone('c', 4, 1)]).slots).toEqual(['c']);
  });

  test('while it waits, others go on', () => {
    expect(granted([lone('a'), named(queued().task, 'queued')], 1, 0)).toMatchObject({
      slots: ['queued'],
      free: 4,
    });
  });

  test('a critic too', () => {
    const { roles, ...rest } = toJudge;
    const judge = { ...rest, roles: { ...roles, critic: { ...roles.critic, interrupted: 3 } } };
    expect(granted([judge]).critics).toEqual(['judge']);
    expect(granted([judge, named(running().task, 'busy')]).critics).toEqual([]);
    const turn = { turn: 1, role: 'critic' as const, sessionId: 's', startedAt: 0, carries: 0 };
    expect(granted([{ ...judge, turn }, named(queued().task, 'queued')]).slots).toEqual([]);
  });

  test('and waits for no critic whose account is not asked now', () => {
    const out = [{ account: 'scripted', why: '503', until: 2 * HOUR }];
    const { roles, ...rest } = toJudge;
    const lonely = { ...rest, roles: { ...roles, critic: { ...roles.critic, interrupted: 3 } } };
    for (const judge of [toJudge, lonely]) {
      expect(granted([lone('a', 4), judge], 0, HOUR, out).slots).toEqual(['a']);
      expect(granted([lone('a', 4), judge], 0, 2 * HOUR, out).slots).toEqual([]);
    }
    expect(granted([lonely], 3, HOUR, out).free).toBe(5);
  });
});

describe('backoff', () => {
  const LONGEST = 300_000;

  test('min(10 s · 2^(n-1), 5 min), spread by up to a quarter (dispatch 41)', () => {
    expect([1, 2, 3, 4, 5, 6, 7, 60].map((n) => backoffMs(n, 0, LONGEST))).toEqual([
      10_000, 20_000, 40_000, 80_000, 160_000, 300_000, 300_000, 300_000,
    ]);
    expect(backoffMs(1, 0.5, LONGEST)).toBe(11_250);
    expect(backoffMs(0, 0, LONGEST)).toBe(10_000);
  });

  test('symphony 3: is never longer than agent.max_retry_backoff_ms', () => {
    expect(backoffMs(9, 0.999, LONGEST)).toBe(LONGEST);
    expect([1, 2, 3].map((n) => backoffMs(n, 0.5, 20_000))).toEqual([11_250, 20_000, 20_000]);
    expect(backoffMs(1, 0, 500)).toBe(500);
  });
});

test('a hold counts until its time has come', () => {
  const { task } = running();
  const hold = (until: number | null) => ({
    ...task,
    hold: { reason: 'retry_backoff', detail: '', until } as const,
  });
  expect([isHeld(task, 5), isHeld(hold(6), 5), isHeld(hold(5), 5), isHeld(hold(null), 5)]).toEqual([
    false,
    true,
    false,
    true,
  ]);
});

test('labels are compared without case and outer or doubled spaces', () => {
  expect(hasLabel([' Loop:Ready', 'team  a'], 'loop:ready')).toBe(true);
  expect(hasLabel(['team  a'], 'Team A')).toBe(true);
  expect(hasLabel(['loop:ready-ish'], 'loop:ready')).toBe(false);
});

describe('what one task’s change means for others', () => {
  const { task } = running();
  const held: Task = { ...task, hold: { reason: 'operator_pause', detail: '', until: null } };
  const judged: Task = { ...awaiting().task, turn: null };
  const judging: Task = {
    ...judged,
    turn: { turn: 1, role: 'critic', sessionId: 's', startedAt: 0, carries: 0 },
  };
  const interrupted = { ...task.roles.coder, interrupted: 3 };
  const alone: Task = { ...task, roles: { ...task.roles, coder: interrupted } };
  const ended: Task = { ...judged, state: 'abandoned', reason: 'operator_abandon' };

  test.each([
    ['it only went on', task, { ...task, turns: task.turns + 1 }, false, false],
    ['it was put on hold', task, held, true, true],
    ['its hold ended', held, task, false, false],
    ['it got a slot', queued().task, task, true, false],
    ['it waits for its critic now', task, judged, true, true],
    ['its critic began', judged, judging, false, false],
    ['its critic has answered', judging, judged, true, false],
    ['it goes to its merge', judged, merging().task, true, false],
    ['it ended, though it had no slot', judged, ended, true, true],
    ['it need not run alone any more', alone, task, true, true],
  ])('%s', (_, before, after, way, room) => {
    expect({ way: givesWay(before, after), room: makesRoom(before, after) }).toEqual({ way, room });
  });
});

describe('what waits to land', () => {
  const waiting = (id: string): Task => ({ ...awaiting().critic(APPROVE).task, id, issue: null });

  test('keeps new work back when it is more than can land, and gives its slots to revisions', () => {
    const tasks = [waiting('a'), waiting('b')];
    const full = { tasks, policy: { maxWaiting: 2 } };
    expect(claims([issue(1), issue(2)], full)).toEqual([]);
    expect(claims([issue(1), issue(2)], { tasks, policy: { maxWaiting: 3 } })).toEqual([1, 2]);
  });

  test('held tasks keep nobody back: a person may be away for days', () => {
    const hold = { reason: 'needs_merge' as const, detail: '', until: null };
    const tasks = [waiting('a'), { ...waiting('b'), hold }];
    expect(claims([issue(1)], { tasks, policy: { maxWaiting: 2 } })).toEqual([1]);
  });
});

describe('the order of tasks', () => {
  const task = (id: string, number: number, createdAt: number): Task => ({
    ...running().task,
    id,
    issue: number,
    createdAt,
  });
  const order = (items: WorkItem[], tasks: Task[], now = 10, ended: Task[] = []): string[] =>
    tasks.sort(orderBy(items, [...tasks, ...ended], now)).map(({ id }) => id);

  test('is by priority, then by how many others wait for them, then by age', () => {
    const items = [
      { ...issue(1), priority: null },
      { ...issue(2), priority: 1 },
      { ...issue(3), priority: null },
      { ...issue(4), priority: null, blockedBy: [3] },
      { ...issue(5), priority: null, blockedBy: [3, 1] },
    ];
    const tasks = [task('a', 1, 1), task('b', 2, 9), task('c', 3, 5), task('d', 4, 0), task('e', 99, 2)];
    expect(order(items, tasks)).toEqual(['b', 'c', 'a', 'd', 'e']);
  });

  test('one that was taken up half a day ago goes before more urgent ones', () => {
    const items = [issue(1), issue(2, { priority: 1 })];
    const tasks = [task('old', 1, 0), task('urgent', 2, 11 * HOUR)];
    expect(order(items, tasks, 11 * HOUR)).toEqual(['urgent', 'old']);
    expect(order(items, tasks, 12 * HOUR)).toEqual(['old', 'urgent']);
  });

  test('one that twenty have overtaken, who were claimed after it, goes before more urgent ones', () => {
    const items = [issue(1), issue(2, { priority: 1 })];
    const tasks = (): Task[] => [task('old', 1, 5), task('urgent', 2, 99)];
    const ended = (count: number, createdAt: number): Task[] =>
      Array.from({ length: count }, (_, at) => gone({ id: `e${at}`, issue: 100 + at, createdAt }));
    expect(order(items, tasks(), 100, ended(19, 6))).toEqual(['urgent', 'old']);
    expect(order(items, tasks(), 100, ended(20, 6))).toEqual(['old', 'urgent']);
    expect(order(items, tasks(), 100, ended(50, 4))).toEqual(['urgent', 'old']);
  });

  test('an issue that others wait for is claimed before ten that block nothing', () => {
    const many = Array.from({ length: 10 }, (_, index) => issue(index + 1));
    const items = [...many, issue(11), { ...issue(12), blockedBy: [11] }];
    expect(claims(items, { policy: { maxConcurrent: 1 } })).toEqual([11]);
  });
});

describe('a run that takes up only some', () => {
  const three = [issue(1), issue(2), issue(3)];

  test('only these issues: others stay ready, and are neither declined nor withdrawn', () => {
    const vague = issue(4, { readiness: () => readiness('Make it nicer', '') });
    const edited = issue(5, { readyHash: 'another' });
    const quota = { only: new Set([2]), left: Number.POSITIVE_INFINITY };
    const planned = plan([...three, vague, edited], { quota });
    expect(planned).toMatchObject({ claims: [2], declines: [], withdrawals: [] });
    expect(planned.standings.get(1)).toMatchObject({
      kind: 'not_ready',
      why: expect.stringContaining('--issue'),
    });
    expect(planned.standings.get(2)).toEqual({ kind: 'eligible' });
  });

  test('at most so many, the most urgent first', () => {
    const planned = plan(three, { quota: { only: null, left: 2 } });
    expect(planned.claims).toEqual([1, 2]);
    expect(planned.standings.get(3)).toMatchObject({
      kind: 'not_ready',
      why: expect.stringContaining('--max-issues'),
    });
    expect(claims(three, { quota: { only: null, left: 0 } })).toEqual([]);
  });
});

describe('work that will likely conflict is kept apart', () => {
  const names = (number: number, file: string, change: Partial<WorkItem> = {}) =>
    issue(number, { body: `Changes \`${file}\`.`, ...change });
  const policy = { maxConcurrent: 2 };
  const at = (file: string): Task => {
    const { task } = running();
    return { ...task, issue: 9, contract: { ...task.contract, body: `Changes \`${file}\`.` } };
  };

  const wholePlan = (items: WorkItem[], tasks: Task[]) =>
    schedule({
      items,
      tasks,
      policy: testPolicy(policy),
      now: 0,
      accountLimits: [],
      left: new Set(),
      forced: new Set(),
      pace: NO_PACE,
    });

  test('two that name the same file are not started together while there is other work', () => {
    expect(claims([names(1, 'a.ts'), names(2, 'a.ts'), names(3, 'b.ts')], { policy })).toEqual([1, 3]);
  });

  test('nor is one beside a task that names it', () => {
    expect(claims([names(1, 'a.ts'), names(2, 'b.ts')], { policy, tasks: [at('a.ts')] })).toEqual([2]);
  });

  test('but what is more urgent, or blocks others, does not wait behind what is not', () => {
    const others = [names(2, 'b.ts'), names(3, 'c.ts')];
    const tasks = [at('a.ts')];
    expect(claims([names(1, 'a.ts', { priority: 1 }), ...others], { policy, tasks })).toEqual([1]);
    const blocked = issue(4, { blockedBy: [1] });
    expect(claims([names(1, 'a.ts'), blocked, ...others], { policy, tasks })).toEqual([1]);
    expect(claims([names(1, 'a.ts'), names(2, 'b.ts', { priority: 4 })], { policy, tasks })).toEqual([2]);
  });

  test('what is less urgent is kept apart from what goes first all the same', () => {
    const items = [names(1, 'a.ts', { priority: 1 }), names(2, 'a.ts'), names(3, 'b.ts')];
    expect(claims(items, { policy: { maxConcurrent: 3 }, tasks: [at('a.ts')] })).toEqual([1, 3]);
    const both = [
      issue(1, { priority: 1, body: 'Changes `a.ts`, `b.ts`.' }),
      names(2, 'b.ts'),
      names(3, 'c.ts'),
    ];
    expect(claims(both, { policy: { maxConcurrent: 3 }, tasks: [at('a.ts')] })).toEqual([1, 3]);
  });

  test('a task that is held is in nobody’s way: a person may be away for days', () => {
    const held = (until: number | null): Task => ({
      ...at('a.ts'),
      hold: { reason: 'operator_pause', detail: '', until },
    });
    const items = [names(1, 'a.ts'), names(2, 'b.ts')];
    expect(claims(items, { policy: { maxConcurrent: 1 }, tasks: [held(null)] })).toEqual([1]);
    expect(claims(items, { policy, tasks: [held(0)], now: 1 })).toEqual([2]);
  });

  test('they are when nothing else is left, and none is dropped', () => {
    expect(claims([names(1, 'a.ts'), names(2, 'a.ts')], { policy })).toEqual([1, 2]);
    expect(claims([names(1, 'a.ts')], { policy, tasks: [at('a.ts')] })).toEqual([1]);
  });

  test("a task that has ended is in nobody's way", () => {
    const ended = gone({ issue: 9, contract: at('a.ts').contract });
    expect(
      claims([names(1, 'a.ts'), names(2, 'b.ts')], { policy: { maxConcurrent: 1 }, tasks: [ended] }),
    ).toEqual([1]);
  });

  test('whoever waited longest has its turn all the same', () => {
    const others = Array.from({ length: 20 }, (_, index) => names(index + 2, `b${index}.ts`));
    const claimed = (count: number) => [
      ...Array.from({ length: count - 1 }, (_, index) => gone({ id: `t${index}`, issue: 100 + index })),
      at('a.ts'),
    ];
    const all = [names(1, 'a.ts'), ...others];
    expect(claims(all, { policy, tasks: claimed(8) })).toEqual([2]);
    expect(claims(all, { policy, tasks: claimed(9) })).toEqual([1]);
  });

  const changed = (task: Task, ...files: string[]): Task => ({
    ...task,
    inspected: { headSha: 'h', grave: [], files },
  });

  test('nor beside one that has changed it, whatever its text says', () => {
    const tasks = [{ ...changed(awaiting().task, 'src/core/a.ts'), issue: 9 }];
    for (const name of ['src/core/a.ts', 'core/a.ts', 'a.ts'])
      expect(claims([names(1, name), names(2, 'b.ts')], { policy: { maxConcurrent: 1 }, tasks })).toEqual([
        2,
      ]);
    expect(
      claims([names(1, 'rc/core/a.ts'), names(2, 'b.ts')], { policy: { maxConcurrent: 1 }, tasks }),
    ).toEqual([1]);
  });

  test('what the last attempt changed the next one will, too', () => {
    const before = changed(gone({ issue: 1, contract: at('z.ts').contract }), 'src/a.ts');
    const tasks = [before, { ...changed(awaiting().task, 'src/a.ts'), issue: 9 }];
    const again = issue(1, { readyAt: 99 });
    const more = { policy: { maxConcurrent: 1 }, tasks, now: HOUR * 99 };
    expect(claims([again, names(2, 'b.ts')], more)).toEqual([2]);
    expect(claims([again, names(2, 'b.ts')], { ...more, tasks: [before] })).toEqual([1]);
  });

  describe('while work waits to land', () => {
    const landing = { ...changed(awaiting().task, 'x.ts'), id: 'lands', issue: 8 };
    const [a, b, c] = ['a.ts', 'a.ts', 'a.ts'].map((file, at) => names(at + 1, file));

    test('one is started beside what it clashes with, and no second one until that is at work no more', () => {
      expect(claims([a!, b!, c!], { tasks: [landing] })).toEqual([1, 2]);
      const first = at('a.ts');
      const second = { ...at('a.ts'), id: 'second', issue: 10 };
      const tasks = [landing, first, second];
      expect(claims([a!, names(4, 'b.ts', { priority: 4 })], { tasks })).toEqual([4]);
      expect(claims([a!], { tasks: [first, second] }), 'nothing waits to land').toEqual([1]);
      const published = { ...second, state: 'awaiting_critic' as const };
      expect(claims([a!], { tasks: [landing, first, published] })).toEqual([1]);
      const held = { ...second, hold: { reason: 'operator_pause' as const, detail: '', until: null } };
      expect(claims([a!], { tasks: [landing, first, held] })).toEqual([1]);
    });

    test('and it is known why', () => {
      const tasks = [landing, at('a.ts'), { ...at('a.ts'), id: 'second', issue: 10 }];
      const planned = wholePlan([a!, names(2, 'x.ts')], tasks);
      expect(planned.eligible).toHaveLength(2);
      expect(planned.startable).toEqual([]);
      expect([...planned.clashes.values()].map(clashText)).toEqual([
        'while work waits to land, only one at a time is started beside others that it may conflict with, as #9, which also names a.ts',
        'while work waits to land, only one at a time is started beside others that it may conflict with, as #8, which has changed x.ts',
      ]);
    });

    test('whoever waited longest has its turn all the same', () => {
      const working = [landing, at('a.ts'), { ...at('a.ts'), id: 'second', issue: 10 }];
      const ended = (count: number) =>
        Array.from({ length: count }, (_, index) => gone({ id: `t${index}`, issue: 100 + index }));
      expect(claims([a!, b!], { tasks: [...ended(5), ...working] })).toEqual([]);
      expect(claims([a!, b!], { tasks: [...ended(6), ...working] })).toEqual([1]);
    });
  });

  test('and it is known which file, and whose', () => {
    const planned = wholePlan([names(1, 'a.ts')], [at('a.ts')]);
    expect([...planned.clashes.values()]).toEqual([{ file: 'a.ts', issue: 9 }]);
  });
});
