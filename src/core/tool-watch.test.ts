import { expect, test } from 'vitest';
import type { Progress } from './tell/progress.ts';
import { afterProgress, isInTool, NO_TOOLS } from './tool-watch.ts';

let calls = 0;
const begin = (same: string, call = `c${++calls}`): Progress => ({
  kind: 'tool',
  tool: 'shell',
  detail: same,
  call,
  same,
});
const end = (result: string | null, call = `c${calls}`): Progress => ({ kind: 'tool_over', call, result });
const watched = (...progress: Progress[]) => progress.reduce(afterProgress, NO_TOOLS);
const done = (same: string, result: string | null = 'ok'): Progress[] => [begin(same), end(result)];

test('a call is under way from its start to its end', () => {
  expect(isInTool(watched(begin('build')))).toBe(true);
  expect(isInTool(watched(...done('build')))).toBe(false);
  expect(isInTool(watched(begin('a', 'x'), begin('b', 'y'), end('ok', 'x')))).toBe(true);
});

test('the same call with the same result is counted, whatever is said in between', () => {
  const said: Progress = { kind: 'said', text: 'Let me try again.' };
  expect(watched(...done('ls'), said, ...done('ls'), said, begin('ls')).row?.times).toBe(3);
});

test('where no result is known, the call alone is', () => {
  expect(watched(...done('ls', null), ...done('ls', null), begin('ls')).row?.times).toBe(3);
});

test('another call in between begins a new row', () => {
  expect(watched(...done('ls'), ...done('cat'), begin('ls')).row?.times).toBe(1);
});

test('a result that differs is news: whoever polls is no loop', () => {
  expect(watched(...done('poll', '10 %'), ...done('poll', '20 %'), begin('poll')).row?.times).toBe(2);
});

test('a call that is asked for and then begun is one', () => {
  expect(watched(begin('ls', 'x'), begin('ls', 'x')).row?.times).toBe(1);
});

test('a call that its agent gives no name says nothing', () => {
  expect(watched({ kind: 'tool', tool: 'edit', detail: 'a' })).toEqual(NO_TOOLS);
});
