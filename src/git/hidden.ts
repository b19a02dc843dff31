/**
 * What a change has in files that git calls binary, one NUL byte is enough, and so shows nothing of. Nobody reviews
 * these; the rules look into them all the same.
 */
import { type ChangeCommit, type HiddenFile, SEARCHED_BYTES } from '../core/change/change.ts';
import { type FilePatch, parsePatch } from '../core/change/patch.ts';
import type { Changed } from './changes.ts';
import type { Git } from './git.ts';

export async function hiddenIn(
  git: Git,
  changed: readonly Changed[],
  patch: string,
  commits: readonly ChangeCommit[],
): Promise<HiddenFile[]> {
  const sides = new Map(changed.map((one) => [one.path, one]));
  const atHead = binariesIn(patch).map(({ path, from }) => ({
    path,
    commit: null,
    before: blobOf(sides.get(from ?? path)?.from),
    after: blobOf(sides.get(path)?.to),
  }));
  const known = new Set(atHead.map(({ after }) => after));
  const buried = commits
    .flatMap(({ sha, patch: own }) =>
      // This patch has the blobs' full names.
      binariesIn(own ?? '').map(({ path, blob }) => ({ path, commit: sha, before: null, after: blob })),
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

const binariesIn = (patch: string): FilePatch[] => parsePatch(patch).filter(({ isBinary }) => isBinary);

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
