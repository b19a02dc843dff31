import { expect, it } from 'vitest';
import { memo } from './memo.ts';

it('forgets first what nobody asked for the longest', () => {
  const kept = memo<string, number>(2);
  kept.set('a', 1);
  kept.set('b', 2);
  kept.get('a');
  kept.set('c', 3);
  expect(['a', 'b', 'c'].map(kept.get)).toEqual([1, undefined, 3]);
  kept.delete('a');
  expect(kept.get('a')).toBeUndefined();
});
