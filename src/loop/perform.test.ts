/** Effects at the edge: what is said when only a part of one could be done. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type GitHubScratch, githubScratch } from '../../test/support/github/scratch.ts';
import type { Evidence } from '../core/gate.ts';
import type { Task } from '../core/task.ts';
import type { Lease } from '../store/store.ts';
import { perform } from './perform.ts';
import type { Ports } from './ports.ts';

let s: GitHubScratch;
beforeEach(async () => {
  s = await githubScratch();
});
afterEach(() => s.dispose());

it('a push that only could not be marked as verified is said to be done, and marked by the next try', async () => {
  const sha = await s.people.commit((await s.forge.trunk()).sha, { 'a.txt': 'a\n' });
  const task = {
    branch: 'loop/7-a',
    head: { sha, tree: 't' },
    gate: { tree: 't', outcome: 'pass' } as Evidence,
  } as Task;
  const push = () =>
    perform(
      { forge: s.forge } as unknown as Ports,
      task,
      { kind: 'push', sha, expected: null },
      {} as Lease,
      new AbortController().signal,
    );
  s.github.faults.add({ method: 'POST', path: /statuses/, how: { kind: 'answer', status: 502 } });
  await expect(push()).rejects.toThrow(
    /^It was pushed, but not marked as verified yet: GitHub did not answer/,
  );
  expect(await s.github.world.git.resolve('refs/heads/loop/7-a')).toBe(sha);
  expect(await push()).toEqual({ kind: 'pushed' });
  expect(s.github.world.statuses).toMatchObject([{ sha, context: 'forge-loop/gate', state: 'success' }]);
});
