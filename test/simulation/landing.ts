/**
 * A forge that makes its own commits, as hosted ones do: somebody may push in the very instant of a merge, and where the
 * branch has a merge queue, the queue lands a head when it comes to it, or gives it back.
 */
import { event } from '../../src/core/event.ts';
import { redFiles } from './repository.ts';
import type { SimPull, World } from './world.ts';

/** Somebody's push that comes between the last look at trunk and the merge. */
export function sneakIn({ repository, random, trunk }: World): void {
  const before = repository.get(trunk());
  const files = {
    ...before.files,
    'sneaked.txt': `${random.pick(['good', 'good', 'bad'])} ${random.hex(4)}`,
  };
  repository.refs.set('main', repository.commit(files, [before.sha], `by hand ${random.hex(6)}`).sha);
}

export function enqueue(world: World, pull: SimPull, candidate: { tree: string; headSha: string }): void {
  const waiting = world.queue.get(pull.number);
  if (waiting) {
    // Asked for again: what the loop has tested is what it says now.
    waiting.tested = candidate.tree;
    return;
  }
  pull.inMergeQueue = true;
  const turn = { tested: candidate.tree };
  world.queue.set(pull.number, turn);
  world.time.after(5000 + world.random.int(120_000), () => {
    if (world.queue.get(pull.number) !== turn) return;
    world.queue.delete(pull.number);
    pull.inMergeQueue = false;
    const isThere = pull.state === 'open' && world.repository.refs.get(pull.branch) === candidate.headSha;
    if (isThere && !world.random.chance(0.2)) mergeHead(world, pull, { ...candidate, tree: turn.tested });
  });
}

export function leaveQueue(world: World, pull: SimPull): void {
  world.queue.delete(pull.number);
  pull.inMergeQueue = false;
}

/** False when it does not merge. The tree that lands is that of the head on trunk as it is now. */
export function mergeHead(world: World, pull: SimPull, tested: { tree: string; headSha: string }): boolean {
  const { repository, random, time } = world;
  if (repository.isAncestor(tested.headSha, world.trunk())) return false;
  const { files, conflicts } = repository.merge(world.trunk(), tested.headSha);
  if (conflicts.length > 0) return false;
  const { sha, tree } = repository.commit(files, [world.trunk()], `pull ${pull.number} ${random.hex(6)}`);
  if (world.landings.some((one) => one.pull === pull.number))
    world.violate(`landed pull ${pull.number} twice`);
  repository.refs.set('main', sha);
  pull.mergedSha = sha;
  pull.state = 'merged';
  const issue = pull.issue === null ? undefined : world.issues.get(pull.issue);
  if (issue) issue.state = 'closed';
  const untested = tree !== tested.tree;
  world.landings.push({ pull: pull.number, issue: pull.issue, at: time.now(), candidate: sha, untested });
  // A person looks into it in the end.
  if (untested) time.after(600_000, () => void mendTrunk(world));
  return true;
}

/** What a person does when the loop waits for one: trunk was not tested and is red, or the gate could not run on it. */
export async function mendTrunk(world: World): Promise<boolean> {
  const { store, repository, time } = world;
  const { holds, trials } = await store.loop();
  const isGateBroken = trials.some(({ outcome }) => outcome === 'could_not_run');
  if (holds.length === 0 && !isGateBroken) return false;
  const { files, sha } = repository.get(world.trunk());
  const bad = redFiles(files).map((said) => said.split(' ')[0]!);
  const mended = { ...files, ...Object.fromEntries(bad.map((path) => [path, `good ${path}`])) };
  if (bad.length > 0) repository.refs.set('main', repository.commit(mended, [sha], `mended ${sha}`).sha);
  const released = [
    event('gate_retry_requested', { by: 'person' }),
    ...holds.map((hold) => event('loop_released', { ...hold, by: 'person' })),
  ];
  await store.updateLoop({}, released, time.now());
  return true;
}
