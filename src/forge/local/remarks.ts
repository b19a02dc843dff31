/**
 * People's comments as remarks. Whoever can write these files can write to the repository, so everybody may.
 */

import type { Place, Remark } from '../../core/change/remark.ts';
import { digestOf } from '../../core/text/digest.ts';
import { type Comment, isOwn } from './comments.ts';

/** In the order they were written; the loop's own are left out. */
export function remarksOf(where: Place, comments: readonly Comment[]): Remark[] {
  const seen = new Map<string, number>();
  return comments.flatMap((comment) => {
    const { by, at, text, about = {} } = comment;
    const name = `${by} ${at}`;
    const nth = (seen.get(name) ?? 0) + 1;
    seen.set(name, nth);
    if (isOwn(comment)) return [];
    const line = Number(about.line);
    return [
      {
        // Of author, time and turn: a text that is corrected later is still the same remark.
        id: `${where.kind}-${where.number}-${digestOf(`${name} ${nth}`, 12)}`,
        where,
        author: by,
        mayWrite: true,
        verdict: verdictOf(about.verdict),
        body: text,
        file: about.file ?? null,
        line: Number.isInteger(line) && line > 0 ? line : null,
        headSha: about.head ?? null,
        at: Date.parse(at),
      },
    ];
  });
}

/** Worth looking at: some line begins with the word. */
export const hasCommand = (text: string): boolean => /^\/loop\b/m.test(text);

export const newest = (comments: readonly Comment[], floor: number): number =>
  comments.reduce((latest, { at }) => Math.max(latest, Date.parse(at) || 0), floor);

function verdictOf(said: string | undefined): Remark['verdict'] {
  return said === 'approve' || said === 'request_changes' ? said : 'comment';
}
