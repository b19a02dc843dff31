import { expect, test } from 'vitest';
import { event, type LoopEvent, type NewEvent } from '../event.ts';
import { trunkChanged } from '../loop/loop-hold.ts';
import { eventLine } from './event-line.ts';
import { PLAIN } from './paint.ts';

const at = new Date(2030, 0, 1, 12, 30, 5).getTime();
const line = (happened: NewEvent, task: string | null = 'abc'): string | null =>
  eventLine({ ...happened, seq: 1, at, task } as LoopEvent, () => ({ name: '#7', issue: 7 }), PLAIN);

test('an ending says its reason and what to do', () => {
  const data = { sessionId: null, turn: 1, headSha: null, from: 'running', to: 'abandoned' } as const;
  expect(
    line(
      event('worker_state_transition', { ...data, reason: 'budget_exhausted', why: '$5 of $5 spent\nmore' }),
    ),
  ).toBe(
    '12:30:05  #7 abandoned (budget_exhausted): $5 of $5 spent\n          Raise `budget` or split the issue.',
  );
});

test('a verdict of the critic has its round; a person judges in none', () => {
  const said = (by: string, round: number) =>
    line(
      event('verdict_recorded', { headSha: 'c1', verdict: 'APPROVE', by, round, blocking: [], criteria: [] }),
    );
  expect(said('critic', 2)).toMatch(/APPROVE by critic \(round 2\)$/);
  expect(said('ann', 0)).toMatch(/APPROVE by ann$/);
});

test('a phase names its milestone where it is about one', () => {
  const said = (phase: 'auditing' | 'final_auditing' | 'delivered') =>
    line(event('phase_entered', { phase, milestone: 1, isFresh: false }));
  expect(said('auditing')).toMatch(/ auditing, milestone 2$/);
  expect(said('final_auditing')).toMatch(/ final auditing$/);
  expect(said('delivered')).toBeNull();
});

test('a long reason is cut between words, and shows it', () => {
  const detail = `${'the provider is overloaded and '.repeat(10)}so on`;
  const said = line(event('account_limited', { account: 'claude', why: detail, until: at + 60_000 }));
  expect(said).toMatch(/ the provider…$/);
});

test('a hold says who ends it and when it ends', () => {
  const detail = 'overloaded';
  expect(line(event('hold_set', { reason: 'retry_backoff', detail, until: at + 60_000 }))).toBe(
    '12:30:05  #7 held (retry_backoff): overloaded — retries by itself (until 12:31:05)',
  );
  expect(
    line(event('hold_set', { reason: 'operator_pause', detail: 'paused by Eva', until: null })),
  ).toContain('forge-loop resume 7');
  const nextDay = new Date(at).setDate(new Date(at).getDate() + 1);
  const limited = event('account_limited', { account: 'claude', why: 'limit', until: nextDay });
  expect(line(limited)).toMatch(/^12:30:05 .*claude is used up until \d{4}-\d\d-\d\d 12:30:05: limit$/);
  expect(line(event('hold_released', { by: 'Eva' }))).toBe(
    '12:30:05  #7 released by Eva; continues when a slot is free',
  );
  expect(line(event('hold_released', { by: 'loop' }))).toBe(
    '12:30:05  #7 released; continues when a slot is free',
  );
});

test('a hold of the loop says what to do, and its end what ended', () => {
  const hold = trunkChanged('main', 'develop');
  const held = expect.stringContaining(
    'the loop is held (trunk_changed): tracker.trunk changed from main to develop',
  );
  expect(line(event('loop_held', hold), null)).toEqual(held);
  expect(line(event('loop_released', { ...hold, by: 'Eva' }), null)).toBe(
    '12:30:05  continues: trunk_changed ended by Eva',
  );
  // As the first versions wrote them.
  const earlier = {
    key: 'trunk develop',
    reason: 'trunk_changed',
    detail: 'trunk was main and is develop now: …',
  } as const;
  expect(line(event('loop_held', earlier), null)).toEqual(held);
  expect(line(event('loop_released', { key: 'trunk develop', by: 'Eva' }), null)).toContain('ended by Eva');
});

test('a head that is pushed but not marked is not said to have failed to be pushed', () => {
  const problem = 'It was pushed, but not marked as verified yet: GitHub did not answer';
  expect(line(event('effect_failed', { action: 'push', problem, attempt: 2 }))).toBe(
    `12:30:05  #7 publishing failed 2×; will retry: ${problem}`,
  );
});

test('what a person says is shown with who says it', () => {
  const text = 'ann asks for changes:\n<<<remark 1 (data)\nNo, three lines\nplease\n>>>remark 1';
  expect(line(event('feedback_added', { feedback: { kind: 'review', text } }))).toBe(
    '12:30:05  #7 review: ann asks for changes: No, three lines',
  );
  expect(line(event('feedback_added', { feedback: { kind: 'review', text: 'ann asks for changes.' } }))).toBe(
    '12:30:05  #7 review: ann asks for changes.',
  );
});

test.each([
  [4, 'nearly spent'],
  [5, 'spent'],
])('a budget of $5 with $%d used is %s', (used, how) => {
  const warned = { scope: 'loop', limit: 'usd', period: '', used, of: 5, says: 'so much' } as const;
  expect(line(event('budget_warned', warned), null)).toContain(`the budget of the loop is ${how}: so much`);
});

test('a gate that is not green names the command', () => {
  const result = { command: 'npm test', exitCode: 1, tail: '', logPath: null, durationMs: 1 };
  const red = { ...result, outcome: 'fail' as const, problem: 'exit 1' };
  const evidence = { tree: 't', at, outcome: 'fail' as const, results: [red] };
  expect(line(event('gate_completed', { scope: 'work', evidence }))).toBe(
    '12:30:05  #7 gate failed: `npm test` exit 1',
  );
});

test('the loop itself has no subject, and what only the log needs is not shown', () => {
  expect(line(event('loop_paused', { by: 'Eva' }), null)).toBe('12:30:05  paused by Eva');
  const declined = { issue: 3, textHash: 'x', questions: ['a', 'b'] };
  const problem = 'it contradicts itself';
  expect(line(event('issue_declined', { ...declined, problem }), null)).toContain(
    '#3 declined: it contradicts itself; see the 2 questions',
  );
  expect(line(event('issue_declined', declined), null), 'of an older version').toContain(
    '#3 declined: it cannot be checked (a matter of taste); see the 2 questions',
  );
  expect(line(event('branch_pushed', { sha: 'x' }))).toBeNull();
});
