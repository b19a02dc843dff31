/** Every operation: what it is called with, and what looking leaves alone. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { openedRepository } from '../test/support/opened-repository.ts';
import { UsageError } from './errors.ts';
import { FILES_ONLY, OPERATIONS, type OperationName, perform } from './operations.ts';

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
  ['cost', { by: 'week' }, 'cost: by must be one of issue, role, model, day, round, turn.'],
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

test('what the work may cost is the operator’s to say, and no agent’s', () => {
  const costs = ['model', 'auditorModel', 'maxIterations', 'maxTurns', 'budgetUsd', 'sandbox'];
  for (const name of ['loop.start', 'loop.start_each'] as const)
    expect(OPERATIONS[name].operatorOnly, name).toEqual(costs);
  for (const [name, { operatorOnly, input }] of Object.entries(OPERATIONS))
    expect(Object.keys(input.shape), name).toEqual(expect.arrayContaining([...operatorOnly]));
});

describe('inside a turn, past the stand-in for our program (loops 70)', () => {
  const writes = (Object.keys(OPERATIONS) as OperationName[]).filter(
    (name) => OPERATIONS[name].access === 'write',
  );
  const inTurn = () => {
    vi.stubEnv('FORGE_ROLE', 'coder');
    vi.stubEnv('FORGE_SESSION_DIR', here.root);
  };
  afterEach(() => void vi.unstubAllEnvs());

  test.each(writes.filter((name) => !FILES_ONLY.includes(name)))('%s is refused', async (name) => {
    inTurn();
    await expect(perform(here.context, name)).rejects.toThrow('a loop is already running you');
  });

  test('the coder can neither write a finding nor settle one (loops 35)', async () => {
    const { task } = await perform(here.context, 'loop.start', { goal: 'Tidy up.' });
    inTurn();
    const found = { task, description: 'It is done.' };
    await expect(perform(here.context, 'findings.write', found)).rejects.toThrow('Refused: ');
    const store = await here.context.reading();
    expect(await store!.requests(task)).toEqual([]);
  });

  test('looking, and making a file, is not', async () => {
    inTurn();
    await perform(here.context, 'status');
    await perform(here.context, 'findings.list');
    const output = join(here.root, 'tidy.md');
    await perform(here.context, 'plan.new', { name: 'tidy', output });
    expect(existsSync(output)).toBe(true);
  });
});
