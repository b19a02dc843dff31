/** What must be true of an issue that was merged, whoever died on the way: everything once, nothing left, nothing lost. */
import { expect } from 'vitest';
import type { Task } from '../../../src/core/task.ts';
import { processesWith } from './proc.ts';
import type { World } from './world.ts';

export async function expectMergedOnce(world: World, issue: number): Promise<Task> {
  const store = await world.store();
  const [found, ...others] = await store.tasks({ issue });
  expect(others, 'one task for the issue').toEqual([]);
  const { task } = found!;
  expect(task).toMatchObject({ state: 'merged', reason: null, turn: null, hold: null });

  const commits = world.git('log', '--format=%H', `--grep=^Issue: #${issue}$`, 'main').trim().split('\n');
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

/** A turn counts when it came to an end of its own, once, and numbers follow each other. */
async function expectCountsKept(world: World, task: Task): Promise<void> {
  const turns = (await world.turns(task.issue!)).filter((turn) => turn.role === 'coder');
  const counted = turns.filter((turn) => turn.status !== 'interrupted');
  expect(counted.map((turn) => turn.turn)).toEqual(counted.map((_, at) => at + 1));
  expect(task.turns).toBe(counted.length);
  const verdicts = (await world.events()).filter(
    (one) => one.task === task.id && one.type === 'verdict_recorded' && one.data.by === 'critic',
  );
  expect(task.criticRounds).toBe(verdicts.length);
}
