import { expect, test } from 'vitest';
import { Play } from '../../../test/support/play.ts';
import { transition } from '../decision.ts';
import { event, type LoopEvent, type NewEvent } from '../event.ts';
import { REASONS, type Reason } from '../machine.ts';
import type { Task } from '../task.ts';
import { resultsOf } from './results.ts';

const born = new Play().claim().task;
const task = (change: Partial<Task>): Task => ({ ...born, ...change });
const abandoned = (id: string, issue: number, reason: Reason, attempt = 1): Task =>
  task({ id, issue, attempt, state: 'abandoned', reason, why: `${reason} it was` });

const told = (...happened: [task: string | null, NewEvent][]): LoopEvent[] =>
  happened.map(([of, one], at) => ({ ...one, seq: at + 1, at, task: of }) as LoopEvent);
const ended = (one: Task): [string, NewEvent] => [
  one.id,
  transition({ ...one, state: 'running' }, one.state, one.why, one.reason),
];
const declined = (issue: number): [null, NewEvent] => [
  null,
  event('issue_declined', {
    issue,
    textHash: 'h',
    problem: 'it is a matter of taste',
    questions: ['which?'],
  }),
];
const brief = (events: LoopEvent[], tasks: Task[]): string[] =>
  resultsOf(events, tasks).map(({ issue, outcome, reason }) => `#${issue} ${outcome} ${reason}`);

test.each(Object.keys(REASONS) as Reason[])('%s has the outcome class that is documented', (reason) => {
  const one = abandoned('a', 1, reason);
  expect(resultsOf(told(ended(one)), [one])).toMatchObject([
    { outcome: REASONS[reason].outcome, reason, why: `${reason} it was`, advice: REASONS[reason].advice },
  ]);
});

const failed = abandoned('a', 1, 'no_progress');
const second = task({ id: 'b', issue: 1, attempt: 2, state: 'merged', mergedSha: 'f00' });

test.each<[string, LoopEvent[], Task[], string[]]>([
  ['what ended before is not of this run', told(), [failed, second], []],
  ['a merge', told(ended(second)), [second], ['#1 merged null']],
  ['a failed attempt', told(ended(failed)), [failed], ['#1 failure no_progress']],
  ['a second attempt that merged', told(ended(failed), ended(second)), [failed, second], ['#1 merged null']],
  [
    'a second attempt that is under way',
    told(ended(failed)),
    [failed, task({ id: 'b', issue: 1, attempt: 2, state: 'running' })],
    [],
  ],
  [
    'a task that goes on again',
    told(ended(failed)),
    [task({ ...failed, state: 'queued', reason: null })],
    [],
  ],
  ['an issue that was declined', told(declined(4)), [], ['#4 failure declined']],
  ['declined now, given up before', told(declined(1)), [failed], ['#1 failure declined']],
  ['declined, then mended and merged', told(declined(1), ended(second)), [second], ['#1 merged null']],
  [
    'declined, then mended and under way',
    told(declined(1)),
    [task({ id: 'b', issue: 1, state: 'running' })],
    [],
  ],
  [
    'edited by a person after it was made ready',
    told([null, event('readiness_withdrawn', { issue: 6, textHash: 'h' })]),
    [],
    ['#6 neutral edited'],
  ],
  [
    'several, by their numbers',
    told(declined(9), ended(abandoned('c', 3, 'cancelled')), ended(failed)),
    [failed, abandoned('c', 3, 'cancelled')],
    ['#1 failure no_progress', '#3 operator cancelled', '#9 failure declined'],
  ],
])('%s', (_, events, tasks, results) => {
  expect(brief(events, tasks)).toEqual(results);
});
