/** Issues and pull requests as agents read them. Whoever can write these files can write to the repository: no association is told. */

import {
  type FoundRow,
  type Part,
  type PullReading,
  SHOWN,
  type Words,
} from '../../core/access/forge-reading.ts';
import { parsePatch } from '../../core/change/patch.ts';
import { diffs } from '../../git/diff.ts';
import type { Git } from '../../git/git.ts';
import { resolve } from '../../git/objects.ts';
import type { Forge } from '../forge.ts';
import { type Comment, SELF } from './comments.ts';
import type { Issues } from './issues.ts';
import type { PullFile } from './pull-file.ts';
import { headRef, type Pulls } from './pulls.ts';

export function openReadings(options: {
  git: Git;
  issues: Issues;
  pulls: Pulls;
  feedback: Forge['feedback'];
  trunkBranch: () => Promise<string>;
}): Pick<Forge, 'readIssue' | 'readPull' | 'search'> {
  const { git, issues, pulls } = options;

  const filesOf = async (pull: PullFile): Promise<PullReading['files']> => {
    const head =
      (await resolve(git, `refs/heads/${pull.branch}`)) ?? (await resolve(git, headRef(pull.number)));
    if (head === null) return { shown: [], total: 0 };
    const files = parsePatch((await diffs(git, pull.base, head)).patch).map(({ path, added, removed }) => ({
      path,
      added: added.length,
      deleted: removed.length,
    }));
    return { shown: files.slice(0, SHOWN.files), total: files.length };
  };

  return {
    async readIssue(number) {
      const issue = issues.find(number);
      if (!issue) return null;
      const { title, state, labels, body, createdAt } = issue;
      const opened = { author: null, association: null, at: createdAt, text: body };
      const comments = newest(issues.comments(number), SHOWN.comments, wordsOf);
      return { ...opened, number, title, state, labels, comments };
    },

    async readPull(number) {
      const file = pulls.find(number);
      const pull = await pulls.pull(number);
      if (!file || !pull) return null;
      const checks = ((await options.feedback(number))?.checks ?? []).map(({ name, state }) => ({
        name,
        state,
      }));
      const isOnLine = ({ about }: Comment): boolean => about?.file !== undefined;
      const isReview = (one: Comment): boolean => one.about?.verdict !== undefined && !isOnLine(one);
      const { comments } = file;
      return {
        author: SELF,
        association: null,
        at: null,
        text: file.body,
        number,
        title: file.title,
        state: pull.state,
        from: file.branch,
        into: await options.trunkBranch(),
        checks: { shown: checks.slice(0, SHOWN.checks), total: checks.length },
        files: await filesOf(file),
        comments: newest(
          comments.filter((one) => !isOnLine(one) && !isReview(one)),
          SHOWN.comments,
          wordsOf,
        ),
        reviews: newest(comments.filter(isReview), SHOWN.reviews, (one) => ({
          ...wordsOf(one),
          verdict: (one.about?.verdict ?? '').replaceAll('_', ' '),
        })),
        threads: newest(comments.filter(isOnLine), SHOWN.threads, (one) => ({
          file: one.about?.file ?? '',
          line: Number(one.about?.line) || null,
          isResolved: false,
          said: { shown: [wordsOf(one)], total: 1 },
        })),
      };
    },

    async search(text) {
      const words = text.split(' ');
      const has = (texts: readonly string[]): boolean => {
        const whole = texts.join('\n').toLowerCase();
        return words.every((word) => whole.includes(word));
      };
      const said = new Map(issues.conversations().map(({ number, comments }) => [number, comments]));
      const found: FoundRow[] = issues
        .all()
        .filter(({ number, title, body }) => has([title, body, ...textsOf(said.get(number) ?? [])]))
        .map(({ number, title, state }) => ({ kind: 'issue', number, title, state }));
      for (const { number, title, body, comments } of pulls.all()) {
        const pull = has([title, body, ...textsOf(comments)]) ? await pulls.pull(number) : null;
        if (pull) found.push({ kind: 'pull', number, title, state: pull.state });
      }
      found.sort((a, b) => b.number - a.number);
      return { shown: found.slice(0, SHOWN.found), total: found.length };
    },
  };
}

const newest = <T>(all: readonly Comment[], most: number, read: (one: Comment) => T): Part<T> => ({
  shown: all.slice(-most).map(read),
  total: all.length,
});

const wordsOf = ({ by, at, text }: Comment): Words => ({
  author: by,
  association: null,
  at: Date.parse(at) || null,
  text,
});

const textsOf = (comments: readonly Comment[]): string[] => comments.map(({ text }) => text);
