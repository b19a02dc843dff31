/**
 * Uploads what commits keep in Git LFS before they are pushed: the hook that would do it is off.
 *
 * The server is the one that the operator's configuration and their checkout name. Our token is offered to the forge's own
 * host alone; any other is asked for with the operator's own credential helpers.
 */

import { shortSha } from '../../core/words/short-sha.ts';
import { ForgeUnavailable, GitFailed } from '../../errors.ts';
import type { Git } from '../../git/git.ts';
import { pointersIn, storedObjects } from '../../git/lfs.ts';
import { asItIs } from './address.ts';

/** Objects of the commits that `sha` has and none of `known` does. What the server refuses them with; null when it has them. */
export async function uploadObjects(
  { git, url, token }: { git: Git; url: string; token(): Promise<string> },
  sha: string,
  known: readonly string[],
): Promise<string | null> {
  if (!git.lfs) return null;
  const oids = await newObjects(git, sha, known);
  for (let at = 0; at < oids.length; at += AT_ONCE) {
    const args = ['lfs', 'push', '--object-id', url, ...oids.slice(at, at + AT_ONCE)];
    try {
      const env = { FORGE_LOOP_GIT_TOKEN: await token() };
      await git([...helperFor(url), ...asItIs(url), ...args], { env, online: true });
    } catch (problem) {
      if (!(problem instanceof GitFailed)) throw problem;
      const said = problem.stderr.trim().split('\n').slice(-3).join(' ');
      const what = `Git LFS could not upload the objects of ${shortSha(sha)}: ${said}`;
      if (REFUSALS.test(problem.stderr)) return what;
      throw new ForgeUnavailable(what, null, { cause: problem });
    }
  }
  return null;
}

/** git-lfs passes on what the server says, and no status: GitHub says this when nobody pays for more storage. */
const REFUSALS = /data quota|LFS budget/;

/** A line of arguments has an end. */
const AT_ONCE = 200;

/** What looks like a pointer and has no object here is somebody's text, or on the server already. */
async function newObjects(git: Git, sha: string, known: readonly string[]): Promise<string[]> {
  const range = `${[sha, ...known.map((one) => `^${one}`)].join('\n')}\n`;
  const listed = await git(['rev-list', '--objects', '--no-object-names', '--stdin'], { input: range });
  const pointers = await pointersIn(
    git,
    listed.stdout.split('\n').filter((line) => line !== ''),
  );
  const oids = [...pointers.values()].filter((oid) => oid !== null && oid !== '') as string[];
  return [...(await storedObjects(git, [...new Set(oids)]))];
}

function helperFor(url: string): string[] {
  if (!/^https?:/.test(url)) return [];
  const helper = `credential.${new URL(url).origin}.helper`;
  return ['-c', `${helper}=`, '-c', `${helper}=${TOKEN_HELPER}`];
}

/** Reads the token from the environment of that one git. */
export const TOKEN_HELPER =
  '!f() { test "$1" = get && printf "username=x-access-token\\npassword=%s\\n" "$FORGE_LOOP_GIT_TOKEN"; }; f';
