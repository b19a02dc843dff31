/** Effects at the edge: what is said when only a part of one could be done. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type GitHubScratch, githubScratch } from '../../test/support/github/scratch.ts';
import { running } from '../../test/support/play.ts';
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

it('a pull request that the forge refuses to open is an answer, in its words', async () => {
  const sha = await s.people.commit((await s.forge.trunk()).sha, { 'a.txt': 'a\n' });
  await s.forge.push('loop/7-a', sha, null);
  s.github.world.tokens.get(s.bot.token)!.lacks.push('pull_requests=write');
  const task = { ...running().task, branch: 'loop/7-a', headSha: sha };
  const spend = async () => ({ tokens: 0, costUsd: 0, unpriced: 0, complete: true });
  const ports = { forge: s.forge, store: { spend } } as unknown as Ports;
  const { signal } = new AbortController();
  expect(await perform(ports, task, { kind: 'ensure_pull', headSha: sha }, {} as Lease, signal)).toEqual({
    kind: 'publish_refused',
    detail: expect.stringContaining('Resource not accessible by personal access token'),
  });
});
