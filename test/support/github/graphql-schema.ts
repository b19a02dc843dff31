/** The part of GitHub's GraphQL schema that our queries touch. */
import { latestChecks } from './check-routes.ts';
import {
  countNodes,
  type Document,
  execute,
  GraphqlProblem,
  LeftOut,
  type Node,
  parseDocument,
} from './graphql-language.ts';
import { checkState, outOfQueue, reviewsOf } from './merging.ts';
import { canPush } from './review-routes.ts';
import { association, checkJson, iso, isoOrNull, nodeId, statusJson } from './shapes.ts';
import { mayUse, NOT_ACCESSIBLE } from './token-rights.ts';
import {
  branchTip,
  type Comment,
  fullName,
  headOf,
  type IssueRow,
  knownOf,
  liveHead,
  note,
  type PullRow,
  type Thread,
  type World,
} from './world.ts';

export async function answerGraphql(
  world: World,
  user: string,
  body: Record<string, unknown>,
): Promise<{ data?: unknown; errors?: unknown[] }> {
  try {
    const document: Document = parseDocument(String(body.query ?? ''));
    const variables = (body.variables ?? {}) as Record<string, unknown>;
    const nodes = countNodes(document);
    if (nodes > MOST_NODES) throw tooManyNodes(nodes);
    const problems: unknown[] = [];
    const root = document.operation === 'query' ? query(world, user) : mutation(world, user);
    const data = await execute(document, root, variables, problems);
    return problems.length > 0 ? { data, errors: problems } : { data };
  } catch (problem) {
    if (!(problem instanceof GraphqlProblem)) throw problem;
    return { errors: [{ type: problem.type, message: problem.message }] };
  }
}

/** docs.github.com/graphql/overview/rate-limits-and-query-limits-for-the-graphql-api#node-limit */
const MOST_NODES = 500_000;

const tooManyNodes = (nodes: number): GraphqlProblem =>
  new GraphqlProblem(
    `This query requests up to ${nodes.toLocaleString('en')} possible nodes which exceeds the maximum limit of 500,000.`,
    'MAX_NODE_LIMIT_EXCEEDED',
  );

/** A number that names nothing is null beside an error, while the rest of the answer stands. */
function query(world: World, user: string): Node {
  const find = (number: unknown, isPull: boolean): IssueRow | LeftOut => {
    const found = world.issues.get(Number(number));
    if (found && (found.pull !== null) === isPull) return found;
    const type = isPull ? 'PullRequest' : 'Issue';
    const named = `${isPull ? 'a' : 'an'} ${type} with the number of ${number}`;
    return new LeftOut('NOT_FOUND', `Could not resolve to ${named}.`);
  };
  return {
    __typename: 'Query',
    repository: ({ owner, name }: { owner: string; name: string }) => {
      const known = [fullName(world), ...world.formerNames].map((one) => one.toLowerCase());
      if (!known.includes(`${owner}/${name}`.toLowerCase()))
        return new LeftOut(
          'NOT_FOUND',
          `Could not resolve to a Repository with the name '${owner}/${name}'.`,
        );
      return {
        __typename: 'Repository',
        nameWithOwner: fullName(world),
        issue: ({ number }: { number: number }) => {
          const issue = find(number, false);
          return issue instanceof LeftOut ? issue : issueNode(world, issue);
        },
        pullRequest: ({ number }: { number: number }) => {
          const issue = find(number, true);
          return issue instanceof LeftOut ? issue : pullNode(world, issue, issue.pull!, user);
        },
      };
    },
    node: ({ id }: { id: string }) => {
      for (const issue of world.issues.values()) {
        const thread = issue.pull?.threads.find((one) => `PRRT_${one.id}` === id);
        if (thread) return threadNode(world, thread);
      }
      return new LeftOut('NOT_FOUND', `Could not resolve to a node with the global id of '${id}'`);
    },
    rateLimit: { __typename: 'RateLimit', cost: 1 },
  };
}

