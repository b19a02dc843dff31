import { expect, test } from 'vitest';
import type { Finding } from '../change/findings.ts';
import { contractOf } from '../issue/criteria.ts';
import { born, type Task } from '../task.ts';
import { choicesFor, choicesForIssue } from './choices.ts';

const contract = contractOf({ number: 7, title: 'Add slug()', body: 'prints "ok"' } as never);
const task = (given: Partial<Task>): Task => ({
  ...born(
    'aaaa0001',
    { kind: 'issue', issue: 7, attempt: 1, slug: 's', branch: 'loop/7-s', contract } as never,
    1,
  ),
  ...given,
});
const held = (reason: NonNullable<Task['hold']>['reason'], given: Partial<Task> = {}): Task =>
  task({
    state: 'awaiting_critic',
    pull: 1,
    headSha: '9ab31c4aaaaaaa',
    ...given,
    hold: { reason, detail: '', until: null },
  });

const labels = (of: Task): string[] =>
  choicesFor(of).map(({ label, settles }) => `${settles ? '*' : ''}${label}`);

test('an approval is of the head that is shown, and of no later one', () => {
  const [approve] = choicesFor(held('needs_approval'));
  expect(approve!.input).toEqual({ task: 'aaaa0001', head: '9ab31c4aaaaaaa' });
});

test.each<[string, Task, string[]]>([
  ['at work', task({ state: 'running' }), ['Pause', 'Tell its coder', 'Cancel', 'Give up']],
  [
    'judged',
    task({ state: 'awaiting_critic', pull: 1, headSha: '9ab31c4aaaaaaa' }),
    ['Approve head 9ab31c4aaa', 'Pause', 'Tell its coder', 'Cancel', 'Give up'],
  ],
  [
    'waiting for an approval',
    held('protected_paths'),
    ['*Approve head 9ab31c4aaa', '*Send back', 'Pause', 'Cancel', 'Give up'],
  ],
  [
    'waiting for CI',
    held('checks_red'),
    ['*Send back', 'Approve head 9ab31c4aaa', 'Pause', 'Cancel', 'Give up'],
  ],
  [
    'edited',
    held('body_edited', { state: 'running' }),
    ['*Accept the new text', 'Pause', 'Tell its coder', 'Cancel', 'Give up'],
  ],
  [
    'paused',
    held('operator_pause', { state: 'running' }),
    ['*Resume', 'Tell its coder', 'Cancel', 'Give up'],
  ],
  [
    'stuck',
    held('gate_could_not_run', { state: 'running' }),
    ['*Try again', 'Tell its coder', 'Cancel', 'Give up'],
  ],
  ['given up', task({ state: 'abandoned', reason: 'no_progress' }), ['New attempt', 'Continue it']],
  [
    'a plan that was given up',
    task({ state: 'abandoned', reason: 'no_progress', issue: null, kind: 'plan' }),
    ['Continue it'],
  ],
  ['merged', task({ state: 'merged' }), []],
])('%s: what settles it comes first', (_what, of, expected) => {
  expect(labels(of)).toEqual(expected);
});

const found = (number: number, category: string, status: 'open' | 'wontfix' = 'open') =>
  ({ id: `aaaa0001.${number}`, category, status, message: `found ${number}` }) as Finding;
const inspected = { headSha: 'a1', grave: ['aaaa0001.1', 'aaaa0001.2'] };
const stopped = (reason: 'secret_found' | 'verification_changed'): Task =>
  held(reason, { state: 'running', pull: null, inspected } as never);

test.each([
  ['secret_found', [found(1, 'secret')], ['*It is no secret', '*Send back']],
  [
    'secret_found',
    [found(1, 'secret'), found(2, 'secret'), found(3, 'secret')],
    ['*1: it is no secret', '*2: it is no secret', '*Send back'],
  ],
  [
    'verification_changed',
    [found(1, 'gate'), found(2, 'gate', 'wontfix')],
    ['*The change is wanted', '*Send back'],
  ],
] as const)('%s: each finding that stops it can be left as it is, which asks why', (reason, open, first) => {
  const choices = choicesFor(stopped(reason), [], open);
  const says = choices.map(({ label, settles }) => `${settles ? '*' : ''}${label}`);
  expect(says).toEqual([...first, 'Pause', 'Cancel', 'Give up']);
  expect(choices[0]).toMatchObject({
    operation: 'findings.wontfix',
    input: { finding: 'aaaa0001.1' },
    asks: { field: 'why' },
    says: expect.stringContaining('found 1'),
  });
  expect(choices.find(({ label }) => label === 'Send back')).toMatchObject({
    operation: 'task.tell',
    input: { task: 'aaaa0001' },
    asks: { field: 'text' },
  });
});

test('an issue that never began is answered and marked ready again; an edited one is accepted', () => {
  expect(choicesForIssue(7, 'declined')).toMatchObject([
    { operation: 'issue.comment', input: { issue: 7 }, asks: { field: 'text' }, settles: false },
    { operation: 'issue.ready', input: { issue: 7 }, settles: true },
  ]);
  expect(choicesForIssue(7, 'edited').map(({ label }) => label)).toEqual(['Accept the new text']);
});

test('what ends a task says so, so that it is asked once more', () => {
  expect(
    choicesFor(task({ state: 'running' }))
      .filter(({ ends }) => ends)
      .map(({ operation }) => operation),
  ).toEqual(['task.cancel', 'task.abandon']);
});

test('a pause that was asked for and is not applied yet can be taken back', () => {
  expect(choicesFor(task({ state: 'running' }), [{ kind: 'pause' }]).map(({ label }) => label)).toContain(
    'Resume',
  );
});
