import { expect, test } from 'vitest';
import { differences } from './course.ts';
import { ISSUES } from './issues.ts';

test('a course that is as told differs in nothing', () => {
  for (const { told } of ISSUES) expect(differences(told, structuredClone(told))).toEqual([]);
});

test('every point of a course that is not as told is named, with both sides', () => {
  const { told } = ISSUES[1]!;
  const took = { ...told, outcome: 'abandoned' as const, sessions: 2, prompts: [] };
  expect(differences(told, took)).toEqual([
    'outcome: told was merged, it came to abandoned',
    'sessions: told was 1, it came to 2',
    'prompts: told was task, continuation, it came to none',
  ]);
});

test('the order counts', () => {
  const { told } = ISSUES[2]!;
  expect(differences(told, { ...told, verdicts: ['APPROVE', 'REQUEST_CHANGES'] })).toHaveLength(1);
});
