import { expect, test } from 'vitest';
import type { Result } from '../core/tell/results.ts';
import type { RunSummary } from '../operations/run-summary.ts';
import { exitOfRun } from './exit.ts';
import { summaryLines } from './summary-text.ts';
import { painter } from './terminal.ts';

const result = (change: Partial<Result>): Result => ({
  name: `#${change.issue ?? 1}`,
  issue: 1,
  task: 'aaaaaaaa',
  title: 'Add one',
  outcome: 'merged',
  reason: null,
  why: '',
  advice: null,
  mergedSha: 'f00dcafe00112233',
  ...change,
});
const gaveUp = result({
  issue: 2,
  title: 'Add two',
  outcome: 'failure',
  reason: 'no_progress',
  why: 'two turns changed nothing\nand more',
  advice: 'Say the next step.',
});
const declined = result({
  issue: 5,
  task: null,
  title: null,
  outcome: 'failure',
  reason: 'declined',
  why: 'it is a matter of taste',
});
const closed = result({ issue: 3, outcome: 'neutral', reason: 'issue_closed', why: 'the issue was closed' });
const cancelled = result({ issue: 4, outcome: 'operator', reason: 'cancelled', why: 'cancelled by Eva' });

const summary = (change: Partial<RunSummary>): RunSummary => ({
  ended: 'idle',
  merged: [],
  completed: [],
  notMerged: [],
  needsPerson: [],
  spent: { turns: 0, tokens: 0, costUsd: null, complete: true },
  billing: 'usd',
  ...change,
});
const text = (change: Partial<RunSummary>): string =>
  summaryLines(summary(change), painter(false)).join('\n');

test('what merged, what did not and why, what it cost', () => {
  const spent = { turns: 3, tokens: 12_000, costUsd: 0.126, complete: false };
  expect(text({ merged: [result({})], notMerged: [gaveUp, closed, declined], spent })).toBe(`
Merged: 1
  #1 Add one, f00dcafe00
Not merged: 2
  #2 Add two: two turns changed nothing (no_progress)
     Say the next step.
  #5: it is a matter of taste (declined)
Ended without a failure: 1
  #3 Add one: the issue was closed (issue_closed)
Spent: at least $0.13, 12k tokens, in 3 turns`);
});

test('a run in which nothing happened says nothing of it', () => {
  expect(text({})).toBe('');
});

test.each<[string, Partial<RunSummary>, string]>([
  ['nobody knows', { spent: { turns: 1, tokens: 0, costUsd: null, complete: false } }, 'unknown, in 1 turn'],
  [
    'a subscription',
    { billing: 'subscription', spent: { turns: 2, tokens: 500, costUsd: 1, complete: true } },
    '500 tokens, $1.00 by list, in 2 turns',
  ],
])('what it cost: %s', (_, change, said) => {
  expect(text(change)).toContain(`Spent: ${said}`);
});

test.each<[string, Partial<RunSummary>, number]>([
  ['nothing happened', {}, 0],
  ['merged', { merged: [result({})] }, 0],
  ['one was given up', { merged: [result({})], notMerged: [gaveUp] }, 4],
  ['one was declined', { notMerged: [declined] }, 4],
  ['closed or cancelled by people', { notMerged: [closed, cancelled] }, 0],
  ['one waits', { notMerged: [closed], needsPerson: ['#1'] }, 3],
  ['one was given up, another waits', { notMerged: [gaveUp], needsPerson: ['#1'] }, 4],
])('the exit code: %s', (_, change, code) => {
  expect(exitOfRun(summary(change))).toBe(code);
});
