/** What must be true of an issue that was merged, whoever died on the way: everything once, nothing left, nothing lost. */
import { expect } from 'vitest';
import { failedAtOnce } from '../../../src/core/money/account.ts';
import { isNotItsDoing } from '../../../src/core/outcome.ts';
import type { Task } from '../../../src/core/task.ts';
import { processesWith } from './proc.ts';
import type { World } from './world.ts';

export async function expectMergedOnce(world: World, issue: number): Promise<Task> {
  const store = await world.store();
  const [found, ...others] = await store.tasks({ issue });
  expect(others, 'one task for the issue').toEqual([]);
  const { task } = found!;
  expect(task).toMatchObject({ state: 'merged', reason: null, turn: null, hold: null });

  const commits = world
    .git('log', '--format=%H', '-E', `--grep=^Issue: (#${issue}|${issue} \\(.forge/issues\\))$`, 'main')
    .trim()
    .split('\n');
  expect(commits, 'one merge commit on trunk').toEqual([task.mergedSha]);
  const [pull, ...morePulls] = world.pulls(issue);
  expect(morePulls, 'one pull request').toEqual([]);
  expect(pull).toMatch(/^state: merged$/m);

  expect(processesWith(`FORGE_MARK=${task.id}`), 'no process of the task is left').toEqual([]);
  await expectEventsWithoutGap(world);
  await expectCountsKept(world, task);
  expect(await store.pendingActions(task.id), 'nothing is left to do').toEqual([]);
  expect(task.workspace, 'its workspace is gone').toBeNull();
  expect(world.git('branch', '--list', task.branch)).toBe('');
  expect(world.git('status', '--porcelain', '--untracked-files=all'), 'the checkout is clean').toBe('');
  expect(world.git('rev-parse', 'HEAD')).toBe(world.git('rev-parse', 'main'));
  return task;
}

export async function expectEventsWithoutGap(world: World): Promise<void> {
  const seqs = (await world.events()).map((one) => one.seq);
  expect(seqs).toEqual(seqs.map((_, at) => at + 1));
}

/**
 * A turn counts when it came to an end of its own after some work, and not of its provider's, once; numbers follow each
 * other.
 */
async function expectCountsKept(world: World, task: Task): Promise<void> {
  const events = (await world.events()).filter((one) => one.task === task.id);
  const ended = events.flatMap((one) => (one.type === 'turn_completed' ? [one.data] : []));
  const counted = ended.filter(
    (turn) =>
      turn.role === 'coder' &&
      turn.status !== 'interrupted' &&
      !failedAtOnce(turn) &&
      !isNotItsDoing(turn.code),
  );
  expect(counted.map((one) => one.turn)).toEqual(counted.map((_, at) => at + 1));
  expect(task.turns).toBe(counted.length);
  const verdicts = events.filter((one) => one.type === 'verdict_recorded' && one.data.by === 'critic');
  expect(task.criticRounds).toBe(verdicts.length);
}
