import { expect, test } from 'vitest';
import type { TaskView } from '../view.ts';
import { tasksText } from './status.ts';
import { painter } from './terminal.ts';

const task = {
  id: '47fcb429',
  issue: 12,
  title: 'Add a revoke button to the list of tokens',
  attempt: 2,
  state: 'abandoned',
  reason: 'no_progress',
  why: 'three turns in a row changed nothing\nand more',
  hold: null,
  turns: 3,
  maxTurns: 20,
  criticRounds: 0,
  costUsd: 0.5,
  tokens: 12_000,
  spendComplete: true,
} as TaskView;
const wide = { paint: painter(false), columns: 120 };

test('is a table where there is room', () => {
  expect(tasksText([task], wide).split('\n')).toEqual([
    'TASK      ISSUE    STATE        TURNS  ROUNDS  COST   TITLE                                     WHY',
    '47fcb429  #12 (2)  no_progress  3/20   0       $0.50  Add a revoke button to the list of toke…  three turns in a row ch…',
  ]);
});

test('and a few lines for each task in a narrow terminal, with state and reason in sight', () => {
  const narrow = { ...wide, columns: 40 };
  const lines = [
    '#12 (2) no_progress',
    '  Add a revoke button to the list of to…',
    '  three turns in a row changed nothing',
    '  47fcb429, 3/20 turns, $0.50',
  ];
  expect(tasksText([task, task], narrow).split('\n')).toEqual([...lines, ...lines]);
  expect(tasksText([task], narrow, 'subscription')).toContain('12k tokens');
});
