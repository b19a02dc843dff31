/**
 * Pull requests: a file for what people and the loop said, git for everything else.
 *
 * The last head we published is kept in refs/forge/pulls/<number>, so that a person who merges a branch and deletes it
 * is understood, and no reviewed commit is ever lost.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Document } from 'yaml';
import type { Candidate } from '../../core/event.ts';
import { reviewText } from '../../core/words/review-text.ts';
import { ForgeUnavailable } from '../../errors.ts';
import type { Git } from '../../git/git.ts';
import { landedAs } from '../../git/landed.ts';
import { firstParents, isAncestor, mergeBase, readRefs, resolve } from '../../git/objects.ts';
import type { Forge, ForgeProblem, Pull } from '../forge.ts';
import { appendComment, asText, isMarked, SELF, withOpening } from './comments.ts';
import { createFile, readIfThere, replaceFile } from './file.ts';
import { openFolder } from './folder.ts';
import type { Exclusively } from './lock.ts';
import { editMarkdown, withBody, writeMarkdown } from './markdown.ts';
import { type PullFile, parsePull, pullFileName } from './pull-file.ts';

export interface Pulls
  extends Pick<Forge, 'ensurePull' | 'pull' | 'updatePull' | 'postReview' | 'closePull'> {
  problems(): ForgeProblem[];
  all(): PullFile[];
  /** Null when there is none; throws when its file can't be understood, for that is not the same. */
  find(number: number): PullFile | null;
  /** Changes one file, only as it was read; false when there is no such pull request. */
  rewrite(number: number, change: (text: string, pull: PullFile) => string): Promise<boolean>;
  /** Written before trunk moves, so that what lands is known to be ours whatever happens next. */
  recordCandidate(number: number, candidate: Candidate): Promise<void>;
  recordMerge(number: number, sha: string): Promise<void>;
  /** Whether a pull request of this branch keeps this head, also when the branch is gone. */
  keepsHead(branch: string, sha: string): Promise<boolean>;
  /** Remembers a head that was published for an open pull request of this branch. */
  recordHead(branch: string, sha: string): Promise<void>;
}

