/**
 * Merging as arithmetic on commits: no work tree, no index, no ref is touched.
 *
 * Whatever the method, the tree that lands is the tree `git merge` would give; squash, merge and rebase differ only in
 * the history they tell.
 */
import { commitTree } from './commit.ts';
import { type Git, nulSeparated } from './git.ts';
import { remembered, resolve, treeOf } from './objects.ts';

type MergedTree = { clean: true; tree: string } | { clean: false; files: string[] };

export async function mergeTree(git: Git, ours: string, theirs: string): Promise<MergedTree> {
  const ask = () => computeMerge(git, ours, theirs);
  const merged = await remembered(git, `merged ${ours} ${theirs}`, [ours, theirs], ask);
  // Nothing refers to the tree yet, so the operator may have cleaned it away since.
  return merged.clean && (await git.resolve(merged.tree)) === null ? ask() : merged;
}

async function computeMerge(git: Git, ours: string, theirs: string): Promise<MergedTree> {
  const args = [
    'merge-tree',
    '--write-tree',
    '-z',
    '--name-only',
    '--no-messages',
    '--allow-unrelated-histories',
  ];
  const merged = await git([...args, ours, theirs], { allow: [1] });
  const [tree, ...files] = nulSeparated(merged.stdout);
  if (tree === undefined) throw new Error(`git merge-tree ${ours} ${theirs} named no tree`);
  return merged.exitCode === 0 ? { clean: true, tree } : { clean: false, files: [...new Set(files)] };
}

interface Landing {
  tree: string;
  trunk: string;
  head: string;
  message: string;
  /** With the operator's key. Throws SigningFailed. */
  sign?: boolean;
}

/** One commit with this tree on trunk. */
export function squashCommit(
  git: Git,
  { tree, trunk, message, sign = false }: { tree: string; trunk: string; message: string; sign?: boolean },
): Promise<string> {
  return commitTree(git, { tree, parents: [trunk], message, sign });
}

export function mergeCommit(
  git: Git,
  { tree, trunk, head, message, sign = false }: Landing,
): Promise<string> {
  return commitTree(git, { tree, parents: [trunk, head], message, sign });
}

/**
 * The commits of `head` replayed on trunk one by one, their authors kept; the last has `tree`. A history that can't be
 * replayed to that tree (merges with resolutions in it) becomes one commit with `message` instead.
 */
export async function rebaseCommits(
  git: Git,
  { tree, trunk, head, message, sign = false }: Landing,
): Promise<string> {
  const range = await git(['rev-list', '--reverse', '--topo-order', '--no-merges', `${trunk}..${head}`]);
  let tip = trunk;
  let tipTree = await treeOf(git, trunk);
  for (const commit of lines(range.stdout)) {
    const replayed = await replay(git, commit, tip);
    if (!replayed.clean) return squashCommit(git, { tree, trunk, message, sign });
    if (replayed.tree === tipTree) continue;
    tipTree = replayed.tree;
    const [words, author] = [await messageOf(git, commit), await authorOf(git, commit)];
    tip = await commitTree(git, { tree: tipTree, parents: [tip], message: words, author, sign });
  }
  return tipTree === tree ? tip : squashCommit(git, { tree, trunk, message, sign });
}

/**
 * What one commit changes, on top of `onto`. Its parent has to be the merge base; `onto` gets a stand-in that says so,
 * because the option that names a base is younger than the git we ask for.
 */
async function replay(git: Git, commit: string, onto: string): Promise<MergedTree> {
  const parent = await resolve(git, `${commit}^`);
  if (parent === null) return mergeTree(git, onto, commit);
  const tree = await treeOf(git, onto);
  const standIn = await commitTree(git, { tree, parents: [parent], message: 'stand-in' });
  return mergeTree(git, standIn, commit);
}

async function messageOf(git: Git, commit: string): Promise<string> {
  return (await git(['log', '-1', '--format=%B', commit])).stdout;
}

async function authorOf(git: Git, commit: string): Promise<Record<string, string>> {
  const said = (
    await git(['log', '-1', '--format=%an%x00%ae%x00%ad', '--date=raw', commit])
  ).stdout.trimEnd();
  const [name = '', email = '', date = ''] = said.split('\0');
  return { GIT_AUTHOR_NAME: name, GIT_AUTHOR_EMAIL: email, GIT_AUTHOR_DATE: `@${date}` };
}

function lines(output: string): string[] {
  return output.split('\n').filter((line) => line !== '');
}
