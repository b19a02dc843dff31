/** A runner in a process of its own that opens a tree, and stops where it is to be killed: before one of its gits, or after. */
import { type Git, openGit } from '../../src/git/git.ts';
import { cloneWorkspaces } from '../../src/workspace/clone.ts';
import { keyOfPath } from '../../src/workspace/paths.ts';

const job = JSON.parse(process.argv[2] ?? '') as { repo: string; root: string; commit: string; at: number };
const git = await openGit(job.repo);
let calls = 0;

const stopped = async (what: string): Promise<never> => {
  process.stdout.write(`${what}\n`);
  setInterval(() => {}, 60_000);
  return new Promise<never>(() => {});
};

const counted: Git = Object.assign(async (...[args, options]: Parameters<Git>) => {
  if (++calls === job.at) await stopped(args.find((arg) => /^[a-z-]+$/.test(arg) && arg !== '-c') ?? '');
  return git(args, options);
}, git);

const sha = (await git.resolve('refs/heads/main')) ?? '';
const workspaces = cloneWorkspaces({
  git: counted,
  root: job.root,
  repositoryKey: keyOfPath(job.repo),
  former: [],
  trunk: async () => ({ branch: 'main', sha }),
});
await workspaces.stage(job.commit, 'gate');
await stopped('opened');
