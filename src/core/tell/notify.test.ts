import { describe, expect, test } from 'vitest';
import { event, type Hold, type LoopEvent, type NewEvent } from '../event.ts';
import type { LoopWait } from '../loop/loop-waits.ts';
import type { Reason, State } from '../machine.ts';
import type { PlanProgress } from '../plan/progress.ts';
import type { Task } from '../task.ts';
import {
  type ChannelPolicy,
  compose,
  gather,
  isQuiet,
  type NotifyState,
  notifyFrom,
  resendMs,
} from './notify.ts';

const NOW = Date.UTC(2026, 0, 2, 12);
const MINUTE = 60_000;
const channel = (part: Partial<ChannelPolicy> = {}): ChannelPolicy => ({
  name: 'all',
  kind: 'command',
  events: ['needs_you', 'merged', 'completed', 'abandoned', 'budget', 'loop_held', 'idle'],
  digestMs: 5 * MINUTE,
  quiet: null,
  url: null,
  secret: null,
  token: null,
  command: null,
  passEnv: [],
  ...part,
});

const task = {
  id: 'a',
  issue: 7,
  branch: 'loop/7-x',
  contract: { title: 'Write it' },
  reason: null,
  mergedSha: null,
  gate: null,
} as unknown as Task;
const planned = { ...task, issue: null, plan: { name: 'auth', startedBy: 'ann' } as PlanProgress };

const to = (state: State, reason: Reason | null = null): NewEvent =>
  event('worker_state_transition', {
    from: 'running',
    to: state,
    reason,
    why: 'so it is',
    sessionId: null,
    turn: 1,
    headSha: null,
  });
const held = (reason: Hold['reason'], until: number | null = null, detail = 'why'): NewEvent =>
  event('hold_set', { reason, detail, until });

/** Numbered from 1, of the task unless they are the loop's own. */
const happened = (events: readonly NewEvent[], of: string | null = 'a'): LoopEvent[] =>
  events.map((one, index) => ({ ...one, seq: index + 1, at: NOW, task: of }) as LoopEvent);

function told(events: readonly LoopEvent[], of: Task = task, state: NotifyState = notifyFrom(0)) {
  const after = gather(state, { events, waits: null, taskOf: () => of }, [channel()], NOW);
  return { state: after, notices: after.channels.all!.waiting };
}