function issueNode(world: World, issue: IssueRow): Node {
  const known = knownOf(world, issue);
  return {
    __typename: 'Issue',
    id: nodeId(issue),
    number: issue.number,
    title: known.title,
    body: known.body,
    state: issue.state.toUpperCase(),
    createdAt: iso(issue.createdAt),
    updatedAt: iso(known.updatedAt),
    lastEditedAt: isoOrNull(known.lastEditedAt),
    labels: page(issue.labels.map((name) => ({ __typename: 'Label', name: named(world, name) }))),
    blockedBy: page(
      issue.blockedBy.flatMap((number) => {
        const blocker = world.issues.get(number);
        return blocker ? [issueNode(world, blocker)] : [];
      }),
    ),
    projectItems: page(
      Object.keys(issue.projectFields).length === 0
        ? []
        : [
            {
              __typename: 'ProjectV2Item',
              fieldValueByName: ({ name }: { name: string }) =>
                name in issue.projectFields
                  ? { __typename: 'ProjectV2ItemFieldSingleSelectValue', name: issue.projectFields[name] }
                  : null,
            },
          ],
    ),
    parent: () => {
      const parent = issue.parent === null ? null : world.issues.get(issue.parent);
      return parent ? issueNode(world, parent) : null;
    },
    timelineItems: ({ itemTypes, ...args }: { itemTypes?: string[] } & Page) => {
      const kinds = { labeled: 'LABELED_EVENT', renamed: 'RENAMED_TITLE_EVENT' };
      const events = known.timeline.filter(({ event }) => {
        const kind = kinds[event as keyof typeof kinds];
        return kind !== undefined && (itemTypes ?? [kind]).includes(kind);
      });
      return page(
        events.map((event) => ({
          createdAt: iso(event.at),
          actor: actorNode(world, event.actor),
          ...(event.rename
            ? {
                __typename: 'RenamedTitleEvent',
                previousTitle: event.rename.from,
                currentTitle: event.rename.to,
              }
            : { __typename: 'LabeledEvent', label: { __typename: 'Label', name: event.label } }),
        })),
      )(args);
    },
  };
}

function pullNode(world: World, issue: IssueRow, pull: PullRow, user: string): Node {
  return {
    __typename: 'PullRequest',
    id: nodeId(issue),
    number: issue.number,
    state: pull.merged ? 'MERGED' : issue.state.toUpperCase(),
    isDraft: pull.draft,
    body: issue.body,
    updatedAt: iso(issue.updatedAt),
    headRefName: pull.headRef,
    headRefOid: () => headOf(world, pull),
    headRef: async () => {
      const head = await liveHead(world, pull);
      return head === null ? null : { __typename: 'Ref', target: { __typename: 'Commit', oid: head } };
    },
    headRepository: { __typename: 'Repository', nameWithOwner: pull.headRepo },
    baseRefOid: () => branchTip(world, pull.baseRef),
    author: actorNode(world, issue.user),
    mergeCommit: pull.mergeCommit === null ? null : { __typename: 'Commit', oid: pull.mergeCommit },
    mergedBy: pull.mergedBy === null ? null : actorNode(world, pull.mergedBy),
    isInMergeQueue: pull.queued,
    isMergeQueueEnabled: world.protections.get(pull.baseRef)?.mergeQueue === true,
    timelineItems: ({ last }: { last?: number }) => ({
      __typename: 'PullRequestTimelineItemsConnection',
      nodes: issue.timeline
        .filter(({ event }) => QUEUE_EVENTS[event] !== undefined)
        .slice(-(last ?? 100))
        .map(({ event, at, reason }) => ({
          __typename: QUEUE_EVENTS[event],
          createdAt: iso(at),
          reason: reason ?? null,
        })),
    }),
    reviewDecision: reviewsOf(world, pull, world.protections.get(pull.baseRef)).decision,
    reviews: page(
      pull.reviews.map((review) => ({
        __typename: 'PullRequestReview',
        id: `PRR_${review.id}`,
        fullDatabaseId: String(review.id),
        author: actorNode(world, review.user),
        authorCanPushToRepository: canPush(world, review.user),
        state: review.state,
        body: review.body,
        commit: { __typename: 'Commit', oid: review.commit },
        submittedAt: iso(review.at),
      })),
    ),
    comments: page(issue.comments.map((comment) => commentNode(world, comment))),
    reviewThreads: page(pull.threads.map((thread) => threadNode(world, thread))),
    commits: ({ last }: { last?: number }) => ({
      __typename: 'PullRequestCommitConnection',
      nodes:
        (last ?? 1) < 1
          ? []
          : [{ __typename: 'PullRequestCommit', commit: () => commitNode(world, issue, pull, user) }],
    }),
  };
}

