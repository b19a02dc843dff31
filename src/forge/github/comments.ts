/** What the loop says on issues and pull requests: one comment for each marker, brought up to date when its text changed. */
import { ForgeUnavailable } from '../../errors.ts';
import { Refused } from './client.ts';
import { hasMark, marked } from './marker.ts';
import { memo } from './memo.ts';
import type { Place } from './place.ts';
import { commentShape, nothing } from './shapes.ts';

export interface Comments {
  /** `isNew` where none can be there yet. */
  ensure(issue: number, marker: string, text: string, isNew?: boolean): Promise<void>;
  add(issue: number, text: string): Promise<void>;
  all(issue: number): Promise<{ by: string; at: string; text: string }[]>;
}

const REMEMBERED = 500;

/** By then every list shows what was written; one that is not in it later was deleted. */
const SHOWN_MS = 10_000;

export function openComments({ client, at, self, now }: Place): Comments {
  /** Of something that is there: only a list can be late with it. */
  const listed = async (issue: number) => {
    const route = '/repos/{owner}/{repo}/issues/{issue_number}/comments';
    try {
      return await client.list(route, { ...at, issue_number: issue }, commentShape);
    } catch (problem) {
      if (!(problem instanceof Refused) || problem.status !== 404) throw problem;
      const why = `GitHub does not show the comments on #${issue} yet.`;
      throw new ForgeUnavailable(why, null, { cause: problem });
    }
  };
  const add = async (issue: number, body: string): Promise<number> => {
    const route = 'POST /repos/{owner}/{repo}/issues/{issue_number}/comments';
    return (await client.write(route, { ...at, issue_number: issue, body }, commentShape)).id;
  };
  /** Those seen or written in this process: known to be ours, so that they need not be looked for again. */
  const known = memo<string, { id: number; body: string; seenAt: number }>(REMEMBERED);
  /** Those that were written, or may have been. */
  const tried = memo<string, true>(REMEMBERED);
  const rewrite = async (id: number, body: string): Promise<void> => {
    const route = 'PATCH /repos/{owner}/{repo}/issues/comments/{comment_id}';
    await client.write(route, { ...at, comment_id: id, body }, nothing);
  };
  /** False when it is not known, or somebody deleted it. */
  const isRewritten = async (key: string, body: string): Promise<boolean> => {
    const before = known.get(key);
    if (!before || before.body === body) return false;
    known.delete(key);
    try {
      await rewrite(before.id, body);
    } catch (problem) {
      if (problem instanceof Refused && problem.status === 404) return false;
      throw problem;
    }
    known.set(key, { id: before.id, body, seenAt: now() });
    return true;
  };
  return {
    add: async (issue, body) => void (await add(issue, body)),
    async ensure(issue, marker, text, isNew = false) {
      const key = `${issue} ${marker}`;
      const body = marked(marker, text);
      if (await isRewritten(key, body)) return;
      const isFirst = isNew && !tried.get(key);
      tried.set(key, true);
      const me = await self();
      const own = isFirst ? [] : (await listed(issue)).filter((comment) => comment.user?.login === me);
      const found = own.find((comment) => hasMark(comment.body, marker));
      const isSaid = found?.body.replaceAll('\r\n', '\n').trim() === body.trim();
      const last = known.get(key);
      if (last && !isSaid && now() - last.seenAt < SHOWN_MS) return;
      if (found && !isSaid) await rewrite(found.id, body);
      known.set(key, { id: found?.id ?? (await add(issue, body)), body, seenAt: now() });
    },
    all: async (issue) =>
      (await listed(issue)).map((comment) => ({
        by: comment.user?.login ?? 'ghost',
        at: comment.created_at,
        text: comment.body.replaceAll('\r\n', '\n').replace(/^<!-- forge-loop:\S+ -->\n/, ''),
      })),
  };
}
