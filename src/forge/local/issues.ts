/**
 * The issues of a folder: found by number, changed by one writer at a time.
 *
 * Comments are kept beside an issue, in NNNN.comments.md: they can't change the body that was agreed on, and an editor
 * that has the issue open does not overwrite them.
 */
import { mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Document } from 'yaml';
import { hasLabel } from '../../core/line/schedule.ts';
import { ForgeUnavailable, UserError } from '../../errors.ts';
import type { NewIssue } from '../desk.ts';
import type { ForgeProblem, Issue } from '../forge.ts';
import { appendComment, type Comment, isMarked, readComments, SELF, withText } from './comments.ts';
import { createFile, readIfThere, replaceFile } from './file.ts';
import { type Look, openFolder } from './folder.ts';
import { fileName, numberInName, parseIssue } from './issue-file.ts';
import type { Exclusively } from './lock.ts';
import { editMarkdown, mapAt, setList, writeMarkdown } from './markdown.ts';

export interface Issues {
  open(): Issue[];
  all(): Issue[];
  /** Null when there is none; throws when its file can't be understood, for that is not the same. */
  find(number: number): Issue | null;
  problems(): ForgeProblem[];
  create(issue: NewIssue): Promise<Issue>;
  /** Changes one issue's front matter; false when there is no such issue. */
  edit(number: number, change: (front: Document, issue: Issue) => void): Promise<boolean>;
  relabel(number: number, change: { add: readonly string[]; remove: readonly string[] }): Promise<boolean>;
  comment(number: number, by: string, text: string): Promise<void>;
  ensureComment(number: number, marker: string, text: string): Promise<void>;
  comments(number: number): Comment[];
  /** The comments of every issue that has some. */
  conversations(): { number: number; comments: Comment[] }[];
}

export function openIssues(options: {
  forgeDir: string;
  readyLabel: string;
  now: () => number;
  exclusively: Exclusively;
}): Issues {
  const { forgeDir, readyLabel, now } = options;
  const path = join(forgeDir, 'issues');
  const folder = openFolder(path, isIssueFile, (name, text, stat) =>
    parseIssue(name, text, stat, readyLabel),
  );
  const commented = openFolder(
    path,
    (name) => COMMENTS_FILE.test(name),
    (_name, text) => readComments(text),
  );
  const exclusively = <T>(section: () => T) => options.exclusively('issues', section);
  const iso = () => new Date(now()).toISOString();

  let indexed: { look: Look<Issue>; index: Index } | null = null;
  const index = (): Index => {
    const look = folder.look();
    if (indexed?.look !== look) indexed = { look, index: byNumber(path, look) };
    return indexed.index;
  };

  const located = (number: number): { name: string; issue: Issue } | null => {
    const known = indexed?.index.files.get(number);
    if (known && folder.unchanged(known.name) === known.issue) return known;
    const { files, unreadable } = index();
    const found = files.get(number);
    const problem = unreadable.get(number);
    if (!found && problem !== undefined)
      throw new ForgeUnavailable(`Issue #${number} can't be read: ${problem}`);
    return found ?? null;
  };

  const commentsPath = (number: number) => join(path, `${String(number).padStart(4, '0')}.comments.md`);
  const addComment = (number: number, comment: Omit<Comment, 'at'>) => {
    const before = readIfThere(commentsPath(number)) ?? '';
    const known = comment.marker !== null && isMarked(before, comment.marker);
    const after = known
      ? withText(before, comment.marker!, comment.text)
      : appendComment(before, { ...comment, at: iso() });
    if (after !== before) replaceFile(commentsPath(number), after);
  };

  const edit: Issues['edit'] = (number, change) =>
    exclusively(() => {
      for (;;) {
        const found = located(number);
        if (!found) return false;
        const file = join(path, found.name);
        const before = readIfThere(file) ?? '';
        const issue = parseIssue(found.name, before, statSync(file), readyLabel);
        const after = editMarkdown(before, (front) => change(front, issue));
        if (after === before || replaceFile(file, after, before)) return true;
      }
    });

  return {
    open: () => index().open,
    all: () => index().all,
    find: (number) => located(number)?.issue ?? null,
    problems: () => index().problems,

    create: (issue) =>
      exclusively(() => {
        const title = issue.title.replace(/\s+/g, ' ').trim();
        if (title === '') throw new UserError('An issue needs a title.', 'Give one with --title.');
        mkdirSync(path, { recursive: true });
        const number = nextNumber(path, index());
        const content = {
          number,
          title,
          state: 'open',
          labels: [...(issue.labels ?? [])],
          priority: issue.priority ?? null,
          blocked_by: [...(issue.blockedBy ?? [])],
          created: iso(),
        };
        const name = fileName(number, title);
        if (!createFile(join(path, name), writeMarkdown(content, issue.body))) {
          throw new ForgeUnavailable(`${join(path, name)} was made by somebody else just now.`);
        }
        return located(number)!.issue;
      }),

    edit,

    relabel: (number, { add, remove }) =>
      edit(number, (front, issue) => {
        const kept = issue.labels.filter((label) => !hasLabel(remove, label));
        const added = add.filter((label) => !hasLabel(kept, label));
        if (added.length === 0 && kept.length === issue.labels.length) return;
        setList(front, 'labels', [...kept, ...added]);
        // From now on the label stands for a new request; who adds it by hand leaves no other trace.
        const wasReady = hasLabel(issue.labels, readyLabel);
        if (wasReady && hasLabel(remove, readyLabel)) mapAt(front, 'ready').set('taken', iso());
        else if (hasLabel(added, readyLabel)) mapAt(front, 'ready').delete('taken');
      }),

    comment: (number, by, text) =>
      exclusively(() => {
        if (!located(number)) throw noSuchIssue(number);
        addComment(number, { by, marker: null, text });
      }),

    ensureComment: (number, marker, text) =>
      exclusively(() => {
        if (located(number)) addComment(number, { by: SELF, marker, text });
      }),

    comments: (number) => readComments(readIfThere(commentsPath(number)) ?? ''),
    conversations: () =>
      [...commented.look().files].map(([name, comments]) => ({
        number: Number.parseInt(name, 10),
        comments,
      })),
  };
}