export function openPulls(options: {
  git: Git;
  forgeDir: string;
  now: () => number;
  exclusively: Exclusively;
  trunkBranch: () => Promise<string>;
}): Pulls {
  const { git, forgeDir, now, trunkBranch } = options;
  const path = join(forgeDir, 'pulls');
  const folder = openFolder(path, (name) => /^\d+\.md$/.test(name), parsePull);
  const exclusively = <T>(section: () => T | Promise<T>) => options.exclusively('pulls', section);
  const iso = () => new Date(now()).toISOString();
  const all = (): PullFile[] => [...folder.look().files.values()];

  const find = (number: number): PullFile | null => {
    const known = folder.unchanged(pullFileName(number));
    if (known) return known;
    const { files, bad } = folder.look();
    const broken = bad.find((file) => file.name === pullFileName(number));
    if (broken) {
      throw new ForgeUnavailable(
        `Pull request #${number} can't be read: ${join(path, broken.name)}:${broken.line}: ${broken.problem}`,
      );
    }
    return files.get(pullFileName(number)) ?? null;
  };

  const rewrite: Pulls['rewrite'] = (number, change) =>
    exclusively(() => {
      for (;;) {
        if (!find(number)) return false;
        const file = join(path, pullFileName(number));
        const before = readIfThere(file) ?? '';
        const after = change(before, parsePull(pullFileName(number), before));
        if (after === before || replaceFile(file, after, before)) return true;
      }
    });

  const edit = (number: number, change: (front: Document) => void) =>
    rewrite(number, (text) => editMarkdown(text, change));

  /** The answer for one head on one trunk does not change. */
  const judged = new Map<number, { key: string; merged: string | null }>();
  const landedOnTrunk = async (pull: PullFile, seen: Seen): Promise<string | null> => {
    const key = [seen.head, seen.published, seen.tip, pull.base, pull.candidate].join(' ');
    const known = judged.get(pull.number);
    if (known?.key === key) return known.merged;
    const others = candidatesUpTo(seen.tip).filter(({ number }) => number !== pull.number);
    const merged = await howItLanded(git, pull, seen, others);
    judged.set(pull.number, { key, merged });
    return merged;
  };

  /** A candidate is written down before it lands: what was read with trunk at `tip` knows all that landed up to there. */
  let withCandidates: { tip: string; pulls: readonly PullFile[] } | null = null;
  const candidatesUpTo = (tip: string): readonly PullFile[] => {
    if (withCandidates?.tip !== tip)
      withCandidates = { tip, pulls: all().filter(({ candidate }) => candidate !== null) };
    return withCandidates.pulls;
  };

  const look = async (pull: PullFile): Promise<Seen> => {
    const [branch, published, trunk] = [
      `refs/heads/${pull.branch}`,
      headRef(pull.number),
      `refs/heads/${await trunkBranch()}`,
    ];
    const refs = await readRefs(git, [branch, published, trunk]);
    const tip = refs.get(trunk);
    if (tip === undefined) throw new ForgeUnavailable(`${trunk} is gone.`);
    return { head: refs.get(branch) ?? null, published: refs.get(published) ?? null, tip };
  };

  const describe = async (pull: PullFile): Promise<Pull> => {
    const { number, issue, branch, approvals } = pull;
    const seen = await look(pull);
    const mergedSha = pull.merged ?? (await landedOnTrunk(pull, seen));
    const state = mergedSha === null ? pull.state : 'merged';
    return { number, issue, branch, approvals, headSha: seen.head, mergedSha, state };
  };

  return {
    problems: () =>
      folder.look().bad.map((file) => ({
        what: `${join(path, file.name)}:${file.line}: ${file.problem}`,
        fix: 'Correct the file; until then this pull request is left alone.',
      })),
    all,
    find,
    rewrite,

    ensurePull: ({ issue, branch, title, body, marker }) =>
      exclusively(async () => {
        const found =
          all().find((pull) => pull.branch === branch && pull.marker === marker) ??
          all().find((pull) => pull.branch === branch && pull.state === 'open');
        if (found) return describe(found);
        const [source, target] = [`refs/heads/${branch}`, `refs/heads/${await trunkBranch()}`];
        const refs = await readRefs(git, [source, target]);
        const [head, tip] = [refs.get(source), refs.get(target)];
        if (head === undefined || tip === undefined) {
          throw new ForgeUnavailable(`There is no branch ${branch} to open a pull request for.`);
        }
        const base = (await mergeBase(git, tip, head)) ?? tip;

        mkdirSync(path, { recursive: true });
        const known = [...folder.look().files.keys(), ...folder.look().bad.map((file) => file.name)];
        const number = Math.max(0, ...known.map((name) => Number.parseInt(name, 10))) + 1;
        const front = {
          number,
          issue,
          branch,
          marker,
          state: 'open',
          opened: iso(),
          base,
          merged: null,
          approvals: [],
        };
        await git.moveRefs([{ ref: headRef(number), to: head }]);
        if (
          !createFile(join(path, pullFileName(number)), writeMarkdown(front, asText(opening(title, body))))
        ) {
          throw new ForgeUnavailable(
            `${join(path, pullFileName(number))} was made by somebody else just now.`,
          );
        }
        return { number, issue, branch, state: 'open', headSha: head, mergedSha: null, approvals: [] };
      }),

    pull: async (number) => {
      const found = find(number);
      return found && describe(found);
    },

    updatePull: async (number, { title, body }) => {
      await rewrite(number, (text) => withBody(text, (said) => withOpening(said, opening(title, body))));
    },

    postReview: async (number, review) => {
      await rewrite(number, (text) => {
        if (isMarked(text, review.marker)) return text;
        const body = reviewText(review, review.comments);
        return appendComment(text, { by: SELF, at: iso(), marker: review.marker, text: body });
      });
    },

    closePull: async (number, comment) => {
      await rewrite(number, (text, pull) => {
        if (pull.state !== 'open') return text;
        const closed = editMarkdown(text, (front) => front.set('state', 'closed'));
        return comment === ''
          ? closed
          : appendComment(closed, { by: SELF, at: iso(), marker: `closed:${number}`, text: comment });
      });
    },

    recordCandidate: async (number, { sha, trunk: onto }) => {
      await edit(number, (front) => {
        front.set('candidate', sha);
        front.set('onto', onto);
      });
    },

    recordMerge: async (number, sha) => {
      await edit(number, (front) => {
        if (front.get('merged') === sha) return;
        front.set('state', 'merged');
        front.set('merged', sha);
        front.set('merged_at', iso());
      });
    },

    keepsHead: async (branch, sha) => {
      const refs = all().flatMap((pull) => (pull.branch === branch ? [headRef(pull.number)] : []));
      return [...(await readRefs(git, refs)).values()].includes(sha);
    },

    recordHead: async (branch, sha) => {
      const open = all().filter((pull) => pull.branch === branch && pull.state === 'open');
      await git.moveRefs(open.map((pull) => ({ ref: headRef(pull.number), to: sha })));
    },
  };
}

const opening = (title: string, body: string): string => `# ${title}\n\n${body}`;

/** The last head we published for it. */
export const headRef = (number: number): string => `refs/forge/pulls/${number}`;

interface Seen {
  head: string | null;
  /** The last head we published, whether or not the branch is still there. */
  published: string | null;
  tip: string;
}

async function howItLanded(
  git: Git,
  pull: PullFile,
  { head, published, tip }: Seen,
  pulls: readonly PullFile[],
): Promise<string | null> {
  const { base, candidate } = pull;
  if (
    candidate !== null &&
    (await resolve(git, candidate)) !== null &&
    (await isAncestor(git, candidate, tip))
  ) {
    return candidate;
  }
  const subject = head ?? published;
  if (subject === null || tip === base) return null;
  const others = await commitsLanded(git, pulls, base, tip);
  const landed = async (sha: string): Promise<string | null> =>
    (await isAncestor(git, sha, base)) ? null : landedAs(git, sha, tip, others);
  const merged = await landed(subject);
  if (merged === null || published === null || published === subject) return merged;
  // A branch that was merely reset to trunk is on trunk as well; the work we published is not.
  return (await landed(published)) === null ? null : merged;
}

/** The commits by which other pull requests landed since `base`. */
async function commitsLanded(
  git: Git,
  pulls: readonly PullFile[],
  base: string,
  tip: string,
): Promise<Set<string>> {
  const since = await firstParents(git, base, tip);
  return new Set(
    pulls.flatMap(({ candidate, onto }) => {
      if (candidate === null || onto === null || !since.includes(candidate)) return [];
      const end = since.indexOf(onto);
      return since.slice(since.indexOf(candidate), end < 0 ? undefined : end);
    }),
  );
}