function threadNode(world: World, thread: Thread): Node {
  return {
    __typename: 'PullRequestReviewThread',
    id: `PRRT_${thread.id}`,
    isResolved: thread.resolved,
    path: thread.path,
    line: thread.line,
    comments: page(
      thread.comments.map((comment) => ({
        ...commentNode(world, comment),
        __typename: 'PullRequestReviewComment',
        originalCommit: { __typename: 'Commit', oid: thread.commit },
        pullRequestReview: { __typename: 'PullRequestReview', fullDatabaseId: String(thread.review) },
      })),
    ),
  };
}

async function commitNode(world: World, issue: IssueRow, pull: PullRow, user: string): Promise<Node> {
  const oid = await headOf(world, pull);
  const required = world.protections.get(pull.baseRef)?.requiredChecks ?? [];
  const statuses = [
    ...new Map(world.statuses.filter((one) => one.sha === oid).map((one) => [one.context, one])).values(),
  ];
  const checks = latestChecks(world, oid);
  const contexts: Node[] = [
    ...checks.map((check) => ({
      __typename: 'CheckRun',
      name: check.name,
      status: check.status.toUpperCase(),
      conclusion: check.conclusion?.toUpperCase() ?? null,
      detailsUrl: checkJson(world, check).details_url,
      isRequired: required.includes(check.name),
      checkSuite: { __typename: 'CheckSuite', app: { __typename: 'App', slug: check.app } },
    })),
    ...statuses.map((status) => ({
      __typename: 'StatusContext',
      context: status.context,
      state: status.state.toUpperCase(),
      description: status.description,
      targetUrl: statusJson(world, status).target_url,
      isRequired: required.includes(status.context),
      creator: actorNode(world, status.user),
    })),
  ];
  const states = contexts.map((one) => checkState(world, oid, String(one.name ?? one.context)));
  const state = states.includes('failure') ? 'FAILURE' : states.includes('pending') ? 'PENDING' : 'SUCCESS';
  return {
    __typename: 'Commit',
    oid,
    statusCheckRollup:
      contexts.length === 0
        ? null
        : {
            __typename: 'StatusCheckRollup',
            state,
            // `isRequired` is asked with the number of a pull request.
            contexts: page(
              contexts.map((one) => {
                const right = one.__typename === 'CheckRun' ? 'checks=read' : 'statuses=read';
                if (!mayUse(world, user, right)) return new LeftOut('FORBIDDEN', NOT_ACCESSIBLE);
                return { ...one, isRequired: () => one.isRequired };
              }),
            ),
          },
    pullRequest: issue.number,
  };
}

