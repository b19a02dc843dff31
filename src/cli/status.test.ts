import { expect, test } from 'vitest';
import type { Snapshot, TaskView } from '../view.ts';
import { fitting, statusText, tasksText } from './status.ts';
import { painter } from './terminal.ts';

const task = {
  id: '47fcb429',
  name: '#12',
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
  unpricedTokens: 0,
} as TaskView;
const wide = { paint: painter(false), columns: 120 };

test('is a table where there is room for why', () => {
  expect(tasksText([task], { ...wide, columns: 140 }).split('\n')).toEqual([
    'TASK      ISSUE    STATE        TURNS  ROUNDS  COST   TITLE                                     WHY',
    '47fcb429  #12 (2)  no_progress  3/20   0       $0.50  Add a revoke button to the list of toke…  three turns in a row changed nothing',
  ]);
});

test('else why stands below each task: what is cut off is what one looks for', () => {
  const long = {
    ...task,
    why: `${'it waits for something that takes a while; '.repeat(3)}then it continues`,
  };
  expect(tasksText([task, long], { ...wide, columns: 80 }).split('\n')).toEqual([
    'TASK      ISSUE    STATE        TURNS  ROUNDS  COST   TITLE',
    '47fcb429  #12 (2)  no_progress  3/20   0       $0.50  Add a revoke button to th…',
    '          three turns in a row changed nothing',
    '47fcb429  #12 (2)  no_progress  3/20   0       $0.50  Add a revoke button to th…',
    '          it waits for something that takes a while; it waits for something that',
    '          takes a while; it waits for something that takes a while; then it',
    '          continues',
  ]);
});

test('the title has what room there is', () => {
  const long = { ...task, why: 'a reason that takes more room than there is beside all the others' };
  expect(tasksText([long], { ...wide, columns: 100 }).split('\n')).toEqual([
    'TASK      ISSUE    STATE        TURNS  ROUNDS  COST   TITLE',
    '47fcb429  #12 (2)  no_progress  3/20   0       $0.50  Add a revoke button to the list of tokens',
    '          a reason that takes more room than there is beside all the others',
  ]);
});

test('a title that is cut takes the cells it has', () => {
  const [, row = ''] = tasksText([{ ...task, title: '✅'.repeat(30) }], { ...wide, columns: 140 }).split(
    '\n',
  );
  expect(row).toContain(` ${'✅'.repeat(19)}…  three`);
});

test('and a few lines for each task in a narrow terminal, with state and reason in sight', () => {
  const narrow = { ...wide, columns: 34 };
  const lines = [
    '#12 (2) no_progress',
    '  Add a revoke button to the list…',
    '  three turns in a row changed',
    '  nothing',
    '  47fcb429, 3/20 turns, $0.50',
  ];
  expect(tasksText([task, task], narrow).split('\n')).toEqual([...lines, ...lines]);
  expect(tasksText([task], narrow, 'subscription')).toContain('12k tokens');
});

test('says what a task at work does now, whatever brought it to its state', () => {
  const rests = 'running: the gate (`npm test`, for 9 s): 12 of 40 passed';
  const working = { ...task, state: 'running', reason: null, turn: null, rests } as TaskView;
  const [, row] = tasksText([{ ...working, why: 'its workspace is ready' }], { ...wide, columns: 200 }).split(
    '\n',
  );
  expect(row).toMatch(/ {2}the gate \(`npm test`, for 9 s\): 12 of 40 passed$/);
});

test('says once each why the loop waits, with what to do', () => {
  const last = {
    sha: 'abcdef0123456',
    status: 'failed',
    problem: 'exit 7',
    startedAt: '',
    endedAt: '',
  } as const;
  const failed = 'the deploy of abcdef0123 failed: exit 7 — fix it, then `forge-loop resume` tries again';
  const now = {
    ...{ tasks: [], runners: [], slots: { used: 0, max: 3 }, billing: 'usd', configProblem: null },
    ...{ paused: 'Eva', stopRequested: null, deploy: { deployedSha: null, last } },
    backlog: { waiting: 0, most: null, full: false, text: '' },
    unreadable: [],
    limitWindows: [{ text: 'account of the coder: primary 62 % used' }],
    errands: ['the gate on trunk (`npm test`, for 9 s): 12 of 40 passed'],
    waits: [
      { reason: 'operator_pause', text: 'the loop is paused by Eva — `forge-loop resume`' },
      { reason: 'deploy_failed', text: failed },
    ],
  } as unknown as Snapshot;
  const terminal = { ...wide } as Parameters<typeof statusText>[1];
  expect(statusText(now, terminal).split('\n').slice(0, 4)).toEqual([
    'no runner is running · slots 0/3 · paused by Eva',
    'the gate on trunk (`npm test`, for 9 s): 12 of 40 passed',
    failed,
    'account of the coder: primary 62 % used',
  ]);
  expect(statusText({ ...now, waits: [] }, terminal)).toContain('\ndeploy of abcdef0123 failed: exit 7\n');
});

test('what is watched is never higher than the screen, nor wider', () => {
  const text = ['a long first line', '2', '3', '4', '5'].join('\n');
  expect(fitting(text, { rows: 6, columns: 80 })).toBe(text);
  expect(fitting(text, { rows: 5, columns: 12 }).split('\n')).toEqual([
    'a long first',
    '  line',
    '2',
    '… 3 more: f…',
  ]);
  expect(fitting(text, {})).toBe(text);
});
