/** One issue as the loop sees it: its text in one form, its priority from what people wrote. */
import type { Related } from '../../core/event.ts';
import { textHash } from '../../core/issue/text-hash.ts';
import type { Issue } from '../forge.ts';
import type { Blocking } from './blockers.ts';
import type { Ready } from './readiness.ts';
import type { IssueRow } from './shapes.ts';

export function issueFrom(
  row: IssueRow,
  ready: Ready | null,
  blocking: Blocking,
  related: Related | null = null,
): Issue {
  const { title, body } = textOf(row);
  return {
    number: row.number,
    title,
    body,
    textHash: textHash({ title, body }),
    state: row.state,
    labels: row.labels,
    priority: priorityIn(row.labels) ?? priorityNamed(ready?.priority ?? null),
    blockedBy: blocking.here,
    readyHash: ready?.hash ?? null,
    readyAt: ready?.at ?? null,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    ...(row.html_url === undefined ? {} : { url: row.html_url }),
    ...(ready?.problem ? { readyProblem: ready.problem } : {}),
    ...(ready?.unproved ? { unproved: ready.unproved } : {}),
    ...(related ? { related } : {}),
    ...(blocking.elsewhere.length > 0 ? { blockedElsewhere: blocking.elsewhere } : {}),
  };
}

export const textOf = ({
  title,
  body,
}: Pick<IssueRow, 'title' | 'body'>): { title: string; body: string } => ({
  title,
  body: withPlainLines(body ?? ''),
});

/** The editor in the browser writes other line endings than the API. */
export const withPlainLines = (text: string): string => text.replaceAll('\r\n', '\n');

const WORDS: Record<string, number> = {
  critical: 1,
  urgent: 1,
  highest: 1,
  high: 2,
  medium: 3,
  normal: 3,
  low: 4,
  lowest: 4,
};

/** `P2`, `priority: 2`, `priority/high`: the first (most urgent) of several; null when none is given. */
function priorityIn(labels: readonly string[]): number | null {
  const found = labels.flatMap((label) => {
    const named = /^(?:p|prio(?:rity)?[\s:/-]*)(\d)$/i.exec(label.trim());
    if (named) return [Math.min(4, Math.max(1, Number(named[1])))];
    const word = /^prio(?:rity)?[\s:/-]+(\w+)$/i.exec(label.trim())?.[1]?.toLowerCase();
    return word !== undefined && word in WORDS ? [WORDS[word]!] : [];
  });
  return found.length > 0 ? Math.min(...found) : null;
}

/** As a field of a project names it: `P1`, `High`, `🔥 Urgent`. */
function priorityNamed(name: string | null): number | null {
  const plain = (name ?? '').replace(/[^\w ]/g, '').trim();
  return priorityIn([plain, `priority: ${plain}`]);
}