function mutation(world: World, user: string): Node {
  const pullOf = (id: unknown): { issue: IssueRow; pull: PullRow } => {
    const issue = [...world.issues.values()].find((one) => one.pull && nodeId(one) === id);
    if (!issue?.pull)
      throw new GraphqlProblem(`Could not resolve to a node with the global id of '${id}'`, 'NOT_FOUND');
    if (!canPush(world, user) && issue.user !== user)
      throw new GraphqlProblem(`${user} does not have the correct permissions`, 'FORBIDDEN');
    return { issue, pull: issue.pull };
  };
  const answer = (issue: IssueRow) => ({
    __typename: 'Payload',
    clientMutationId: null,
    pullRequest: pullNode(world, issue, issue.pull!, user),
  });
  return {
    __typename: 'Mutation',
    markPullRequestReadyForReview: ({ input }: { input: { pullRequestId: string } }) => {
      const { issue, pull } = pullOf(input.pullRequestId);
      pull.draft = false;
      issue.updatedAt = world.now();
      return answer(issue);
    },
    enqueuePullRequest: ({ input }: { input: { pullRequestId: string; expectedHeadOid?: string } }) =>
      enqueue(pullOf(input.pullRequestId), input.expectedHeadOid),
    dequeuePullRequest: ({ input }: { input: { id: string } }) => {
      const { issue, pull } = pullOf(input.id);
      if (!pull.queued) throw new GraphqlProblem('Pull request is not in the queue', 'UNPROCESSABLE');
      outOfQueue(world, issue, pull, user, 'manual');
      return { __typename: 'Payload', clientMutationId: null };
    },
    resolveReviewThread: ({ input }: { input: { threadId: string } }) => {
      for (const issue of world.issues.values()) {
        const thread = issue.pull?.threads.find((one) => `PRRT_${one.id}` === input.threadId);
        if (thread) thread.resolved = true;
      }
      return { __typename: 'Payload', clientMutationId: null };
    },
  };

  async function enqueue({ issue, pull }: { issue: IssueRow; pull: PullRow }, expected?: string) {
    if (expected !== undefined && expected !== (await headOf(world, pull)))
      throw new GraphqlProblem('Head branch was modified. Review and try the merge again.', 'UNPROCESSABLE');
    if (pull.queued) throw new GraphqlProblem('Pull request is already in the queue', 'UNPROCESSABLE');
    pull.queued = true;
    note(world, issue, { event: 'added_to_merge_queue', actor: user });
    return answer(issue);
  }
}

const QUEUE_EVENTS: Record<string, string> = {
  added_to_merge_queue: 'AddedToMergeQueueEvent',
  removed_from_merge_queue: 'RemovedFromMergeQueueEvent',
};

interface Page {
  first?: number;
  last?: number;
  after?: string;
  before?: string;
}

/** A cursor is the place of a row, from 1. */
const page = (nodes: (Node | LeftOut)[]) => (args: Page) => {
  const from = Number(args.after ?? 0);
  const to = args.before === undefined ? nodes.length : Number(args.before) - 1;
  const start = args.last === undefined ? from : Math.max(from, to - args.last);
  const end = args.last === undefined ? Math.min(to, from + (args.first ?? 100)) : to;
  return {
    __typename: 'Connection',
    totalCount: nodes.length,
    pageInfo: {
      __typename: 'PageInfo',
      hasNextPage: end < nodes.length,
      hasPreviousPage: start > 0,
      startCursor: end > start ? String(start + 1) : null,
      endCursor: end > start ? String(end) : null,
    },
    nodes: nodes.slice(start, end),
  };
};

const commentNode = (world: World, comment: Comment): Node => ({
  __typename: 'IssueComment',
  fullDatabaseId: String(comment.id),
  author: actorNode(world, comment.user),
  authorAssociation: association(world, comment.user),
  body: comment.body,
  createdAt: iso(comment.at),
});

const actorNode = (world: World, login: string): Node | null => {
  const user = world.users.get(login.toLowerCase());
  // What REST calls `name[bot]` is called `name` here.
  return user ? { __typename: user.type, login: user.login.replace(/\[bot\]$/, '') } : null;
};

const named = (world: World, name: string): string => world.labels.get(name.toLowerCase())?.name ?? name;
