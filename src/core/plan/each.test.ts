/** Several features at once: what is refused, who goes first, and who waits for what. */
import { describe, expect, test } from 'vitest';
import { planOf, started } from '../../../test/support/plan-play.ts';
import type { Task } from '../task.ts';
import { featureProblem, inOrder, whyAwaits } from './each.ts';

const feature = (name: string, ...after: string[]) => ({ name, contract: `do ${name}`, after });

describe('a list', () => {
  test.each([
    ['a name twice', [feature('a'), feature('a')], '"a" is listed twice'],
    ['a name that is not there', [feature('a', 'b')], '"a" waits for "b", which is not listed'],
    [
      'a circle',
      [feature('a', 'c'), feature('b', 'a'), feature('c', 'b')],
      'these wait for each other: a → c → b → a',
    ],
    [
      'what another asks for',
      [feature('a'), { name: 'b', contract: 'do a', after: ['a'] }],
      '"b" has the same plan and goal as "a": it would be one loop',
    ],
    ['itself', [feature('a', 'a')], 'these wait for each other: a → a'],
  ])('with %s is refused', (_, features, problem) => {
    expect(featureProblem(features)?.problem).toBe(problem);
  });

  test('is begun in an order in which each comes after those it waits for', () => {
    const features = [feature('c', 'b'), feature('b', 'a'), feature('a'), feature('d')];
    expect(featureProblem(features)).toBeNull();
    expect(inOrder(features).map(({ name }) => name)).toEqual(['a', 'b', 'c', 'd']);
  });
});

describe('who waits for what', () => {
  const member = (
    id: string,
    change: Partial<Task>,
    after: string[] = [],
    most: number | null = null,
  ): Task => {
    const { task } = started(planOf('One'));
    const plan = { ...task.plan!, name: id, group: { id: 'g', most, after } };
    return { ...task, id, state: 'queued', createdAt: 0, ...change, plan };
  };
  const known = (...tasks: Task[]) => new Map(tasks.map((task) => [task.id, task]));

  test('until those before it are completed', () => {
    const running = member('lexer', { state: 'running' });
    const parser = member('parser', {}, ['lexer']);
    expect(whyAwaits(parser, [running, parser], known(running))).toBe('waits for the loop lexer');
    const done = { ...running, state: 'completed' as const };
    expect(whyAwaits(parser, [parser], known(done))).toBeNull();
    const merged = { ...running, state: 'merged' as const };
    expect(whyAwaits(parser, [parser], known(merged))).toBeNull();
  });

  test('for a person, when one of them was given up', () => {
    const lexer = member('lexer', { state: 'abandoned', reason: 'no_progress' });
    const parser = member('parser', {}, ['lexer']);
    expect(whyAwaits(parser, [parser], known(lexer))).toBe(
      'waits for the loop lexer, which ended without completing (no_progress): `forge-loop loop restart lexer` continues it',
    );
  });

  test('until the same, started again where it was given up, is completed', () => {
    const lexer = member('lexer', { state: 'abandoned', reason: 'no_progress' });
    const again = member('lexer-2', { state: 'running', createdAt: 1 });
    const other = { ...again, id: 'other', contract: { ...again.contract, hash: 'other' } };
    const parser = member('parser', {}, ['lexer'], 1);
    const [b] = [member('b', {}, ['parser'], 1)];
    expect(whyAwaits(parser, [parser], known(lexer, other))).toMatch('loop lexer, which ended');
    expect(whyAwaits(parser, [again, parser], known(lexer, other, again))).toBe('waits for the loop lexer-2');
    const done = { ...again, state: 'completed' as const };
    expect(whyAwaits(parser, [b, parser], known(lexer, done, member('lexer-3', {})))).toBeNull();
    const restarted = { ...lexer, state: 'running' as const, reason: null };
    expect(whyAwaits(parser, [parser], known(restarted, again))).toBe('waits for the loop lexer');
  });

  test('for a place, in the order they were started', () => {
    const [a, b] = [member('a', {}, [], 1), member('b', {}, [], 1)];
    expect(whyAwaits(a, [b, a], known())).toBeNull();
    expect(whyAwaits(b, [b, a], known())).toBe('waits for a place: 1 of its features may be at work');
    const running = { ...b, state: 'running' as const };
    expect(whyAwaits(a, [running, a], known())).toMatch('waits for a place');
  });

  test('one that waits for what was given up keeps no place from others', () => {
    const gone = member('a', { state: 'abandoned', reason: 'no_progress' }, [], 1);
    const [b, c] = [member('b', {}, ['a'], 1), member('c', {}, [], 1)];
    expect(whyAwaits(c, [b, c], known(gone))).toBeNull();
  });

  test('nobody who was started alone, or has begun', () => {
    const { task } = started(planOf('One'));
    expect(whyAwaits({ ...task, state: 'queued' }, [task], known())).toBeNull();
    const running = member('b', { state: 'running' }, ['a'], 1);
    expect(whyAwaits(running, [running], known())).toBeNull();
  });
});
