/**
 * The repository on GitHub, over git: heads are fetched into refs/forge-loop/heads/, pushes carry a lease.
 *
 * The token reaches git through a credential helper that reads it from the environment of that one git; it is in no
 * address, no file, no argument and no log.
 */

import { redact } from '../../core/access/redact.ts';
import type { Checkpoint } from '../../core/event.ts';
import { ForgeUnavailable, GitFailed } from '../../errors.ts';
import type { Git, GitResult } from '../../git/git.ts';
import { resolve, treeOf } from '../../git/objects.ts';
import type { PushResult } from '../forge.ts';
import { asItIs } from './address.ts';
import { TOKEN_HELPER, uploadObjects } from './large-files.ts';
import { memo } from './memo.ts';

export interface Remote {
  /** Where a branch is there, its commits fetched; null when it does not exist. */
  head(branch: string): Promise<Checkpoint | null>;
  /** As `head`, but asked now, however short ago it was asked last. */
  headNow(branch: string): Promise<Checkpoint | null>;
  push(branch: string, sha: string, expected: string | null): Promise<PushResult>;
  /** This process made the branch. */
  isMade(branch: string): boolean;
  /** This process brought the commit there. */
  isBrought(sha: string): boolean;
  /** What was fetched is out of date. */
  forget(): void;
  /** Only while it is at `sha`. */
  remove(branch: string, sha: string): Promise<void>;
}

/** Branches of ours; trunk is fetched beside them. */
const OURS = 'loop/*';
export const isOurs = (branch: string): boolean => branch.startsWith('loop/');

export function openRemote(options: {
  git: Git;
  url: string;
  token(): Promise<string>;
  trunk(): Promise<string>;
  now(): number;
  freshMs: number;
}): Remote {
  const { git, url, now } = options;
  let fetchedAt = Number.NEGATIVE_INFINITY;
  let timesForgotten = 0;
  let fetching: Promise<void> | null = null;
  const made = memo<string, true>(REMEMBERED);
  const brought = memo<string, true>(REMEMBERED);

  const authorized = async (args: readonly string[], allow: readonly number[] = []): Promise<GitResult> => {
    try {
      return await git([...HELPER, ...asItIs(url), ...args], {
        env: { FORGE_LOOP_GIT_TOKEN: await options.token() },
        allow,
      });
    } catch (problem) {
      if (!(problem instanceof GitFailed)) throw problem;
      throw unreachable(problem.stderr, problem);
    }
  };
  const unreachable = (stderr: string, cause?: unknown): ForgeUnavailable => {
    const said = stderr.trim().split('\n').slice(-3).join(' ');
    const isRefusal = REFUSED.test(stderr);
    return new ForgeUnavailable(`git could not reach ${url}: ${said}`, null, { cause, isRefusal });
  };

  const fetch = async (): Promise<void> => {
    const before = timesForgotten;
    const trunk = await options.trunk();
    const specs = [trunk, OURS].map((name) => `+refs/heads/${name}:${tracked(name)}`);
    const quiet = ['--quiet', '--no-tags', '--no-write-fetch-head', '--prune'];
    const fetched = await authorized(['fetch', ...quiet, url, ...specs], [128]);
    if (fetched.exitCode !== 0) {
      if (!fetched.stderr.includes("couldn't find remote ref")) throw unreachable(fetched.stderr);
      await git(['update-ref', '-d', tracked(trunk)]);
    }
    fetchedAt = before === timesForgotten ? now() : Number.NEGATIVE_INFINITY;
  };
  /** Whoever asks while a fetch is under way may have asked after it looked; the next one is theirs. */
  const refresh = async (): Promise<void> => {
    while (fetching) await fetching.catch(() => {});
    fetching = fetch().finally(() => {
      fetching = null;
    });
    return fetching;
  };
  const local = async (branch: string): Promise<Checkpoint | null> => {
    const sha = await resolve(git, tracked(branch));
    return sha === null ? null : { sha, tree: await treeOf(git, sha) };
  };
  const headNow = async (branch: string): Promise<Checkpoint | null> => {
    await refresh();
    return local(branch);
  };

  return {
    headNow,
    isMade: (branch) => made.get(branch) ?? false,
    isBrought: (sha) => brought.get(sha) ?? false,
    forget: () => {
      timesForgotten += 1;
      fetchedAt = Number.NEGATIVE_INFINITY;
    },
    async head(branch) {
      if (now() - fetchedAt >= options.freshMs) await refresh();
      return local(branch);
    },
    async push(branch, sha, expected) {
      const ref = `refs/heads/${branch}`;
      const lease = `--force-with-lease=${ref}:${expected ?? ''}`;
      const there = [tracked(await options.trunk()), tracked(branch)];
      const known = (await git.resolveAll(there)).filter((one) => one !== null);
      const unstored = await uploadObjects(options, sha, known);
      if (unstored !== null) return { refused: redact(unstored) };
      const pushed = await authorized(['push', '--porcelain', lease, url, `${sha}:${ref}`], [1, 128]);
      if (pushed.exitCode === 0) {
        await git(['update-ref', tracked(branch), sha]);
        const flag = flagIn(pushed);
        if (flag === '*') made.set(branch, true);
        if (flag !== '=') brought.set(sha, true);
        return 'pushed';
      }
      const refused = refusalIn(pushed);
      if (pushed.exitCode === 128 && refused === null) throw unreachable(pushed.stderr);
      const at = (await headNow(branch))?.sha ?? null;
      if (at === sha) return 'pushed';
      if (at !== expected) return 'moved';
      if (refused !== null) return { refused: redact(refused) };
      throw new ForgeUnavailable(
        `GitHub did not take the push to ${branch}: ${said(pushed, rejectionIn(pushed))}`,
      );
    },
    async remove(branch, sha) {
      const ref = `refs/heads/${branch}`;
      const removed = await authorized(
        ['push', '--porcelain', `--force-with-lease=${ref}:${sha}`, url, `:${ref}`],
        [1],
      );
      if (removed.exitCode !== 0) {
        await refresh();
        return;
      }
      await git(['update-ref', '-d', tracked(branch)]);
    },
  };
}

