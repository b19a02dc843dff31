/** What must be true of the line of tasks that are about to land, seen from outside at the moment one of them does. */
import { isInLine } from '../../src/core/line/line.ts';
import { hasBegun } from '../../src/core/recover.ts';
import type { SimCommit } from './repository.ts';
import type { SimPull, World } from './world.ts';

/** It is the first of the line. Clocks may differ: a task is ahead of another by its own clock and by the events. */
export async function judgeOrder(
  { store, violate, isManual }: World,
  { marker: landing }: SimPull,
): Promise<void> {
  const linedUp = new Map<string | null, { at: number; seq: number }>();
  for (const one of await store.events())
    if (one.type === 'line_rejoined' || (one.type === 'worker_state_transition' && one.data.to === 'merging'))
      linedUp.set(one.task, one);
  const mine = linedUp.get(landing);
  if (!mine) return violate(`${landing} landed and was never in line`);
  for (const { task } of await store.tasks({ live: true })) {
    const { at, seq } = linedUp.get(task.id) ?? mine;
    if (!isInLine(task) || seq >= mine.seq || at >= mine.at) continue;
    const isLeft = isManual && hasBegun(await store.pendingActions(task.id));
    if (!isLeft) violate(`${landing} landed before ${task.id}`);
  }
}

/** What it changes on trunk is in its head, and its head has no candidate in it that has not landed. */
export function judgeContents(world: World, { sha, headSha }: { sha: string; headSha: string }): void {
  const { repository, landings, candidates, violate } = world;
  const [before, after, head] = [world.trunk(), sha, headSha].map((commit) => repository.get(commit).files);
  for (const path of new Set([...Object.keys(before!), ...Object.keys(after!)]))
    if (before![path] !== after![path] && after![path] !== head![path])
      violate(`landed ${path} with ${headSha}, which has nothing of it`);
  for (const { sha: part } of repository.between(world.trunk(), headSha))
    if (candidates.has(part) && !landings.some(({ candidate }) => candidate === part))
      violate(`landed ${headSha}, which builds on the candidate ${part} that has not landed`);
}

/** The candidates that contain this one. */
export const containing = ({ repository, candidates }: World, sha: string): SimCommit[] =>
  [...candidates].filter((other) => repository.isAncestor(sha, other)).map(repository.get);
