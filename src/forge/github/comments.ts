/** What the loop says on issues and pull requests: one comment for each marker, brought up to date when its text changed. */
import { hasMark, marked } from './marker.ts';
import type { Place } from './place.ts';
import { commentShape, nothing } from './shapes.ts';

export interface Comments {
  ensure(issue: number, marker: string, text: string): Promise<void>;
  add(issue: number, text: string): Promise<void>;
  all(issue: number): Promise<{ by: string; at: string; text: string }[]>;
}

export function openComments({ client, at, self }: Place): Comments {
  const listed = (issue: number) =>
    client.list(
      '/repos/{owner}/{repo}/issues/{issue_number}/comments',
      { ...at, issue_number: issue },
      commentShape,
    );
  const add = async (issue: number, body: string): Promise<void> => {
    const route = 'POST /repos/{owner}/{repo}/issues/{issue_number}/comments';
    await client.write(route, { ...at, issue_number: issue, body }, nothing);
  };
  return {
    add,
    async ensure(issue, marker, text) {
      const me = await self();
      const body = marked(marker, text);
      const own = (await listed(issue)).filter((comment) => comment.user?.login === me);
      const found = own.find((comment) => hasMark(comment.body, marker));
      if (!found) return add(issue, body);
      if (found.body.replaceAll('\r\n', '\n').trim() === body.trim()) return;
      const route = 'PATCH /repos/{owner}/{repo}/issues/comments/{comment_id}';
      await client.write(route, { ...at, comment_id: found.id, body }, nothing);
    },
    all: async (issue) =>
      (await listed(issue)).map((comment) => ({
        by: comment.user?.login ?? 'ghost',
        at: comment.created_at,
        text: comment.body.replaceAll('\r\n', '\n').replace(/^<!-- forge-loop:\S+ -->\n/, ''),
      })),
  };
}
