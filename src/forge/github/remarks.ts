/**
 * What people say on issues and pull requests, and answers to it. Our own words are those of our account that carry a
 * mark, and the remarks of a review that does: the operator may write under the same account without one.
 */
import type { Remark } from '../../core/change/remark.ts';
import type { Forge } from '../forge.ts';
import { openChecks } from './checks.ts';
import type { Comments } from './comments.ts';
import { withPlainLines } from './issue.ts';
import type { Issues, Talk } from './issues.ts';
import { hasMark, isMarked, marked } from './marker.ts';
import { memo } from './memo.ts';
import type { Place } from './place.ts';
import { NotRead } from './pull-facts.ts';
import type { Pulls } from './pulls.ts';
import { isOurs } from './remote.ts';
import type { Roles } from './roles.ts';
import { type MergeMethod, type Rules, wantedOf } from './rules.ts';
import { nothing, type PlacedComment, type PullFacts, placedCommentShape } from './shapes.ts';

type Remarks = Pick<Forge, 'feedback' | 'commands' | 'reply'> & Required<Pick<Forge, 'unreadable'>>;

export function openRemarks(parts: {
  place: Place;
  pulls: Pulls;
  issues: Issues;
  comments: Comments;
  roles: Roles;
  rules: Rules;
  method(): MergeMethod;
}): Remarks {
  const { place, pulls, issues, comments, roles, rules } = parts;
  const { client, at, now, self } = place;
  const checks = openChecks(place, rules);
  let last: { since: number; talk: Talk } | null = null;
  /** When each list is to be asked for: what was said may show a moment later than its count. */
  const due: Record<'comments' | 'reviews', number[]> = { comments: [], reviews: [] };
  /** Pull requests whose reviews could not be read, and why. */
  const missed = new Map<number, string>();
  /** Pull requests of our account that are not the loop's: no task heeds what is said there. */
  const strange = memo<number, true>(REMEMBERED);

  const remarksOn = async (facts: PullFacts): Promise<Remark[]> => {
    const me = await self();
    const where = { kind: 'pull' as const, number: facts.number };
    const isOwn = (author: { login: string } | null, body: string) => author?.login === me && isMarked(body);
    const ownReviews = new Set(
      facts.reviews.nodes.filter((one) => isOwn(one.author, one.body)).map((one) => one.fullDatabaseId),
    );
    const found: Remark[] = [];
    for (const one of facts.comments.nodes) {
      if (isOwn(one.author, one.body)) continue;
      found.push({ ...(await said(one)), id: `c${one.fullDatabaseId}`, where });
    }
    /** A review without words of its own speaks through its first remark on a line. */
    const silent = new Map<string, Remark['verdict']>();
    for (const one of facts.reviews.nodes) {
      if (one.state === 'PENDING' || ownReviews.has(one.fullDatabaseId)) continue;
      const verdict = VERDICTS[one.state] ?? 'comment';
      const hasRemarks = facts.reviewThreads.nodes.some(
        (thread) => thread.comments.nodes[0]?.pullRequestReview?.fullDatabaseId === one.fullDatabaseId,
      );
      if (one.body.trim() === '' && hasRemarks) silent.set(one.fullDatabaseId, verdict);
      else if (one.body.trim() !== '' || verdict !== 'comment') {
        found.push({
          id: `r${one.fullDatabaseId}`,
          where,
          author: one.author?.login ?? 'ghost',
          mayWrite: one.authorCanPushToRepository,
          verdict,
          body: withPlainLines(one.body),
          file: null,
          line: null,
          headSha: one.commit?.oid ?? null,
          at: one.submittedAt ?? 0,
        });
      }
    }
    for (const thread of facts.reviewThreads.nodes) {
      for (const one of thread.comments.nodes) {
        const review = one.pullRequestReview?.fullDatabaseId ?? null;
        if (isOwn(one.author, one.body) || (review !== null && ownReviews.has(review))) continue;
        const verdict = review === null ? undefined : silent.get(review);
        if (review !== null) silent.delete(review);
        found.push({
          ...(await said(one)),
          id: `t${one.fullDatabaseId}`,
          where,
          verdict: verdict ?? 'comment',
          file: thread.path,
          line: thread.line,
          headSha: one.originalCommit?.oid ?? null,
        });
      }
    }
    return found.sort((a, b) => a.at - b.at);
  };

  /** What is said in reviews and on lines: only the loop's own open pull requests have a task that heeds it. */
  const reviewsSince = async (
    since: number,
    numbers: readonly number[],
    asOf: 'listed' | 'settled',
  ): Promise<Remark[]> => {
    const found: Remark[] = [];
    for (const number of missed.keys()) if (!numbers.includes(number)) missed.delete(number);
    for (const number of numbers) {
      if (strange.get(number)) continue;
      const facts = await pulls.facts(number, asOf).catch(ifNotRead);
      if (facts instanceof NotRead) {
        missed.set(number, facts.message);
        continue;
      }
      missed.delete(number);
      if (facts && !isOurs(facts.headRefName)) strange.set(number, true);
      else if (facts)
        found.push(...(await remarksOn(facts)).filter(({ id, at }) => id[0] !== 'c' && at >= since));
    }
    return found;
  };

  const said = async (one: { author: { login: string } | null; body: string; createdAt: number }) => ({
    author: one.author?.login ?? 'ghost',
    mayWrite: one.author !== null && (await roles.mayWrite(one.author.login)),
    verdict: 'comment' as const,
    body: withPlainLines(one.body),
    file: null,
    line: null,
    headSha: null,
    // By our clock: it is held against the time at which we pushed.
    at: one.createdAt - client.ahead(),
  });

  const placed = async (comment: PlacedComment): Promise<Remark> => {
    const isPull = (comment.html_url ?? '').includes('/pull/');
    const number = Number(/\/(\d+)$/.exec(comment.issue_url ?? '')?.[1] ?? 0);
    const words = { author: comment.user, body: comment.body, createdAt: Date.parse(comment.created_at) };
    return {
      ...(await said(words)),
      id: `c${comment.id}`,
      where: { kind: isPull ? 'pull' : 'issue', number },
    };
  };

  return {
    async feedback(number) {
      const facts = await pulls.facts(number, 'waiting');
      if (!facts) return null;
      const { checks: found, unread } = await checks.of(facts);
      return {
        checks: found,
        ...(unread === null ? {} : { unread }),
        remarks: await remarksOn(facts),
        wants: wantedOf(await rules.read(), facts, await self(), parts.method()),
      };
    },

    async commands(since) {
      const talk = await issues.talk();
      const asOf = now();
      for (const kind of KINDS)
        if (!last || since < last.since || talk[kind] !== last.talk[kind])
          due[kind] = [asOf, talk.at - client.ahead() + LATE_MS];
      // Hardly anybody says something with the last change of all: asked once, when it shows.
      if (last && talk.unseen !== last.talk.unseen) due.comments.push(asOf + LATE_MS);
      last = { since, talk };
      const isDue = (kind: (typeof KINDS)[number]): boolean => due[kind].some((time) => time <= asOf);
      const query = { ...at, sort: 'updated', direction: 'asc', since: new Date(since).toISOString() };
      const asked = isDue('comments')
        ? await client.list('/repos/{owner}/{repo}/issues/comments', query, placedCommentShape)
        : [];
      const listed = asked.filter((comment) => Date.parse(comment.created_at) >= since);
      const me = await self();
      const remarks: Remark[] = [];
      for (const comment of listed) {
        const isOwn = comment.user?.login === me && isMarked(comment.body);
        if (!isOwn && /^\/loop\b/m.test(withPlainLines(comment.body))) remarks.push(await placed(comment));
      }
      // What is asked again in a moment may rest on what was just read.
      const isLast = due.reviews.every((time) => time <= asOf);
      const reviews = isDue('reviews')
        ? await reviewsSince(since, issues.pullsBy(me), isLast ? 'settled' : 'listed')
        : [];
      remarks.push(...reviews.filter(({ body }) => /^\/loop\b/m.test(body)));
      const times = [
        ...listed.map((comment) => Date.parse(comment.created_at)),
        ...reviews.map(({ at }) => at),
      ];
      // What was said where it can't be read yet is as old as all the rest.
      const seen = missed.size > 0 ? since : Math.max(since, ...times);
      // Only now: what could not be answered is asked for again.
      for (const kind of KINDS) due[kind] = due[kind].filter((time) => time > asOf);
      if (missed.size > 0 && due.reviews.length === 0) due.reviews.push(asOf + ASK_AGAIN_MS);
      return { remarks: remarks.sort((a, b) => a.at - b.at), seen };
    },

    async unreadable() {
      // Who listens knows; who does not finds out.
      if (!last) await reviewsSince(Number.POSITIVE_INFINITY, issues.pullsBy(await self()), 'listed');
      return [...missed.values()].map((why) => ({
        what: `${why} Commands in its reviews are not heard.`,
        fix: 'It is read again every minute.',
      }));
    },

    async reply(to, marker, body) {
      const id = Number(to.id.slice(1));
      if (!to.id.startsWith('t')) return comments.ensure(to.where.number, marker, body);
      const one = { ...at, pull_number: to.where.number };
      const listed = await client.list(
        '/repos/{owner}/{repo}/pulls/{pull_number}/comments',
        one,
        placedCommentShape,
      );
      const me = await self();
      if (listed.some((comment) => comment.user?.login === me && hasMark(comment.body, marker))) return;
      const thread = listed.find((comment) => comment.id === id);
      if (!thread) return comments.ensure(to.where.number, marker, body);
      await client.write(
        'POST /repos/{owner}/{repo}/pulls/{pull_number}/comments/{comment_id}/replies',
        { ...one, comment_id: thread.in_reply_to_id ?? id, body: marked(marker, body) },
        nothing,
      );
      pulls.forget(to.where.number);
    },
  };
}

const KINDS = ['comments', 'reviews'] as const;

const ASK_AGAIN_MS = 60_000;
const REMEMBERED = 500;

function ifNotRead(problem: unknown): NotRead {
  if (problem instanceof NotRead) return problem;
  throw problem;
}

/** By then GitHub shows what was said. */
const LATE_MS = 10_000;

const VERDICTS: Record<string, Remark['verdict']> = {
  APPROVED: 'approve',
  CHANGES_REQUESTED: 'request_changes',
};
