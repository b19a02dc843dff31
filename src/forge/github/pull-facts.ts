/**
 * Everything that is said about pull requests: a few in one query, since GitHub counts the rows that a query could
 * answer with, then the pages that are left of the longer ones.
 */

import type { z } from 'zod';
import { ForgeUnavailable } from '../../errors.ts';
import type { GraphqlError } from './client.ts';
import type { Place } from './place.ts';
import type { Portion, Portions } from './portions.ts';
import {
  ACTOR,
  aliasesShape,
  headShape,
  type PullFacts,
  pullFactsShape,
  remarksShape,
  reviewsShape,
  threadPageShape,
  threadsShape,
  whatIsWrong,
} from './shapes.ts';

/** Null for a number that names none, an error for one that could not be read. */
type Found = PullFacts | ForgeUnavailable | null;

/** 100 + 100 + 50 + 50 × 20 + 100 rows for each; GitHub takes half a million, and ends what runs for ten seconds. */
const AT_ONCE = 20;

export async function readPullFacts(
  { client, at }: Pick<Place, 'client' | 'at'>,
  portions: Portions<number>,
  numbers: readonly number[],
): Promise<Map<number, Found>> {
  const say = (problem: string): void =>
    client.warn(`Something said on a pull request can't be read and is left out: ${problem}.`);
  const shape = pullFactsShape(say);
  const where = { owner: at.owner, name: at.repo };

  const readOne = async (
    number: number,
    given: unknown,
    problems: readonly GraphqlError[],
  ): Promise<Found> => {
    const about = problems.filter(({ path }) => path?.[1] === aliasOf(number));
    if ((given ?? null) === null) {
      const denied = about.find(({ type, path }) => type !== 'NOT_FOUND' && (path?.length ?? 0) > 1);
      return denied ? notRead(number, denied.message) : null;
    }
    const read = shape.safeParse(given);
    if (!read.success) return notRead(number, whatIsWrong(read.error));
    const facts = await completed(read.data).catch(ifNotRead);
    if (facts instanceof ForgeUnavailable) return facts;
    const isDenied = about.some(({ path }) => path?.includes('statusCheckRollup'));
    const contexts = facts.commits.nodes[0]?.commit.statusCheckRollup?.contexts;
    return { ...facts, hasUnreadChecks: isDenied || (contexts?.unread ?? 0) > 0 };
  };

  /** The pages that did not fit; all of them count when a merge is decided. */
  const completed = async (facts: z.output<typeof shape>): Promise<z.output<typeof shape>> => {
    const { number } = facts;
    const comments = await older(number, 'comments', COMMENTS, remarksShape(say), facts.comments);
    const reviews = await older(number, 'reviews', REVIEWS, reviewsShape(say), facts.reviews);
    const threads = await older(number, 'reviewThreads', THREADS, threadsShape(say), facts.reviewThreads);
    for (const thread of threads.nodes) await rest(number, thread);
    return { ...facts, comments, reviews, reviewThreads: threads, commits: await allContexts(facts) };
  };

  const older = async <T extends { nodes: unknown[]; pageInfo: Earlier }>(
    number: number,
    field: string,
    selection: string,
    page: z.ZodType<T>,
    newest: T,
  ): Promise<T> => {
    let all = newest;
    while (all.pageInfo.hasPreviousPage && all.pageInfo.startCursor !== null) {
      const asked = `${field}(last: 100, before: $cursor) ${selection}`;
      const more = await askOne(number, asked, all.pageInfo.startCursor);
      const before = readPage(number, page, more?.[field]);
      all = { ...before, nodes: [...before.nodes, ...all.nodes] };
    }
    return all;
  };

  const rest = async (number: number, thread: Thread): Promise<void> => {
    while (thread.comments.pageInfo.hasNextPage && thread.comments.pageInfo.endCursor !== null) {
      const cursor = thread.comments.pageInfo.endCursor;
      const answer = await alone(number, () =>
        client.graphql(
          `query($id: ID!, $cursor: String!) { node(id: $id) { ... on PullRequestReviewThread {
            comments(first: 100, after: $cursor) ${THREAD_COMMENTS} } } }`,
          { id: thread.id, cursor },
          threadPageShape(say),
        ),
      );
      const more = answer.node?.comments;
      if (!more) return;
      thread.comments = { ...more, nodes: [...thread.comments.nodes, ...more.nodes] };
    }
  };

  const allContexts = async ({ number, commits }: z.output<typeof shape>): Promise<typeof commits> => {
    const commit = commits.nodes[0]?.commit;
    const rollup = commit?.statusCheckRollup;
    if (!rollup) return commits;
    let all = rollup.contexts;
    while (all.pageInfo.hasNextPage && all.pageInfo.endCursor !== null) {
      const asked = headOf(number, ', after: $cursor');
      const given = await askOne(number, asked, all.pageInfo.endCursor);
      const more = readPage(number, headShape(say), given?.commits);
      const next = more.nodes[0]?.commit;
      // Another head by now: the next look sees it from its first page on.
      if (next?.oid !== commit?.oid || !next?.statusCheckRollup) break;
      const { nodes, unread, pageInfo } = next.statusCheckRollup.contexts;
      all = { nodes: [...all.nodes, ...nodes], unread: all.unread + unread, pageInfo };
    }
    return { nodes: [{ commit: { ...commit, statusCheckRollup: { ...rollup, contexts: all } } }] };
  };

  const askOne = async (number: number, selection: string, cursor: string) => {
    const answer = await alone(number, () =>
      client.graphql(
        `query($owner: String!, $name: String!, $cursor: String!) { repository(owner: $owner, name: $name) {
          pullRequest(number: ${number}) { ${selection} } } }`,
        { ...where, cursor },
        aliasesShape,
      ),
    );
    return answer.repository?.pullRequest as Record<string, unknown> | null | undefined;
  };

  const alone = async <T>(number: number, ask: () => Promise<T>): Promise<T> => {
    const [only] = (await portions.ask([number], 1, ask)) as [Portion<number, T>];
    if ('tooMuch' in only) throw notRead(number, only.tooMuch);
    return only.answer;
  };

  const together = async (batch: readonly number[]) => {
    const fields = batch.map(
      (number) => `${aliasOf(number)}: pullRequest(number: ${number}) ${factsOf(number)}`,
    );
    const problems: GraphqlError[] = [];
    const { repository } = await client.graphql(
      `query($owner: String!, $name: String!) { repository(owner: $owner, name: $name) { ${fields.join(' ')} } }`,
      where,
      aliasesShape,
      (problem) => problems.push(problem),
    );
    // Nothing can be said of pull requests in a repository that can't be seen, least of all that they are gone.
    if (repository === null)
      throw new ForgeUnavailable(`GitHub shows this token no repository ${at.owner}/${at.repo}.`);
    return { repository, problems };
  };

  const found = new Map<number, Found>();
  for (const portion of await portions.ask(numbers, AT_ONCE, together)) {
    if ('tooMuch' in portion) {
      found.set(portion.row, notRead(portion.row, portion.tooMuch));
      continue;
    }
    const { repository, problems } = portion.answer;
    for (const number of portion.rows)
      found.set(number, await readOne(number, repository?.[aliasOf(number)], problems));
  }
  return found;
}