describe('what is worth telling of a task', () => {
  test.each([
    ['merged', to('merged'), task, ['merged'], 'Merged: #7 Write it'],
    [
      'a plan by pull request',
      to('merged'),
      planned,
      ['completed', 'merged'],
      'Completed and merged: auth Write it',
    ],
    ['a plan', to('completed'), planned, ['completed'], 'Completed: auth Write it'],
    [
      'a failure',
      to('abandoned', 'max_turns_reached'),
      task,
      ['abandoned', 'needs_you'],
      'Gave up: #7 Write it',
    ],
    ['cancelled', to('abandoned', 'cancelled'), task, ['abandoned'], 'Gave up: #7 Write it'],
    [
      'paid out',
      to('abandoned', 'budget_exhausted'),
      task,
      ['abandoned', 'needs_you', 'budget'],
      'Gave up: #7 Write it',
    ],
    ['a hold for a person', held('needs_approval'), task, ['needs_you'], 'Needs you: #7 Write it'],
  ] as const)('%s', (_name, one, of, kinds, title) => {
    const [notice] = told(happened([one]), of as Task).notices;
    expect(notice).toMatchObject({ id: '1', kinds, title });
  });

  test('who started a plan is told with its completion', () => {
    expect(told(happened([to('completed')]), planned).notices[0]?.text).toMatch(/^Started by ann\. /);
  });

  test.each([
    ['a hold that ends by itself', held('retry_backoff', NOW + MINUTE)],
    ['a pause, which was a person’s word', held('operator_pause')],
    ['the merge queue of the forge', held('merge_queued')],
    ['an account, which the whole loop is told of', held('provider_limit')],
    ['work that goes on', to('awaiting_critic')],
  ])('not %s', (_name, one) => {
    expect(told(happened([one])).notices).toEqual([]);
  });

  test('the same question once, until it was settled', () => {
    const once = told(happened([held('needs_approval'), held('needs_approval')]));
    expect(once.notices.map(({ id }) => id)).toEqual(['1']);
    const again = [event('hold_cleared', { reason: 'needs_approval', by: 'ann' }), held('needs_approval')];
    expect(told(happened(again), task, once.state).notices).toHaveLength(2);
  });

  test('text of strangers has no control characters, and is short', () => {
    const evil = { ...task, contract: { title: `a\u202Eb\u0007\n${'x'.repeat(500)}` } } as Task;
    const { title } = told(happened([to('merged')]), evil).notices[0]!;
    expect(title).toMatch(/^Merged: #7 ab x+…$/);
    expect(title.length).toBeLessThanOrEqual(120);
  });
});

describe('what is worth telling of the loop', () => {
  test.each([
    [event('issue_declined', { issue: 3, textHash: 'h', questions: ['What?'] }), ['needs_you']],
    [event('readiness_withdrawn', { issue: 3, textHash: 'h' }), ['needs_you']],
    [event('loop_idle', { waiting: 2 }), ['idle']],
  ])('%o', (one, kinds) => {
    expect(told(happened([one], null)).notices).toMatchObject([{ kinds }]);
  });

  const wait = (part: Partial<LoopWait>): LoopWait => ({
    reason: 'deploy_failed',
    stops: 'runs',
    endsBy: 'fact',
    resumes: true,
    detail: 'exit 7',
    text: 'exit 7 — fix it',
    until: null,
    account: null,
    ...part,
  });
  const look = (waits: LoopWait[], state: NotifyState = notifyFrom(0)) =>
    gather(state, { events: [], waits, taskOf: () => undefined }, [channel()], NOW);

  test('a hold is told once while it lasts, and again when it has been over', () => {
    const first = look([wait({})]);
    expect(first.channels.all?.waiting).toMatchObject([
      { kinds: ['loop_held', 'needs_you'], text: 'exit 7 — fix it' },
    ]);
    const second = look([wait({ text: 'other words' })], first);
    expect(second.channels.all?.waiting).toHaveLength(1);
    expect(look([wait({})], look([], second)).channels.all?.waiting).toHaveLength(2);
  });

  test('a spent budget is told; a pause and what ends by itself are not', () => {
    const waits = [
      wait({ reason: 'day_budget', endsBy: 'time', until: 5 }),
      wait({ reason: 'operator_pause', endsBy: 'person' }),
      wait({ reason: 'outage', endsBy: 'time' }),
    ];
    expect(look(waits).channels.all?.waiting).toMatchObject([{ kinds: ['budget'] }]);
  });
});

describe('when it is sent', () => {
  const channels = [channel()];
  const ids = () => 'id';
  const at = (
    state: NotifyState,
    now: number,
    part: Partial<Parameters<typeof compose>[2]> = {},
    to = channels,
  ) => compose(state, to, { now, project: 'p', busy: new Set(), isLast: false, newId: ids, ...part });
  const add = (state: NotifyState, seq: number): NotifyState =>
    gather(
      state,
      { events: [{ ...happened([to('merged')])[0]!, seq } as LoopEvent], waits: null, taskOf: () => task },
      channels,
      NOW,
    );

  test('the first at once, what follows soon after together', () => {
    const first = at(add(notifyFrom(0), 1), NOW);
    expect(first.messages).toMatchObject([
      { channel: 'all', message: { id: 'id', notices: [{ id: '1' }], more: 0 } },
    ]);
    const more = add(add(first.state, 2), 3);
    expect(at(more, NOW + 4 * MINUTE).messages).toEqual([]);
    const [digest] = at(more, NOW + 5 * MINUTE).messages;
    expect(digest?.message.notices.map(({ id }) => id)).toEqual(['2', '3']);
  });

  test('at the end of a run nothing is gathered any longer', () => {
    const { state } = at(add(notifyFrom(0), 1), NOW);
    expect(at(add(state, 2), NOW, { isLast: true }).messages).toHaveLength(1);
  });

  test('while a message is on its way the next one waits for it, and is bounded', () => {
    let state = notifyFrom(0);
    for (let seq = 1; seq <= 50; seq += 1) state = add(state, seq);
    expect(at(state, NOW, { busy: new Set(['all']) }).messages).toEqual([]);
    const [{ message } = { message: null }] = at(state, NOW).messages;
    expect([message?.notices.length, message?.more]).toEqual([40, 10]);
  });

  test('in quiet hours nothing is sent, not even at the end of a run', () => {
    const quiet = [channel({ quiet: { from: 0, to: 24 * 60 - 1, timeZone: 'UTC' } })];
    expect(at(add(notifyFrom(0), 1), NOW, { isLast: true }, quiet).messages).toEqual([]);
  });

  test('a clock that was set back makes nobody wait', () => {
    const { state } = at(add(notifyFrom(0), 1), NOW);
    expect(at(add(state, 2), NOW - 60 * MINUTE).messages).toHaveLength(1);
  });

  test('each channel is sent what it wants', () => {
    const two = [
      channel({ name: 'held', events: ['loop_held'] }),
      channel({ name: 'merges', events: ['merged'] }),
    ];
    const seen = { events: happened([to('merged')]), waits: null, taskOf: () => task };
    const { messages } = at(gather(notifyFrom(0), seen, two, NOW), NOW, {}, two);
    expect(messages.map((one) => one.channel)).toEqual(['merges']);
  });
});

test.each([
  ['22:00', '07:00', '23:00', true],
  ['22:00', '07:00', '06:59', true],
  ['22:00', '07:00', '07:00', false],
  ['22:00', '07:00', '21:59', false],
  ['12:00', '13:00', '12:30', true],
  ['12:00', '13:00', '13:00', false],
])('quiet from %s to %s: at %s %s', (from, until, time, isIt) => {
  const minutes = (text: string): number => Number(text.slice(0, 2)) * 60 + Number(text.slice(3));
  const quiet = { from: minutes(from), to: minutes(until), timeZone: 'UTC' };
  expect(isQuiet(quiet, Date.UTC(2026, 5, 1) + minutes(time) * MINUTE)).toBe(isIt);
});

test('quiet hours are those of their time zone, in summer and in winter', () => {
  const quiet = { from: 22 * 60, to: 7 * 60, timeZone: 'Europe/Berlin' };
  const at = (month: number, hour: number): boolean => isQuiet(quiet, Date.UTC(2026, month, 1, hour, 30));
  expect([at(0, 20), at(0, 21), at(6, 19), at(6, 20)]).toEqual([false, true, false, true]);
});

test('it is tried again later each time, and at least once an hour', () => {
  expect([1, 2, 3].map((attempt) => resendMs(attempt, 0))).toEqual([10_000, 20_000, 40_000]);
  expect(resendMs(50, 1)).toBeLessThanOrEqual(3_600_000);
});
