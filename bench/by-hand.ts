/**
 * What a careful person's script would run for one issue, with the same result and the same children as the loop:
 * a clone to work in, the agent, its work committed and brought into the repository, the gate, a tree of the head for
 * the critic and the diff to judge, proof that the critic changed nothing, the merge as a candidate commit, a tree of it
 * for the gate, its diff searched for what must not land, a look at the operator's checkout, trunk and checkout moved
 * in one step, everything cleaned up. It keeps no record, survives no crash, and trusts the agent's configuration.
 */
import { join } from 'node:path';
import type { Scratch } from './scratch.ts';

/** One program: where it runs, and its arguments. `$NAME` stands for what an earlier one printed. */
export interface Step {
  in: string;
  run: string[];
  /** Keeps its first line under this name. */
  as?: string;
}

export function stepsByHand({ repo, root }: Scratch, number: number): Step[] {
  const at = join(root, `hand-${number}`);
  const review = join(root, `review-${number}`);
  const branch = `hand/${number}`;
  const who = ['-c', 'user.name=b', '-c', 'user.email=b@example.com'];
  const git = (...args: string[]): Step => ({ in: repo, run: ['git', ...args] });
  const work = (...args: string[]): Step => ({ in: at, run: ['git', ...args] });
  const child = (where: string, command: string): Step => ({ in: where, run: ['/bin/sh', '-c', command] });
  return [
    git('clone', '-q', '--shared', '.', at),
    work('checkout', '-q', '-b', branch),
    child(at, `cat >/dev/null </dev/null; echo work > hand-${number}.txt`),
    work('status', '--porcelain'),
    work('add', '-A'),
    work(...who, 'commit', '-qm', 'work'),
    git('fetch', '-q', at, `${branch}:${branch}`),
    child(at, 'true'),
    git('worktree', 'add', '-q', '--detach', review, branch),
    git('diff', `main...${branch}`),
    child(review, 'cat >/dev/null </dev/null'),
    git('worktree', 'remove', '--force', review),
    work('status', '--porcelain'),
    { ...git('merge-tree', '--write-tree', 'main', branch), as: 'TREE' },
    { ...git('commit-tree', '-p', 'main', '-m', `hand ${number}`, '$TREE'), as: 'CANDIDATE' },
    git('worktree', 'add', '-q', '--detach', review, '$CANDIDATE'),
    child(review, 'true'),
    git('worktree', 'remove', '--force', review),
    git('diff', 'main', '$CANDIDATE'),
    git('status', '--porcelain'),
    git('merge', '-q', '--ff-only', '$CANDIDATE'),
    git('branch', '-q', '-D', branch),
    { in: repo, run: ['rm', '-rf', at] },
  ];
}