type Earlier = { hasPreviousPage: boolean; startCursor: string | null };
type Thread = PullFacts['reviewThreads']['nodes'][number];

const aliasOf = (number: number): string => `p${number}`;

/** One pull request can't be read; the others can. */
export class NotRead extends ForgeUnavailable {}

const notRead = (number: number, why: string): NotRead =>
  new NotRead(`GitHub's answer about pull request #${number} can't be read: ${why}.`);

function ifNotRead(problem: unknown): NotRead {
  if (problem instanceof NotRead) return problem;
  throw problem;
}

function readPage<T>(number: number, shape: z.ZodType<T>, given: unknown): T {
  const read = shape.safeParse(given);
  if (read.success) return read.data;
  throw notRead(number, whatIsWrong(read.error));
}

const OLDER = 'pageInfo { hasPreviousPage startCursor }';
const LATER = 'pageInfo { hasNextPage endCursor }';
const COMMENTS = `{ nodes { fullDatabaseId author { ${ACTOR} } body createdAt } ${OLDER} }`;
const REVIEWS = `{ nodes { fullDatabaseId author { ${ACTOR} } authorCanPushToRepository state body commit { oid } submittedAt } ${OLDER} }`;
const THREAD_COMMENTS = `{ nodes { fullDatabaseId author { ${ACTOR} } body createdAt originalCommit { oid }
  pullRequestReview { fullDatabaseId } } ${LATER} }`;
const THREADS = `{ nodes { id isResolved path line comments(first: 20) ${THREAD_COMMENTS} } ${OLDER} }`;

const headOf = (number: number, after = ''): string =>
  `commits(last: 1) { nodes { commit { oid statusCheckRollup { contexts(first: 100${after}) { nodes { __typename
    ... on CheckRun { name status conclusion detailsUrl isRequired(pullRequestNumber: ${number}) checkSuite { app { slug } } }
    ... on StatusContext { context state description targetUrl isRequired(pullRequestNumber: ${number}) } } ${LATER} } } } } }`;

const factsOf = (number: number): string =>
  `{ number id title body updatedAt author { ${ACTOR} } state isDraft isInMergeQueue isMergeQueueEnabled reviewDecision headRefName mergeCommit { oid }
  baseRepository { allow_squash_merge: squashMergeAllowed allow_merge_commit: mergeCommitAllowed
    allow_rebase_merge: rebaseMergeAllowed }
  queueEvents: timelineItems(last: 1, itemTypes: [ADDED_TO_MERGE_QUEUE_EVENT, REMOVED_FROM_MERGE_QUEUE_EVENT]) { nodes {
    __typename ... on RemovedFromMergeQueueEvent { createdAt reason } } }
  comments(last: 100) ${COMMENTS} reviews(last: 100) ${REVIEWS} reviewThreads(last: 50) ${THREADS}
  ${headOf(number)} }`;
