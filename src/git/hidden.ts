/**
 * What a change has in files that git calls binary, one NUL byte is enough, and so shows nothing of. Nobody reviews
 * these; the rules look into them all the same.
 */
import { type ChangeCommit, type HiddenFile, SEARCHED_BYTES } from '../core/change.ts';
import { parsePatch } from '../core/patch.ts';
import type { Changed } from './changes.ts';
import type { Git } from './git.ts';

export async function hiddenIn(
  git: Git,
  changed: readonly Changed[],
  patch: string,
  commits: readonly ChangeCommit[],
): Promise<HiddenFile[]> {
  const sides = new Map(changed.map((one) => [one.path, one]));
  const atHead = parsePatch(patch)
    .filter(({ isBinary }) => isBinary)
    .map(({ path, from }) => ({
      path,
      commit: null,
      before: blobOf(sides.get(from ?? path)?.from),
      after: blobOf(sides.get(path)?.to),
    }));
  const known = new Set(atHead.map(({ after }) => after));
  const buried = commits
    .flatMap(({ sha, patch: own }) =>
      binariesIn(own ?? '').map((one) => ({ ...one, commit: sha, before: null })),
    )
    .filter(({ after }) => !known.has(after));
  const texts = await smallTexts(
    git,
    [...atHead, ...buried].flatMap(({ before, after }) => [before, after]),
  );
  return [...atHead, ...buried].flatMap(({ path, commit, before, after }) => {
    const text = texts.get(after ?? '');
    return text === undefined ? [] : [{ path, commit, before: texts.get(before ?? '') ?? null, after: text }];
  });
}

const blobOf = (side: string | null | undefined): string | null => side?.split(' ')[1] ?? null;

/** In a patch with full names of blobs. Lines of files have a sign before them, so none of them passes for these. */
function binariesIn(patch: string): { path: string; after: string }[] {
  const found: { path: string; after: string }[] = [];
  let path = '';
  let after = '';
  for (const line of patch.split('\n')) {
    path = /^diff --(?:git .* "?b\/|cc |combined )(.*?)"?$/.exec(line)?.[1] ?? path;
    after = /^index [0-9a-f,]+\.\.([0-9a-f]{40,64})/.exec(line)?.[1] ?? after;
    if (line.startsWith('Binary files ')) found.push({ path, after });
  }
  return found;
}

const LONGEST_ALL = 32 * SEARCHED_BYTES;

/** Pictures and archives are large and many: what is read of them has an end. */
async function smallTexts(git: Git, blobs: readonly (string | null)[]): Promise<Map<string, string>> {
  const shas = [...new Set(blobs.filter((sha) => sha !== null))];
  const sizes = await git.sizes(shas);
  const texts = new Map<string, string>();
  let left = LONGEST_ALL;
  for (const [index, sha] of shas.entries()) {
    const bytes = sizes[index] ?? null;
    if (bytes === null || bytes > SEARCHED_BYTES || bytes > left) continue;
    const text = await git.text(sha);
    if (text === null) continue;
    left -= bytes;
    texts.set(sha, text);
  }
  return texts;
}
