/** A task that ended is continued. */
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { MINUTE, moved, openedRepository } from '../../test/support/opened-repository.ts';
import { event } from '../core/event.ts';
import { openContext } from '../main.ts';
import { perform } from '../operations.ts';
import { type Store, taskLease } from '../store/store.ts';

const here = openedRepository();

describe('restart', () => {
  const restart = (task: string, force = false) => perform(here.context, 'task.restart', { task, force });

  test('queues the same task again, with its label, and wakes a runner', async () => {
    await here.ready('One');
    const ended = await here.commit(
      await here.taskOf(1, 'abcd0001'),
      moved('queued', 'abandoned', 'cancelled'),
    );
    expect(await restart('1')).toEqual({
      task: 'abcd0001',
      issue: 1,
      from: 'cancelled',
      rebuiltAt: null,
      runnerAlive: false,
    });
    const store = await here.context.writing();
    expect(await store.task('abcd0001')).toMatchObject({
      version: ended.version + 1,
      task: { state: 'queued', endedAt: null },
    });
    expect((await store.pendingActions('abcd0001')).map(({ action }) => action)).toMatchObject([
      { kind: 'label', add: ['loop:running'] },
    ]);
    expect(await store.events({ task: 'abcd0001', last: 1 })).toMatchObject([{ type: 'request_made' }]);
    expect(await store.leases(taskLease('abcd0001'))).toEqual([]);
  });

  test('of a loop calls it by its name, and one that its runner left in the middle interrupted (loops 55)', async () => {
    const { task } = await perform(here.context, 'loop.start', { goal: 'Tidy up.', name: 'tidy' });
    const again = () => perform(here.context, 'loop.restart', { loop: 'tidy' });
    await expect(again()).rejects.toThrow('Loop tidy is queued, not ended.');
    const store = await here.context.writing();
    await here.commit(
      (await store.task(task))!,
      moved('queued', 'dispatched'),
      moved('dispatched', 'running'),
    );
    expect(await again()).toMatchObject({ from: 'interrupted' });
    await here.commit(
      (await store.task(task))!,
      moved('queued', 'dispatched'),
      moved('dispatched', 'running'),
      moved('running', 'completed'),
    );
    await expect(again()).rejects.toThrow('Loop tidy is completed: there is nothing left to do.');
  });

  test('of a live task needs force, which cancels it first', async () => {
    await here.ready('One');
    await here.commit(await here.taskOf(1, 'abcd0001'), moved('queued', 'dispatched'));
    await expect(restart('1')).rejects.toThrow('is dispatched, not ended');
    expect(await restart('1', true)).toMatchObject({ from: 'dispatched' });
    const store: Store = await here.context.writing();
    const states = (await store.events({ task: 'abcd0001', type: 'worker_state_transition' })).map(
      ({ data }) => data,
    );
    expect(states).toMatchObject([
      { to: 'dispatched' },
      { to: 'abandoned', reason: 'cancelled' },
      { to: 'queued' },
    ]);
  });

  test('of one task by two at once: one wins, the other is told so', async () => {
    await here.ready('One');
    await here.commit(await here.taskOf(1, 'abcd0001'), moved('queued', 'abandoned', 'cancelled'));
    const other = await openContext(here.root);
    const both = await Promise.allSettled(
      [here.context, other].map((one) => perform(one, 'task.restart', { task: '1' })),
    );
    await other.close();
    expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    const refused = both.find((one) => one.status === 'rejected');
    expect(String(refused?.reason)).toMatch(
      /abcd0001 \(#1\) .*(restarted by somebody else|queued, not ended)/,
    );
    const store = await here.context.writing();
    const moves = await store.events({ task: 'abcd0001', type: 'worker_state_transition' });
    expect(moves.map(({ data }) => data)).toMatchObject([{ to: 'abandoned' }, { to: 'queued' }]);
  });

  test('of one whose runner died needs no force; of one whose runner lives it does', async () => {
    await here.ready('One');
    await here.commit(await here.taskOf(1, 'abcd0001'), moved('queued', 'dispatched'));
    const store = await here.context.writing();
    const key = taskLease('abcd0001');
    const alive = await store.acquireLease(key, 'a runner', here.context.now(), MINUTE, () => true);
    await expect(restart('1')).rejects.toThrow('is dispatched, not ended');
    await store.releaseLease(alive!);
    await store.acquireLease(key, 'a runner', here.context.now(), -1, () => true);
    expect(await restart('1')).toMatchObject({ from: 'dispatched' });
    expect(await store.task('abcd0001')).toMatchObject({ task: { state: 'queued' } });
  });

  test('waits for a runner that still tells people of the end', async () => {
    await here.ready('One');
    await here.commit(await here.taskOf(1, 'abcd0001'), moved('queued', 'abandoned', 'cancelled'));
    const store = await here.context.writing();
    await store.acquireLease(taskLease('abcd0001'), 'a runner', here.context.now(), 1000, () => true);
    expect(await restart('1')).toMatchObject({ task: 'abcd0001', from: 'cancelled' });
    expect(await store.task('abcd0001')).toMatchObject({ task: { state: 'queued' } });
  });

  /** A plan that has come to an end, whose worktree is nowhere. */
  async function lost(): Promise<string> {
    const { task } = await perform(here.context, 'loop.start', { goal: 'Tidy up.', name: 'tidy' });
    const store = await here.context.writing();
    const path = join(here.root, 'gone');
    const baseSha = here.git('rev-parse', 'HEAD');
    await here.commit(
      (await store.task(task))!,
      event('workspace_ready', { path, baseSha }),
      moved('queued', 'abandoned', 'cancelled'),
    );
    return task;
  }
  const told = async () => (await perform(here.context, 'loop.show', { loop: 'tidy' })).restart;

  test('of a plan whose worktree is gone is refused until it is asked for, by either command (loops 56)', async () => {
    const task = await lost();
    here.git('branch', 'loop/tidy');
    const hint = expect.stringContaining('forge-loop loop restart tidy --recreate-worktree');
    await expect(restart(task)).rejects.toMatchObject({ message: expect.stringContaining('is gone'), hint });
    await expect(perform(here.context, 'loop.restart', { loop: 'tidy' })).rejects.toMatchObject({ hint });
    expect(await told()).toMatchObject({ blocked: 'missing_worktree', says: hint });
    expect(
      await perform(here.context, 'loop.restart', { loop: 'tidy', recreateWorktree: true }),
    ).toMatchObject({ rebuiltAt: here.git('rev-parse', 'loop/tidy') });
  });

  test('of a plan whose branch is gone with its worktree has to be started anew (loops 56)', async () => {
    await lost();
    const again = perform(here.context, 'loop.restart', { loop: 'tidy', recreateWorktree: true });
    await expect(again).rejects.toMatchObject({ hint: expect.stringContaining('forge-loop loop start') });
    const { blocked, says } = await told();
    expect(blocked).toBe('lost_worktree');
    expect(says).toContain('Its branch loop/tidy is gone, too. Start the plan again');
    expect(says).not.toContain('--recreate-worktree');
  });

  test('is refused beside another live task of the issue, and for a closed issue', async () => {
    await here.ready('One');
    await here.commit(await here.taskOf(1, 'abcd0001'), moved('queued', 'abandoned', 'cancelled'));
    const second = await here.taskOf(1, 'abcd0002', 2);
    await expect(restart('abcd0001')).rejects.toThrow('Issue #1 already has the task abcd0002');
    await here.commit(second, moved('queued', 'abandoned', 'cancelled'));
    await perform(here.context, 'issue.close', { issue: 1 });
    await expect(restart('abcd0001')).rejects.toThrow('Issue #1 is closed');
  });
});