export function noSuchIssue(number: number): UserError {
  return new UserError(`There is no issue #${number}.`, '`forge-loop issue list` shows the open ones.');
}

interface Index {
  files: ReadonlyMap<number, { name: string; issue: Issue }>;
  open: Issue[];
  all: Issue[];
  /** Numbers that a broken file seems to have. */
  unreadable: ReadonlyMap<number, string>;
  problems: ForgeProblem[];
}

function byNumber(path: string, look: Look<Issue>): Index {
  const files = new Map<number, { name: string; issue: Issue }>();
  const problems: ForgeProblem[] = [];
  for (const [name, issue] of look.files) {
    const other = files.get(issue.number);
    if (!other) {
      files.set(issue.number, { name, issue });
      continue;
    }
    // Of a file and its copy, the one whose name says the number is the issue.
    const winner = numberInName(other.name) === issue.number ? other : { name, issue };
    files.set(issue.number, winner);
    const loser = winner === other ? name : other.name;
    problems.push({
      what: `${join(path, loser)}: number ${issue.number} is taken by ${winner.name}`,
      fix: 'Give it a number of its own, in its front matter or in its name; until then it is skipped.',
    });
  }
  const unreadable = new Map<number, string>();
  for (const { name, line, problem } of look.bad) {
    const what = `${join(path, name)}:${line}: ${problem}`;
    const number = numberInName(name);
    if (number !== null) unreadable.set(number, what);
    problems.push({ what, fix: 'Fix the file; until then the issue is skipped.' });
  }
  const all = [...files.values()].map((file) => file.issue).sort((a, b) => a.number - b.number);
  return { files, all, open: all.filter((issue) => issue.state === 'open'), unreadable, problems };
}

/** Never a number that was given before: what is remembered about a deleted issue must not pass to a new one. */
function nextNumber(path: string, index: Index): number {
  const remembered = join(path, '.last-number');
  const last = Number(readIfThere(remembered)) || 0;
  const number = Math.max(last, index.all.at(-1)?.number ?? 0, ...index.unreadable.keys()) + 1;
  replaceFile(remembered, `${number}\n`);
  return number;
}

const COMMENTS_FILE = /^\d+\.comments\.md$/;

function isIssueFile(name: string): boolean {
  return (
    name.endsWith('.md') &&
    !name.startsWith('.') &&
    !name.endsWith('.comments.md') &&
    !/^readme\.md$/i.test(name)
  );
}
