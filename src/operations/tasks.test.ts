/** Naming a task, and asking something of one. */
import { describe, expect, test } from 'vitest';
import { MINUTE, moved, openedRepository } from '../../test/support/opened-repository.ts';
import { event } from '../core/event.ts';
import { perform } from '../operations.ts';
import { INTAKE_LEASE } from '../store/store.ts';

const here = openedRepository();

describe('naming a task', () => {
  test('by id, by the beginning of it, by issue number for the latest attempt', async () => {
    await here.ready('One');
    await here.commit(await here.taskOf(1, 'abcd0001'), moved('queued', 'abandoned', 'cancelled'));
    await here.taskOf(1, 'abce0002', 2);
    const named = async (task: string | number) => (await perform(here.context, 'task.show', { task })).id;
    expect(await named('abcd0001')).toBe('abcd0001');
    expect(await named('ABCD')).toBe('abcd0001');
    expect(await named('1')).toBe('abce0002');
    expect(await named('#1')).toBe('abce0002');
    expect(await named(1)).toBe('abce0002');
    await expect(named('abc')).rejects.toThrow(
      /begins the ids of 2 tasks: abcd0001 \(#1, abandoned\), abce0002/,
    );
    await expect(named('zzz')).rejects.toMatchObject({
      hint: expect.stringContaining('abce0002 (#1, queued)'),
    });
  });
});

describe('requests', () => {
  test('are recorded with the name of the operator, and say whether anybody is there to apply them', async () => {
    await here.ready('One');
    await here.taskOf(1, 'abcd0001');
    expect(await perform(here.context, 'pause', { task: '1' })).toEqual({
      task: 'abcd0001',
      issue: 1,
      asked: 'pause',
      runnerAlive: false,
    });
    const store = await here.context.writing();
    expect(await store.requests('abcd0001')).toMatchObject([{ kind: 'pause', by: 'Eva' }]);
    await store.acquireLease(INTAKE_LEASE, 'somebody alive', here.context.now(), MINUTE, () => false);
    expect(await perform(here.context, 'task.cancel', { task: '1' })).toMatchObject({ runnerAlive: true });
  });

  test('that make no sense are refused: of an ended task, a release of what is not held, an approval too early', async () => {
    await here.ready('One');
    const stored = await here.taskOf(1, 'abcd0001');
    await expect(perform(here.context, 'resume', { task: '1' })).rejects.toThrow('is not held: it is queued');
    await expect(perform(here.context, 'task.approve', { task: '1' })).rejects.toThrow(
      'nothing to approve: it is queued',
    );
    await expect(perform(here.context, 'task.retry', { task: '1' })).rejects.toThrow('is being worked on');
    await here.commit(stored, moved('queued', 'abandoned', 'cancelled'));
    await expect(perform(here.context, 'task.cancel', { task: '1' })).rejects.toThrow('has ended: abandoned');
    expect(await (await here.context.writing()).requests('abcd0001')).toEqual([]);
  });

  test('an approval of a head that is no longer there approves nothing', async () => {
    await here.ready('One');
    const sha = here.git('rev-parse', 'HEAD');
    const head = { sha, tree: here.git('rev-parse', 'HEAD^{tree}') };
    await here.commit(
      await here.taskOf(1, 'abcd0001'),
      moved('queued', 'dispatched'),
      event('workspace_ready', { path: '/w', baseSha: sha }),
      moved('dispatched', 'running'),
      event('checkpointed', { head, baseSha: sha, changed: true, empty: false }),
      event('branch_pushed', { sha }),
      event('pull_ensured', { pull: 1, headSha: sha }),
      moved('running', 'awaiting_critic'),
    );
    here.git('branch', 'loop/1-s', sha);
    const approve = (seen: string) => perform(here.context, 'task.approve', { task: '1', head: seen });
    await expect(approve('0123456789')).rejects.toThrow(
      /head of #1 is .* now, not 0123456789: nothing was approved/,
    );
    const store = await here.context.writing();
    expect(await store.requests('abcd0001')).toEqual([]);
    // The right one gets as far as the forge, which has no pull request here.
    await expect(approve(sha.slice(0, 10))).rejects.toThrow('There is no pull request #1');
  });

  test('tell keeps the words with the request, and is refused where nobody would be told', async () => {
    await here.ready('One');
    const stored = await here.taskOf(1, 'abcd0001');
    const told = { task: '1', text: ' Call it slug. ' };
    expect(await perform(here.context, 'task.tell', told)).toMatchObject({ asked: 'tell', task: 'abcd0001' });
    const store = await here.context.writing();
    expect(await store.requests('abcd0001')).toMatchObject([
      { kind: 'tell', by: 'Eva', why: 'Call it slug.' },
    ]);
    await expect(perform(here.context, 'task.tell', { ...told, text: ' ' })).rejects.toThrow('text');
    await here.commit(stored, moved('queued', 'abandoned', 'cancelled'));
    await expect(perform(here.context, 'task.tell', told)).rejects.toMatchObject({
      message: expect.stringContaining('has ended: abandoned'),
      hint: expect.stringContaining('task restart abcd0001'),
    });
  });

  test('retry makes the issue ready and skips the cooldown', async () => {
    const number = await here.ready('One');
    await here.commit(await here.taskOf(number, 'abcd0001'), moved('queued', 'abandoned', 'no_progress'));
    await (await here.context.forge()).relabel(number, {
      add: ['loop:needs-review'],
      remove: ['loop:ready'],
    });
    await perform(here.context, 'issue.ready', { issue: 1 });
    expect((await perform(here.context, 'why', { issue: 1 })).issues).toMatchObject([
      { why: expect.stringContaining('cooling down'), until: expect.stringMatching(/Z$/) },
    ]);
    expect(await perform(here.context, 'task.retry', { task: '1' })).toMatchObject({ issue: 1, attempt: 2 });
    expect((await perform(here.context, 'issue.show', { issue: 1 })).labels).toEqual(['loop:ready']);
    expect((await perform(here.context, 'why', { issue: 1 })).issues).toMatchObject([
      { why: 'ready: starts when a slot is free' },
    ]);
  });
});
