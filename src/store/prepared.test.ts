import { expect, test } from 'vitest';
import { query } from './sqlite/connection.ts';
import { prepared } from './sqlite/prepared.ts';

test('each value is in its place, whatever was given first; what is not a value stays', () => {
  const late = prepared((of: { task: string; at: number | null }) =>
    query
      .updateTable('actions')
      .set({ started_at: of.at, attempts: 7 })
      .where('task', 'is', of.task)
      .where('not_before', '<=', of.at),
  );
  const { sql } = late({ task: 'a', at: null }).compile();
  expect(sql).toBe(
    'update "actions" set "started_at" = ?, "attempts" = ? where "task" is ? and "not_before" <= ?',
  );
  expect(late({ task: 'a', at: null }).compile().parameters).toEqual([null, 7, 'a', null]);
  expect(late({ task: 'b', at: 3 }).compile()).toMatchObject({ sql, parameters: [3, 7, 'b', 3] });
});
