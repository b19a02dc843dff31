import { expect, test } from 'vitest';
import { running } from '../../test/support/play.ts';
import type { StoredTask } from '../core/task.ts';
import { findTask } from './reference.ts';

const stored = (id: string, issue: number, attempt: number): StoredTask => ({
  task: { ...running().task, id, issue, attempt },
  version: 1,
});
const tasks = [stored('9abc1234', 1, 1), stored('9abd1234', 1, 2), stored('k7', 2, 1)];
const found = async (reference: string): Promise<string> =>
  (await findTask({ tasks: async () => tasks }, reference)).task.id;

test.each([
  ['9abc1234', '9abc1234'],
  ['9abc', '9abc1234'],
  ['1', '9abd1234'],
  ['#1', '9abd1234'],
  ['K', 'k7'],
])('%s means %s', async (reference, id) => {
  expect(await found(reference)).toBe(id);
});

test('digits alone are never the beginning of an id', async () => {
  await expect(found('9')).rejects.toThrow('There is no task 9.');
});

test('a beginning that two ids share is refused', async () => {
  await expect(found('9ab')).rejects.toThrow('9ab begins the ids of 2 tasks');
});

test('a loop’s name is one, as a whole', async () => {
  const { task } = stored('z9', 3, 1);
  const named = {
    version: 1,
    task: { ...task, plan: { name: 'tidy-cli' } as NonNullable<typeof task.plan> },
  };
  const all = { tasks: async () => [...tasks, named] };
  expect((await findTask(all, 'tidy-cli')).task.id).toBe('z9');
  await expect(findTask(all, 'tidy')).rejects.toThrow('There is no task tidy.');
});
