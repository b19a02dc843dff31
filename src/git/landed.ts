/**
 * Is a branch's work on trunk, whoever put it there and however?
 *
 * A merge or fast-forward leaves the commit itself. A squash or a rebase leaves other commits with the same change:
 * they are found by patch-id, or by trunk having nothing left to take from the branch.
 */
import { changesBetween } from './changes.ts';
import type { Git } from './git.ts';
import { mergeTree } from './merge.ts';
import { firstParents, isAncestor, mergeBase, resolve, treeOf } from './objects.ts';

/** How far back on trunk a squashed commit is looked for, counting only commits on a file the branch changes. */
const SEARCHED = 200;

/**
 * The commit on trunk by which the work of `head` landed, or null. `others` are commits known to carry somebody else's
 * work: the same change made twice is not a merge of the second.
 */
export async function landedAs(
  git: Git,
  head: string,
  trunk: string,
  others: ReadonlySet<string> = new Set(),
): Promise<string | null> {
  if ((await resolve(git, head)) === null) return null;
  if (await isAncestor(git, head, trunk)) return head;
  const base = await mergeBase(git, trunk, head);
  if (base === null || base === trunk) return null;
  if ((await firstParents(git, base, trunk)).every((sha) => others.has(sha))) return null;
  const files = (await changesBetween(git, base, head)).map(({ path }) => path);
  if (files.length === 0) return null;

  const suspects = (await commitsOn(git, base, trunk, files)).filter((sha) => !others.has(sha));
  if (suspects.length === 0) return null;
  const wanted = await patchIds(git, ['diff', ...PATCH, base, head]);
  const found = await patchIds(git, ['diff-tree', '--stdin', '-p', ...PATCH], `${suspects.join('\n')}\n`);
  for (const [patch, commit] of found) if (wanted.has(patch)) return commit;
  const own = (await git(['rev-list', '--no-merges', '-n', String(SEARCHED), `${base}..${head}`])).stdout;
  const replayed = [...(await patchIds(git, ['diff-tree', '--stdin', '-p', ...PATCH], own)).keys()];
  if (replayed.length > 0 && replayed.every((patch) => found.has(patch))) return found.get(replayed[0]!)!;

  const merged = await mergeTree(git, trunk, head);
  return merged.clean && merged.tree === (await treeOf(git, trunk)) ? suspects[0]! : null;
}

const PATCH = ['--no-renames', '--full-index', '--no-color', '--src-prefix=a/', '--dst-prefix=b/'];

/** Newest first. A few of the files are enough to find a commit that has all of them. */
async function commitsOn(git: Git, base: string, trunk: string, files: readonly string[]): Promise<string[]> {
  const args = [
    '--literal-pathspecs',
    'rev-list',
    '--first-parent',
    '-n',
    String(SEARCHED),
    `${base}..${trunk}`,
  ];
  return (await git([...args, '--', ...files.slice(0, 20)])).stdout.split('\n').filter((line) => line !== '');
}

/** From patch-id to commit (a plain diff has no commit; its name is then zeros). */
async function patchIds(git: Git, diff: readonly string[], input = ''): Promise<Map<string, string>> {
  const said = await git.pipe({ args: diff, options: { input } }, { args: ['patch-id', '--stable'] });
  const pairs = said.stdout.split('\n').filter((line) => line !== '');
  return new Map(pairs.map((line) => line.split(' ') as [string, string]));
}
