/** One issue as a Markdown file: what its front matter may say, and what we make of it. */
import type { Stats } from 'node:fs';
import { z } from 'zod';
import { headingOf, markdownLines } from '../../core/issue/markdown.ts';
import { bodyOnlyHash, textHash } from '../../core/issue/text-hash.ts';
import { hasLabel } from '../../core/line/schedule.ts';
import { BadMarkdown } from '../../front-matter.ts';
import type { Issue } from '../forge.ts';
import { readFront } from './markdown.ts';

/** `readyLabel` is needed because a label added by hand after the last request was taken is a new, unrecorded request. */
export function parseIssue(name: string, text: string, stat: Stats, readyLabel: string): Issue {
  if (text.trim() === '') throw new BadMarkdown(1, 'the file is empty');
  const { front, body } = readFront(frontMatter, text);
  const number = front.number ?? numberInName(name);
  if (number === null) {
    throw new BadMarkdown(
      1,
      'it has no number: add "number:" to its front matter, or name it like 0012-short-title.md',
    );
  }
  const byHand = front.ready?.taken !== undefined && hasLabel(front.labels, readyLabel);
  const title = front.title ?? titleIn(body) ?? name.replace(/^\d+-?|\.md$/g, '').replaceAll('-', ' ');
  const now = textHash({ title, body });
  return {
    number,
    title,
    body,
    textHash: now,
    state: front.state,
    labels: front.labels,
    priority: front.priority,
    blockedBy: front.blocked_by,
    readyHash: byHand ? null : pinOf(front.ready ?? {}, body, now),
    readyAt: byHand ? stat.mtimeMs : (front.ready?.at ?? null),
    createdAt: front.created ?? (stat.birthtimeMs || stat.mtimeMs),
    updatedAt: stat.mtimeMs,
  };
}

/** Files that were made ready before titles were pinned have the hash of the body alone: their title is taken as it is. */
function pinOf(
  ready: { text_hash?: string | undefined; body_hash?: string | undefined },
  body: string,
  now: string,
) {
  if (ready.text_hash !== undefined) return ready.text_hash;
  return ready.body_hash === bodyOnlyHash(body) ? now : (ready.body_hash ?? null);
}

export function numberInName(name: string): number | null {
  const digits = /^(\d{1,9})(?=[-.])/.exec(name)?.[1];
  return digits === undefined || Number(digits) === 0 ? null : Number(digits);
}

/** Letters of every script stay readable in a file name; anything else becomes a dash. */
export function fileName(number: number, title: string): string {
  const words =
    title
      .normalize('NFC')
      .toLowerCase()
      .match(/[\p{L}\p{M}\p{N}]+/gu) ?? [];
  const slug = [...words.join('-')].slice(0, 40).join('').replace(/-+$/, '');
  const digits = String(number).padStart(4, '0');
  return slug === '' ? `${digits}.md` : `${digits}-${slug}.md`;
}

/** The marks that close a heading are no part of it. */
function titleIn(body: string): string | undefined {
  const title = headingOf(markdownLines(body), 1);
  const last = title?.lastIndexOf(' ') ?? -1;
  return title !== undefined && last > 0 && /^#+$/.test(title.slice(last + 1))
    ? title.slice(0, last).trimEnd()
    : title;
}

const time = z
  .union([z.string(), z.number()])
  .transform((value) => (typeof value === 'number' ? value : Date.parse(value)))
  .refine((value) => !Number.isNaN(value), 'not a date; write it like 2030-12-31T09:30:00Z');

const text = z.union([z.string(), z.number(), z.boolean()]).transform((value) => String(value).trim());

const issueNumber = z
  .union([z.number(), z.string().regex(/^#?\d+$/)], 'not an issue number')
  .transform((value) => Number(String(value).replace('#', '')))
  .refine((value) => Number.isSafeInteger(value) && value > 0, 'not an issue number');

const list = <T extends z.ZodType>(item: T) =>
  z.preprocess((value) => {
    if (value === null || value === undefined) return [];
    return typeof value === 'string' ? value.split(',').filter((part) => part.trim() !== '') : [value].flat();
  }, z.array(item));

const frontMatter = z.object({
  number: issueNumber.nullish().transform((value) => value ?? null),
  title: text.nullish().transform((value) => value || null),
  state: z.preprocess(
    (value) => (typeof value === 'string' ? value.trim().toLowerCase() : (value ?? 'open')),
    z.enum(['open', 'closed'], 'must be open or closed'),
  ),
  labels: list(text),
  priority: z
    .number('must be a number from 1 (first) to 4')
    .nullish()
    .transform((value) => (value != null && [1, 2, 3, 4].includes(value) ? value : null)),
  blocked_by: list(issueNumber),
  created: time.optional(),
  ready: z
    .object(
      {
        at: time.optional(),
        by: text.optional(),
        text_hash: text.optional(),
        body_hash: text.optional(),
        taken: time.optional(),
      },
      'is recorded by `forge-loop issue ready`; leave it out and use the label instead',
    )
    .nullish(),
});
