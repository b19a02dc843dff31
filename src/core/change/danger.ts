/** What a change may not contain without a person's word: protected paths, and text shaped like a secret. */

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

const SECRETS: readonly { name: string; shape: RegExp }[] = [
  { name: 'a private key', shape: /-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----/ },
  { name: 'an AWS access key', shape: /\b(?:AKIA|ASIA)[0-9A-Z]{16}\b/ },
  { name: 'a GitHub token', shape: /\b(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{60,})\b/ },
  { name: 'an Anthropic key', shape: /\bsk-ant-[A-Za-z0-9_-]{20,}/ },
  { name: 'an OpenAI key', shape: /\bsk-(?:proj-)?[A-Za-z0-9_-]{32,}/ },
  { name: 'a Slack token', shape: /\bxox[abprs]-[A-Za-z0-9-]{10,}/ },
  { name: 'a Google API key', shape: /\bAIza[0-9A-Za-z_-]{35}\b/ },
];

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
  const known = new Set(SECRETS.flatMap(({ shape }) => shapesIn(before ?? '', shape)));
  const isNew = ({ shape }: (typeof SECRETS)[number]): boolean =>
    shapesIn(after, shape).some((one) => !known.has(one));
  return SECRETS.filter(isNew).map(({ name }) => `${path}: ${name}`);
}

const shapesIn = (text: string, shape: RegExp): string[] =>
  readingsOf(text).flatMap((one) => one.match(new RegExp(shape, 'g')) ?? []);

function secretsIn(patch: string): string[] {
  const found = parsePatch(patch).flatMap(({ path, added }) =>
    added.flatMap(({ text }) => shapedLikeSecrets(text).map((name) => `${path}: ${name}`)),
  );
  return [...new Set(found)];
}

/** What a text has that is shaped like a secret, by name. */
export function shapedLikeSecrets(text: string): string[] {
  const readings = readingsOf(text);
  return SECRETS.flatMap(({ name, shape }) => (readings.some((one) => shape.test(one)) ? [name] : []));
}

/** The same text with what is shaped like a secret struck out, for the words of others that we repeat. */
export const withoutSecrets = (text: string): string =>
  SECRETS.reduce((said, { name, shape }) => said.replace(new RegExp(shape, 'g'), `[${name}]`), text);

/** UTF-16 read as UTF-8 has a NUL beside each plain letter. */
const readingsOf = (text: string): string[] =>
  text.includes('\0') ? [text, text.replaceAll('\0', '')] : [text];
