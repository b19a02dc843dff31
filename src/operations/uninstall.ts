/**
 * Takes the loop out of a repository. It shows what would go before anything does, and never touches what people wrote:
 * WORKFLOW.md, what has landed, and whatever is on GitHub.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { Context } from '../context.ts';
import { count } from '../core/words/words.ts';
import { UserError } from '../errors.ts';
import { isRunnerAlive } from '../view.ts';
import { serviceOf } from './systemd-unit.ts';

interface Uninstalled {
  removed: boolean;
  folders: { path: string; what: string }[];
  branches: { name: string; isLanded: boolean }[];
  /** Refs that keep commits of tasks alive. */
  refs: number;
  /** In the file of git that hides `.forge/`. */
  exclude: string | null;
  left: string[];
}

export async function uninstall(context: Context, { yes }: { yes: boolean }): Promise<Uninstalled> {
  await context.refuseInTurn('uninstall');
  const found = await look(context);
  if (!yes) return { ...found, removed: false };
  const store = await context.reading();
  if (store && (await isRunnerAlive(store, context)))
    throw new UserError('A runner is at work here.', 'Stop it first: `forge-loop stop`.');
  const { git } = context;
  const { discard } = await context.tools();
  for (const { path } of found.folders) await discard(path);
  await git(['worktree', 'prune']);
  for (const { name } of found.branches) await git(['branch', '-D', '--', name]);
  for (const ref of await refsIn(context, 'refs/forge')) await git(['update-ref', '-d', ref]);
  if (found.exclude !== null) writeFileSync(found.exclude, withoutForge(readFileSync(found.exclude, 'utf8')));
  return { ...found, removed: true };
}

async function look(context: Context): Promise<Omit<Uninstalled, 'removed'>> {
  const { settings } = await context.settings();
  const state = dirname(dirname(dirname((await context.places()).log('task', ''))));
  const workspaces = join((await context.tools()).workspaceRoot, basename(state));
  const isLocal = settings.tracker.kind === 'local';
  const issues = isLocal ? namesIn(join(context.forgeDir, 'issues')).filter(isIssue).length : 0;
  const folders = [
    {
      path: context.forgeDir,
      what: `the database, logs${isLocal ? ` and ${count(issues, 'issue')} with ${issues === 1 ? 'its' : 'their'} pull requests` : ''}`,
    },
    { path: state, what: 'homes, sessions, prompts and logs of its tasks' },
    { path: workspaces, what: count(namesIn(workspaces).length, 'worktree') },
  ].filter(({ path }) => existsSync(path));
  const exclude = join(context.git.gitDir, 'info', 'exclude');
  const service = await serviceOf(context);
  const isHidden =
    existsSync(exclude) && readFileSync(exclude, 'utf8') !== withoutForge(readFileSync(exclude, 'utf8'));
  return {
    folders,
    branches: await branchesOf(context),
    refs: (await refsIn(context, 'refs/forge')).length,
    exclude: isHidden ? exclude : null,
    left: [
      ...(existsSync(context.configPath) ? [context.configPath] : []),
      'everything that has landed',
      ...(existsSync(service.file) ? [`${service.file}: \`forge-loop service remove\``] : []),
      ...(isLocal ? [] : ['issues, pull requests, branches and labels on GitHub']),
    ],
  };
}

/** Those of its tasks, wherever they came to; one that is checked out is the person's now. */
async function branchesOf(context: Context): Promise<Uninstalled['branches']> {
  const store = await context.reading();
  const named = new Set((await store?.tasks())?.map(({ task }) => task.branch) ?? []);
  const there = await refsIn(context, 'refs/heads');
  const { stdout: head } = await context.git(['symbolic-ref', '--quiet', '--short', 'HEAD'], { allow: [1] });
  const branches: Uninstalled['branches'] = [];
  for (const name of there.map((ref) => ref.slice('refs/heads/'.length))) {
    if (!named.has(name) || name === head.trim()) continue;
    const { exitCode } = await context.git(['merge-base', '--is-ancestor', name, 'HEAD'], { allow: [1] });
    branches.push({ name, isLanded: exitCode === 0 });
  }
  return branches;
}

async function refsIn({ git }: Context, prefix: string): Promise<string[]> {
  const { stdout } = await git(['for-each-ref', '--format=%(refname)', prefix]);
  return stdout.split('\n').filter((ref) => ref !== '');
}

const namesIn = (folder: string): string[] => (existsSync(folder) ? readdirSync(folder) : []);
const isIssue = (name: string): boolean => /^\d+.*\.md$/.test(name) && !name.endsWith('.comments.md');
const withoutForge = (text: string): string => text.replace(/^\/\.forge\/\n/m, '');
