/** What `status` shows. */
import { describe, expect, test } from 'vitest';
import { MINUTE, moved, openedRepository } from '../test/support/opened-repository.ts';
import { event } from './core/event.ts';
import { trunkChanged } from './core/loop/loop-hold.ts';
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

  test('what a first turn costs is unknown until something of it is known', async () => {
    await here.ready('First');
    const turn = { turn: 1, role: 'coder', sessionId: 's' } as const;
    const first = await here.taskOf(1, 'aaaa0001');
    await here.commit(first, moved('queued', 'dispatched'), moved('dispatched', 'running'));
    const spent = async () => {
      const { tasks } = await perform(here.context, 'status');
      const { costUsd, tokens, spendComplete } = tasks[0]!;
      return { costUsd, tokens, spendComplete };
    };
    expect(await spent(), 'nothing was begun').toEqual({ costUsd: 0, tokens: 0, spendComplete: true });
    const store = await here.context.writing();
    await here.commit((await store.task('aaaa0001'))!, event('turn_started', { ...turn, prompt: 'task' }));
    expect(await spent()).toEqual({ costUsd: null, tokens: null, spendComplete: false });
    const detail = await perform(here.context, 'task.show', { task: 'aaaa0001' });
    expect(detail.turnsTaken[0]?.cost, 'so is what the turn cost').toMatchObject({ complete: false });
    const amounts = { input: 10, output: 5, cacheRead: 30, cacheWrite: 0, reasoning: 0, costUsd: 0.5 };
    const call = { task: 'aaaa0001', ...turn, model: 'm', key: 'k', at: here.context.now(), ...amounts };
    const lease = await here.leaseOf('aaaa0001');
    await store.addUsage(lease, [call]);
    await store.releaseLease(lease);
    expect(await spent()).toEqual({ costUsd: 0.5, tokens: 45, spendComplete: true });
  });

  test('says how full the account is, as the provider said last, until that window begins anew', async () => {
    const now = here.context.now();
    const inTwoHours = Math.round(now / 1000) + 7200;
    const windows = [
      { name: 'primary', usedPercent: 61.7, resetsAt: inTwoHours },
      { name: 'secondary', usedPercent: 8, resetsAt: null },
      { name: 'over', usedPercent: 100, resetsAt: 1 },
    ];
    const { task } = await here.taskOf(await here.ready('Write it'), 'aaaa0001');
    const store = await here.context.writing();
    await store.record({
      task: task.id,
      events: [event('rate_limits_seen', { role: 'coder', turn: 1, windows })],
      at: 1,
    });
    const resetsAt = new Date(inTwoHours * 1000).toISOString();
    expect((await perform(here.context, 'status')).limitWindows).toEqual([
      {
        ...{ role: 'coder', name: 'primary', usedPercent: 61.7, resetsAt },
        text: expect.stringMatching(/^account of the coder: primary 62 % used until .*\d\d:\d\d:\d\d$/),
      },
      {
        ...{ role: 'coder', name: 'secondary', usedPercent: 8, resetsAt: null },
        text: 'account of the coder: secondary 8 % used',
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
