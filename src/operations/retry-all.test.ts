/** A new attempt at many issues at once. */
import { describe, expect, test } from 'vitest';
import { moved, openedRepository } from '../../test/support/opened-repository.ts';
import type { Reason } from '../core/machine.ts';
import { UsageError } from '../errors.ts';
import { perform } from '../operations.ts';

const here = openedRepository();

describe('task retry --reason', () => {
  test('starts every open issue again whose last attempt ended so, and only those', async () => {
    for (const title of ['Out', 'Also out', 'Other', 'Closed']) await here.ready(title);
    const gone = (issue: number, id: string, reason: Reason) =>
      here.taskOf(issue, id).then((stored) => here.commit(stored, moved('queued', 'abandoned', reason)));
    await gone(1, 'aaaa0001', 'provider_limit');
    await gone(2, 'aaaa0002', 'provider_limit');
    await gone(3, 'aaaa0003', 'no_progress');
    await gone(4, 'aaaa0004', 'provider_limit');
    await perform(here.context, 'issue.close', { issue: 4 });
    const both = [
      { issue: 1, previous: 'aaaa0001', attempt: 2 },
      { issue: 2, previous: 'aaaa0002', attempt: 2 },
    ];
    const asked = { reason: 'provider_limit' };
    const preview = await perform(here.context, 'task.retry_all', { ...asked, preview: true });
    expect(preview.issues).toMatchObject(both);
    const store = await here.context.writing();
    expect(await store.requests('aaaa0001')).toEqual([]);
    expect((await perform(here.context, 'task.retry_all', asked)).issues).toMatchObject(both);
    for (const id of ['aaaa0001', 'aaaa0002'])
      expect(await store.requests(id)).toMatchObject([{ kind: 'retry' }]);
    expect(await store.requests('aaaa0003')).toEqual([]);
    await expect(perform(here.context, 'task.retry_all', { reason: 'bad luck' })).rejects.toThrow(UsageError);
  });
});