const REMEMBERED = 500;

const tracked = (branch: string): string => `refs/forge-loop/heads/${branch}`;

/** It answered: this token may not read there, or there is nothing that it can see. */
const REFUSED = /returned error: 40[134]|Authentication failed|[Rr]epository .*not found/;

/** The first empties the list of helpers the operator has, so that none of theirs learns or keeps the token. */
const HELPER = ['-c', 'credential.helper=', '-c', `credential.helper=${TOKEN_HELPER}`];

/**
 * What the remote said, where it answered with a no: it rejected the ref, or forbids this account to push. Null when it
 * could not answer: no connection, no ref rejected, or rejected by a fault of its own.
 */
function refusalIn(pushed: GitResult): string | null {
  const rejection = rejectionIn(pushed);
  if (rejection !== null) return FAULTS.test(rejection) ? null : said(pushed, rejection);
  const forbidden = /The requested URL returned error: 403/.exec(pushed.stderr);
  return forbidden && said(pushed, forbidden[0]);
}

/** As `--porcelain` has it: `*` for a new ref, `=` for one that was there already. */
const flagIn = ({ stdout }: GitResult): string | null => /^([ *=+!-])\t/m.exec(stdout)?.[1] ?? null;

/** As `--porcelain` has it: `!`, the ref, and what the remote gives as its reason. */
const rejectionIn = ({ stdout }: GitResult): string | null =>
  /^!\t[^\t]*\t\[remote rejected\] \((.*)\)$/m.exec(stdout)?.[1] ?? null;

/** Reasons of a server that failed, or that somebody else was quicker at. */
const FAULTS =
  /internal (server )?error|failed to update ref|cannot lock ref|unpacker error|incorrect old value|time(d )?out|try again/i;

/** The reason first, then what the remote printed, without rulers and progress. */
function said({ stderr }: GitResult, reason: string | null): string {
  const printed = stderr
    .split('\n')
    .filter((line) => line.startsWith('remote:'))
    .map((line) => line.slice('remote:'.length).replace(/—+/g, '').trim())
    .filter((line) => /\p{L}/u.test(line) && !/^(Resolving|Compressing|Counting|Enumerating) /.test(line));
  return [reason, ...printed].filter(Boolean).join(' ').slice(0, MAX_SAID);
}

const MAX_SAID = 2000;
