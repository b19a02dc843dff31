/** What `status` shows. */
import { describe, expect, test } from 'vitest';
import { MINUTE, openedRepository } from '../test/support/opened-repository.ts';
import { event } from './core/event.ts';
import { trunkChanged } from './core/loop-hold.ts';
import { perform } from './operations.ts';
import { runnerLease } from './store/store.ts';

const here = openedRepository();

describe('status', () => {
  test('shows of a hold what is documented, and nothing of what the loop keeps with it', async () => {
    await here.ready('Held');
    const inner = { settings: 'digest', account: 'claude', since: 5 };
    const hold = { reason: 'gate_could_not_run', detail: 'no such tool', until: null, ...inner } as const;
    await here.commit(await here.taskOf(1, 'aaaa0001'), event('hold_set', hold));
    const store = await here.context.writing();
    await store.updateLoop({ trunk: 'main' }, [event('loop_held', trunkChanged('main', 'develop'))], 1);
    const { tasks, waits } = await perform(here.context, 'status');
    const { reason, detail, until } = hold;
    expect(tasks[0]?.hold).toEqual({ reason, detail, until, text: expect.stringContaining('no such tool') });
    expect(waits).toEqual([
      {
        ...{ reason: 'trunk_changed', stops: 'everything', endsBy: 'person', until: null },
        text: expect.stringContaining('the loop is held (trunk_changed): tracker.trunk changed from main'),
      },
    ]);
  });

  test('a runner is shown while it is there, whether or not it has work, and one that left nothing is not', async () => {
    const store = await here.context.writing();
    const at = here.context.now();
    for (const n of [1, 2]) await store.acquireLease(runnerLease(n), `${n}@here`, at, MINUTE, () => false);
    expect((await perform(here.context, 'status')).runners).toMatchObject([
      { pid: 1, alive: true },
      { pid: 2, alive: true },
    ]);
    const gone = { ...here.context, isOwnerDead: () => true };
    expect((await perform(gone, 'status')).runners).toEqual([]);
    expect((await perform(gone, 'boot')).stale).toEqual([]);
  });
});
