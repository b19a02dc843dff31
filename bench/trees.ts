/** A tree for the gate on the merged tree, against `git worktree add` of the same commit. */
import { spawn } from 'node:child_process';
import { randomFillSync } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import { openGit } from '../src/git/git.ts';
import { cloneWorkspaces } from '../src/workspace/clone.ts';
import { compare, type Measured, ms, timed } from './measure.ts';
import { CHEAP_AGENT, type Scratch, scratch, workflow } from './scratch.ts';

/** As many and as large as in a big repository; `FILES=3000` is a tenth of it. */
const FILES = Number(process.env.FILES ?? 30_000);
const BYTES = 23_500;
const ROUNDS = 3;

export async function trees(): Promise<Measured[]> {
  const place = await scratch(workflow(CHEAP_AGENT));
  try {
    await addFiles(place);
    return await measured(place);
  } finally {
    place.dispose();
  }
}

async function measured({ root, repo, git: run }: Scratch): Promise<Measured[]> {
  const git = await openGit(repo);
  const trunk = { branch: 'main', sha: await run(['rev-parse', 'main']) };
  const candidate = await run(['commit-tree', '-p', 'main', '-m', 'candidate', 'main~1^{tree}']);
  let round = 0;
  const opened = (at: string) =>
    cloneWorkspaces({
      git,
      root: join(root, at),
      repositoryKey: 'bench',
      former: [],
      trunk: async () => trunk,
    });
  const added = (): string => join(root, `added-${++round}`);
  const add = async (path: string) =>
    void (await run(['worktree', 'add', '-q', '--detach', path, candidate]));

  const cold = await compare(
    ROUNDS,
    async () => void (await opened(`cold-${round}`).stage(candidate, 'gate')),
    () => add(added()),
  );
  const warm: number[] = [];
  const kept = opened('warm');
  await (await kept.stage(trunk.sha, 'gate')).dispose();
  for (const commit of [candidate, trunk.sha, candidate])
    warm.push(await timed(async () => (await kept.stage(commit, 'gate')).dispose()));
  await git.close();
  const against = `\`git worktree add\`: ${ms(cold.baseline)}`;
  const named = `a tree of ${FILES.toLocaleString('en')} files for the merged-tree gate`;
  return [
    row(`${named}, cold`, cold.ours, 1.5),
    row('… warm, until it is put away again', Math.max(...warm), 0.5),
  ];

  function row(name: string, value: number, most: number): Measured {
    const ratio = value / cold.baseline;
    return { name, value: ms(value), against, ratio, goal: `≤ ${most}`, met: ratio <= most };
  }
}

/** Text that packs to half its size, as sources do, in 300 folders; then a commit that changes a few of them. */
async function addFiles({ repo }: Scratch): Promise<void> {
  const child = spawn('git', ['fast-import', '--quiet', '--force'], {
    cwd: repo,
    stdio: ['pipe', 'ignore', 'inherit'],
  });
  const say = async (text: string): Promise<void> => {
    if (!child.stdin.write(text)) await once(child.stdin, 'drain');
  };
  const files: string[] = [];
  const bytes = Buffer.alloc(BYTES / 2);
  for (let file = 1; file <= FILES; file++) {
    const text = randomFillSync(bytes).toString('hex');
    await say(`blob\nmark :${file}\ndata ${text.length}\n${text}\n`);
    files.push(`M 100644 :${file} d${file % 300}/file-${file}.txt\n`);
  }
  const commit = (changes: string) =>
    `commit refs/heads/main\ncommitter B <b@example.com> 1700000000 +0000\ndata 4\nmore\n${changes}\n`;
  await say(commit(`from refs/heads/main^0\n${files.join('')}`));
  await say(commit('M 100644 :1 d1/again.txt\nM 100644 :2 d2/file-2.txt\nD d3/file-3.txt\n'));
  child.stdin.end();
  await once(child, 'exit');
}
