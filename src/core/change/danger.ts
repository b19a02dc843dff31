/** What a change may not contain without a person's word: protected paths, and text shaped like a secret. */

import { anyOf, KEY_SHAPES, type SecretShape } from '../access/secret-shapes.ts';
import { shortSha } from '../words/short-sha.ts';
import type { Change, HiddenFile } from './change.ts';
import { parsePatch } from './patch.ts';

/**
 * `folder/` protects everything below it; anything else is one file. Paths are as git prints them. A link in the place
 * of a folder on the way brings what is behind it.
 */
export function protectedAmong(files: readonly string[], protectedPaths: readonly string[]): string[] {
  return files.filter((file) =>
    protectedPaths.some(
      (path) => path.startsWith(`${file}/`) || (path.endsWith('/') ? file.startsWith(path) : file === path),
    ),
  );
}

/**
 * What looks like a secret in a change, as `file: what`; the secret itself is never repeated. What a later commit takes
 * away is in the history all the same, and pushed with it.
 */
export function secretsOf(change: Pick<Change, 'patch' | 'commits' | 'hidden'>): string[] {
  const hiddenAt = (commit: string | null) =>
    change.hidden.filter((file) => file.commit === commit).flatMap(secretsOfFile);
  const here = [...new Set([...secretsIn(change.patch), ...hiddenAt(null)])];
  const buried = change.commits.flatMap(({ sha, patch }) =>
    [...secretsIn(patch ?? ''), ...hiddenAt(sha)]
      .filter((said) => !here.includes(said))
      .map((said) => `${said}, in the history at ${shortSha(sha)}`),
  );
  return [...here, ...buried];
}

/** Of a file that shows no lines: what it did not have before. */
function secretsOfFile({ path, before, after }: HiddenFile): string[] {
  const known = new Set(KEY_SHAPES.flatMap(({ shape }) => shapesIn(before ?? '', shape)));
  const isNew = ({ shape }: SecretShape): boolean => shapesIn(after, shape).some((one) => !known.has(one));
  return KEY_SHAPES.filter(isNew).map(({ name }) => `${path}: ${name}`);
}

const shapesIn = (text: string, shape: RegExp): string[] =>
  readingsOf(text).flatMap((one) => one.match(new RegExp(shape, 'g')) ?? []);

function secretsIn(patch: string): string[] {
  const found = parsePatch(patch).flatMap(({ path, added }) =>
    added.flatMap(({ text }) => shapedLikeSecrets(text).map((name) => `${path}: ${name}`)),
  );
  return [...new Set(found)];
}

/** What a text has that is shaped like a secret, by name. Most lines have nothing: that is found out in one look. */
export function shapedLikeSecrets(text: string): string[] {
  const readings = readingsOf(text).filter((one) => one.search(ANY_KEY) >= 0);
  return KEY_SHAPES.flatMap(({ name, shape }) => (readings.some((one) => shape.test(one)) ? [name] : []));
}

const ANY_KEY = anyOf(KEY_SHAPES);

/** UTF-16 read as UTF-8 has a NUL beside each plain letter. */
const readingsOf = (text: string): string[] =>
  text.includes('\0') ? [text, text.replaceAll('\0', '')] : [text];
