/** Loop overhead per task against the bare git commands and child processes the same work needs. */

import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type Measured, median, ms, timed } from './measure.ts';
import { CHEAP_AGENT, type Scratch, scratch, workflow } from './scratch.ts';

const execute = promisify(execFile);
const TASKS = 12;

export async function overhead(): Promise<Measured> {
  const ours: number[] = [];
  const bare: number[] = [];
  for (let round = 0; round < 3; round++) {
    const place = await scratch(workflow(CHEAP_AGENT));
    try {
      bare.push(await timed(async () => byHand(place)));
      for (let number = 1; number <= TASKS; number++)
        place.issue(number, `Issue ${number}`, `Creates \`work-${number}.txt\`.`);
      const idle = await timed(async () => void (await place.loop(['status'])));
      ours.push((await timed(async () => void (await place.loop(['run', '--until-idle'])))) - idle);
      const merged = (await place.git(['log', '--format=%s', 'main']))
        .split('\n')
        .filter((subject) => subject.startsWith('Issue'));
      if (merged.length !== TASKS) throw new Error(`${merged.length} of ${TASKS} tasks merged`);
    } finally {
      place.dispose();
    }
  }
  const [each, base] = [median(ours) / TASKS, median(bare) / TASKS];
  return {
    name: 'loop overhead per task',
    value: `${ms(each)} a task`,
    against: `the same git commands and children by hand: ${ms(base)}`,
    ratio: each / base,
    goal: '≤ 1.5',
    met: each / base <= 1.5,
  };
}

/** What a careful person would type for one issue: clone, branch, work, commit, fetch, check, merge, check, land, clean up. */
async function byHand(place: Scratch): Promise<void> {
  const { git, repo, root } = place;
  for (let number = 1; number <= TASKS; number++) {
    const at = join(root, `hand-${number}`);
    const branch = `hand/${number}`;
    await git(['clone', '-q', '--shared', '.', at]);
    await git(['checkout', '-q', '-b', branch], at);
    await child(at, `cat >/dev/null </dev/null; echo work > hand-${number}.txt`);
    await git(['status', '--porcelain'], at);
    await git(['add', '-A'], at);
    await git(['-c', 'user.name=b', '-c', 'user.email=b@x', 'commit', '-qm', 'work'], at);
    await git(['fetch', '-q', at, `${branch}:${branch}`]);
    await child(at, 'true');
    const review = join(root, `review-${number}`);
    await git(['worktree', 'add', '-q', '--detach', review, branch]);
    await git(['diff', `main...${branch}`]);
    await child(review, 'true');
    await git(['worktree', 'remove', '--force', review]);
    const tree = (await git(['merge-tree', '--write-tree', 'main', branch])).split('\n')[0]!;
    const candidate = await git(['commit-tree', '-p', 'main', '-m', `hand ${number}`, tree]);
    await git(['worktree', 'add', '-q', '--detach', review, candidate]);
    await child(review, 'true');
    await git(['worktree', 'remove', '--force', review]);
    await git(['status', '--porcelain']);
    await git(['merge', '-q', '--ff-only', candidate]);
    await git(['branch', '-q', '-D', branch]);
    await execute('rm', ['-rf', at], { cwd: repo });
    writeFileSync(join(root, 'done'), String(number));
  }
}

async function child(cwd: string, command: string): Promise<void> {
  await execute('/bin/sh', ['-c', command], { cwd });
}
