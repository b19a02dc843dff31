/** One pull request as a Markdown file: a few facts in front, then title, text, reviews and comments for people. */
import { z } from 'zod';
import { headingOf, markdownLines } from '../../core/issue/markdown.ts';
import { BadMarkdown } from '../../front-matter.ts';
import { type Comment, openingOf, readComments } from './comments.ts';
import { readFront } from './markdown.ts';

export interface PullFile {
  number: number;
  issue: number | null;
  branch: string;
  marker: string;
  state: 'open' | 'closed' | 'merged';
  /** Where the branch left trunk when the pull request was opened: a head that is no further has nothing to merge. */
  base: string;
  /** The last commit we tried to land for it, and the trunk it was built on; written before trunk moves. */
  candidate: string | null;
  onto: string | null;
  merged: string | null;
  approvals: { headSha: string; by: string }[];
  title: string;
  /** What stands below the title. */
  body: string;
  comments: Comment[];
}

export function parsePull(name: string, text: string): PullFile {
  const {
    front: { number, approvals, ...front },
    body,
    lineOf,
  } = readFront(frontMatter, text);
  if (pullFileName(number) !== name) {
    throw new BadMarkdown(lineOf('number'), `number: the name of the file says otherwise`);
  }
  if (front.state === 'merged' && front.merged === null) {
    throw new BadMarkdown(lineOf('state'), 'state: a merge is seen in git; merge the branch instead');
  }
  return {
    ...front,
    number,
    approvals: approvals.map(({ head, by }) => ({ headSha: head, by })),
    title: headingOf(markdownLines(openingOf(body)), 1) ?? front.branch,
    body: openingOf(body).replace(/^# .+\n*/, ''),
    comments: readComments(body),
  };
}

export const pullFileName = (number: number): string => `${String(number).padStart(4, '0')}.md`;

const sha = z.string().regex(/^[0-9a-f]{40,64}$/, 'not a full commit id');
const optional = <T extends z.ZodType>(type: T) => type.nullish().transform((value) => value ?? null);

const frontMatter = z.object({
  number: z.int().positive(),
  issue: optional(z.int().positive()),
  branch: z.string().min(1),
  marker: z.string().default(''),
  state: z.enum(['open', 'closed', 'merged'], 'must be open, closed or merged'),
  base: sha,
  candidate: optional(sha),
  onto: optional(sha),
  merged: optional(sha),
  approvals: z
    .array(z.object({ head: sha, by: z.string() }))
    .nullish()
    .transform((value) => value ?? []),
});
