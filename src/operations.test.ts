/** Every operation: what it is called with, and what looking leaves alone. */
import { existsSync } from 'node:fs';
import { expect, test } from 'vitest';
import { openedRepository } from '../test/support/opened-repository.ts';
import { UsageError } from './errors.ts';
import { OPERATIONS, perform } from './operations.ts';

const here = openedRepository();

test('who only looks is told from who writes', () => {
  const access = (name: keyof typeof OPERATIONS) => OPERATIONS[name].access;
  expect([access('doctor'), access('gate.try'), access('backup')]).toEqual(['read', 'write', 'write']);
});

test('looking makes no database', async () => {
  for (const name of [
    'status',
    'why',
    'task.list',
    'events',
    'boot',
    'doctor',
    'config',
    'issue.list',
  ] as const)
    await perform(here.context, name);
  expect(existsSync(here.context.databasePath)).toBe(false);
});

test('an input that does not fit is refused with the name of the field', async () => {
  await expect(perform(here.context, 'issue.new', { title: 'T', priority: 9 })).rejects.toThrow(UsageError);
});

test.each([
  ['issue.new', { title: 'T', priority: 9 }, 'issue new: priority must be at most 4.'],
  ['issue.new', { title: ' ' }, 'issue new: title is empty.'],
  ['issue.new', { title: 'T', priority: 0 }, 'issue new: priority must be at least 1.'],
  ['cost', { by: 'week' }, 'cost: by must be one of issue, role, model, day.'],
  ['pull.comment', { pull: 1, body: 'x', file: 'a', line: 0 }, 'pull comment: line must be more than 0.'],
] as const)('%s %j: %s', async (name, input, says) => {
  await expect(perform(here.context, name, { ...input })).rejects.toThrow(says);
});

test('every operation says what it does', () => {
  for (const [name, { description, access }] of Object.entries(OPERATIONS)) {
    expect(description, name).toMatch(/^[A-Z].*\.$/);
    expect(['read', 'write']).toContain(access);
  }
});
