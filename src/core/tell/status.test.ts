/** When an issue's living comment is told anew. */
import { expect, test } from 'vitest';
import { Play } from '../../../test/support/play.ts';
import type { Action } from '../action.ts';
import { hold, transition } from '../decision.ts';
import { event, type NewEvent } from '../event.ts';
import { stillToSay, withStatus } from './status.ts';

const TURN: Action = {
  kind: 'turn',
  role: 'coder',
  turn: 2,
  sessionId: 's1',
  prompt: 'continuation',
  priorFailure: null,
};
const running = new Play().claim().task;

test.each<[string, NewEvent[], boolean]>([
  ['another state', [transition(running, 'awaiting_critic', 'published')], true],
  ['the end', [transition(running, 'abandoned', 'closed', 'issue_closed')], true],
  ['a hold', [hold('provider_limit', 'until noon', 500)], true],
  ['a wait that ends by itself soon', [hold('retry_backoff', 'network', 500)], false],
  [
    'one more turn',
    [event('turn_started', { turn: 2, role: 'coder', sessionId: 's1', prompt: 'task' })],
    false,
  ],
  ['a push', [event('branch_pushed', { sha: 'c1' })], false],
  ['nothing', [], false],
])('%s', (_what, events, isNews) => {
  const told = withStatus(running, events, [{ kind: 'checkpoint' }], 100);
  expect(told).toEqual([{ kind: 'checkpoint' }, ...(isNews ? [{ kind: 'tell_status', issue: 7 }] : [])]);
});

test('it is told before a run, which may take hours', () => {
  const events = [transition(running, 'abandoned', 'closed', 'issue_closed')];
  const told = withStatus(running, events, [{ kind: 'prepare_workspace' }, TURN], 100);
  expect(told.map(({ kind }) => kind)).toEqual(['prepare_workspace', 'tell_status', 'turn']);
});

test('a task without an issue has nowhere to tell it', () => {
  const events = [transition(running, 'abandoned', 'closed', 'issue_closed')];
  expect(withStatus({ ...running, issue: null }, events, [], 100)).toEqual([]);
});

test('what people were to be told is told although a decision overtakes it, and once', () => {
  const dropped: Action[] = [
    { kind: 'tell_status', issue: 7 },
    { kind: 'comment', issue: 7, marker: 'm', body: 'b' },
    { kind: 'build_candidate', headSha: 'c1' },
  ];
  const events = [transition(running, 'awaiting_critic', 'comment failed')];
  const told = withStatus(running, events, stillToSay(dropped), 100);
  expect(told.map(({ kind }) => kind)).toEqual(['tell_status', 'comment']);
});
