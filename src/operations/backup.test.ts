/** The database as a file that can be put back. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { openedRepository } from '../../test/support/opened-repository.ts';
import { UsageError } from '../errors.ts';
import { perform } from '../operations.ts';

const here = openedRepository();

describe('backup and restore', () => {
  test('a backup is one file that can be put back; both say what is in it', async () => {
    const file = join(here.root, 'backup.db');
    await here.taskOf(await here.ready('Add'), 'abcd0001');
    const { events } = await perform(here.context, 'backup', { file });
    expect(events).toBeGreaterThan(0);
    await expect(perform(here.context, 'backup', { file })).rejects.toThrow('never overwrites a file');
    await expect(perform(here.context, 'restore', {})).rejects.toThrow(UsageError);
    await perform(here.context, 'pause');
    await here.reopen();
    const { aside } = await perform(here.context, 'restore', { file });
    expect(existsSync(aside!)).toBe(true);
    expect(await perform(here.context, 'status')).toMatchObject({
      paused: null,
      tasks: [{ id: 'abcd0001' }],
    });
  });

  test('no database beside refs of the loop is said by whoever looks, and by whoever would make one', async () => {
    here.git('update-ref', 'refs/forge/aa11/replay/c1', 'HEAD');
    expect(await perform(here.context, 'status')).toMatchObject({ tasks: [] });
    here.git('update-ref', 'refs/forge/ab12/base', 'HEAD');
    await expect(perform(here.context, 'status')).rejects.toThrow('refs/forge/ab12/base');
    await expect(perform(here.context, 'pause')).rejects.toThrow('There is no database');
    expect(existsSync(here.context.databasePath)).toBe(false);
    await here.reopen();
    await perform(here.context, 'restore', { empty: true });
    expect((await perform(here.context, 'status')).tasks).toEqual([]);
  });

  test('the database is not replaced under a runner, also one that has nothing to do', async () => {
    await here.context.writing();
    const empty = perform(here.context, 'restore', { empty: true });
    await expect(empty).rejects.toThrow(/^A runner, or another command, works with/);
  });
});
