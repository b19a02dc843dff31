/** The part of GitHub's GraphQL schema that our queries touch. */

import { parsePatch } from '../../../src/core/change/patch.ts';
import type { Answer } from './answer.ts';
import { latestChecks } from './check-routes.ts';
import { says } from './error-texts.ts';
import { GraphqlProblem, type Node, runGraphql } from './graphql-engine.ts';
import { label, unlabel } from './issue-routes.ts';
import { checkState, outOfQueue, reviewsOf } from './merging.ts';
import { pullDiff } from './pull-routes.ts';
import { canPush } from './review-routes.ts';
import { association, checkJson, iso, isoOrNull, labelId, nodeId, statusJson } from './shapes.ts';
import { mayUse, notAccessible, scopesOf } from './token-rights.ts';
import {
  atLeast,
  branchTip,
  type Comment,
  fullName,
  headOf,
  historyOf,
  type IssueRow,
  liveHead,
  note,
  type PullRow,
  permissionOf,
  type Thread,
  type World,
} from './world.ts';

/** What this world knows of GitHub's schema: one function for each type, a row for each field. */
export async function answerGraphql(
  world: World,
  user: string,
  body: Record<string, unknown>,
  report: (deviation: string) => void,
): Promise<Answer> {
  const source = String(body.query ?? '');
  const scopes = scopesOf(world, user)['x-oauth-scopes'];
  if (scopes !== undefined && source.includes('projectItems') && !/\bproject\b/.test(scopes)) {
    const granted = scopes.replace(/[^, ]+/g, "'$&'");
    const message = says('lacksScope', { field: 'name', scope: 'read:project', granted });
    return { status: 200, body: { data: null, errors: [{ type: 'INSUFFICIENT_SCOPES', message }] } };
  }
  const weigh = weighing(world.heaviest);
  const answer = await runGraphql({
    source,
    variables: (body.variables ?? {}) as Record<string, unknown>,
    root: {
      query: query(world.copies?.seen('query') ?? world, user, weigh),
      mutation: mutation(world, user),
    },
    report,
  });
  if (!weigh.isExceeded() || world.heaviest?.ends === 'partly') return { status: 200, body: answer };
  const message = says('queryEnded', { id: 'D3C2:1AFB' });
  return { status: world.heaviest?.ends === 'late' ? 502 : 200, body: { data: null, errors: [{ message }] } };
}

/** Ends a query that asks for too much. What was looked up by then is in the answer. */
function weighing(heaviest: World['heaviest']) {
  let weight = 0;
  const isExceeded = (): boolean => heaviest !== null && weight > heaviest.most;
  return {
    isExceeded,
    add(number: number): void {
      weight += heaviest?.weights?.[number] ?? 1;
      if (isExceeded()) throw new GraphqlProblem(says('resourceLimit'), 'RESOURCE_LIMITS_EXCEEDED');
    },
  };
}

function query(world: World, user: string, weigh: ReturnType<typeof weighing>): Node {
  const find = (number: unknown, isPull: boolean): IssueRow => {
    weigh.add(Number(number));
    if (!mayUse(world, user, isPull ? 'pull_requests=read' : 'issues=read'))
      throw new GraphqlProblem(notAccessible(world, user), 'FORBIDDEN');
    const found = world.issues.get(Number(number));
    if (found && (found.pull !== null) === isPull) return found;
    const message = says('noSuchPull', { number: Number(number) });
    throw new GraphqlProblem(isPull ? message : message.replace('a PullRequest', 'an Issue'), 'NOT_FOUND');
  };
  return {
    __typename: 'Query',
    repository: ({ owner, name }: { owner: string; name: string }) => {
      const known = [fullName(world), ...world.formerNames].map((one) => one.toLowerCase());
      if (!known.includes(`${owner}/${name}`.toLowerCase()))
        throw new GraphqlProblem(says('noSuchRepository', { name: `${owner}/${name}` }), 'NOT_FOUND');
      return {
        __typename: 'Repository',
        id: repositoryId(world),
        nameWithOwner: fullName(world),
        issue: ({ number }: { number: number }) => issueNode(world, find(number, false), user),
        issues: ({ orderBy, ...asked }: { orderBy?: { field: string; direction: string } } & Paging) => {
          if (!mayUse(world, user, 'issues=read'))
            throw new GraphqlProblem(notAccessible(world, user), 'FORBIDDEN');
          if (orderBy?.field !== 'UPDATED_AT' || orderBy.direction !== 'DESC')
            throw new Error('the test server lists issues by their last change alone, newest first');
          const all = [...world.issues.values()].filter(({ pull }) => pull === null);
          const sorted = all.sort((a, b) => b.updatedAt - a.updatedAt);
          return page(sorted.map((issue) => issueNode(world, issue, user)))(asked);
        },
        label: ({ name }: { name: string }) => {
          const found = world.labels.get(name.toLowerCase());
          // As it is written, though no two labels may differ in that alone.
          return found?.name === name ? { __typename: 'Label', id: labelId(found), name } : null;
        },
        pullRequest: ({ number }: { number: number }) => {
          const issue = find(number, true);
          return pullNode(world, issue, issue.pull!, user);
        },
      };
    },
    node: ({ id }: { id: string }) => {
      for (const issue of world.issues.values()) {
        const thread = issue.pull?.threads.find((one) => `PRRT_${one.id}` === id);
        if (thread) return threadNode(world, thread);
      }
      throw new GraphqlProblem(says('noSuchNode', { id }), 'NOT_FOUND');
    },
    search: (asked: { query: string; type: string } & Paging) => search(world, user, asked),
    rateLimit: { __typename: 'RateLimit', cost: 1 },
    // Of an App with `[bot]`, for which REST's /user is no answer: https://github.com/fullsend-ai/fullsend/pull/1953
    viewer: { __typename: 'User', login: world.users.get(user)?.login },
  };
}

const repositoryId = (world: World): string => `R_${world.id}`;

const repositoryNode = (world: World): Node => ({
  __typename: 'Repository',
  id: repositoryId(world),
  nameWithOwner: fullName(world),
});

/**
 * Every word has to be in it: https://docs.github.com/en/search-github/searching-on-github/searching-issues-and-pull-requests.
 * Of all that could steer a search only `repo:` is known here.
 */
function search(
  world: World,
  user: string,
  { query: asked, type, ...paging }: { query: string; type: string } & Paging,
) {
  if (type !== 'ISSUE') throw new Error(`the test server does not search for ${type}`);
  const terms = asked
    .toLowerCase()
    .split(/\s+/)
    .filter((term) => term !== '');
  const repositories = terms.filter((term) => term.startsWith('repo:'));
  const words = terms.filter((term) => !term.startsWith('repo:'));
  const strange = words.filter((word) => /[^\p{L}\p{N}_.-]|^-/u.test(word));
  if (strange.length > 0) throw new Error(`the test server does not know ${strange.join(' ')}`);
  const isHere = repositories.length === 0 || repositories.includes(`repo:${fullName(world).toLowerCase()}`);
  const found = [...world.issues.values()].filter(({ title, body, comments }) => {
    const text = [title, body, ...comments.map((one) => one.body)].join('\n').toLowerCase();
    return isHere && words.every((word) => text.includes(word));
  });
  const nodes = found
    .sort((a, b) => b.createdAt - a.createdAt)
    .map((issue) => (issue.pull ? pullNode(world, issue, issue.pull, user) : issueNode(world, issue, user)));
  return { __typename: 'SearchResultItemConnection', issueCount: nodes.length, ...page(nodes)(paging) };
}

function issueNode(world: World, issue: IssueRow, user: string): Node {
  const known = historyOf(world, issue);
  return {
    __typename: 'Issue',
    id: nodeId(issue),
    repository: repositoryNode(world),
    author: actorNode(world, issue.user),
    authorAssociation: association(world, issue.user),
    comments: page(issue.comments.map((comment) => commentNode(world, comment))),
    number: issue.number,
    title: issue.title,
    body: issue.body,
    state: issue.state.toUpperCase(),
    createdAt: iso(issue.createdAt),
    updatedAt: iso(issue.updatedAt),
    lastEditedAt: isoOrNull(known.edits.at(-1)?.at ?? null),
    userContentEdits: page(editNodes(known.edits)),
    labels: page(issue.labels.map((name) => ({ __typename: 'Label', name: named(world, name) }))),
    blockedBy: page(
      issue.blockedBy.flatMap((number) => {
        const blocker = world.issues.get(number);
        return blocker ? [issueNode(world, blocker, user)] : [];
      }),
    ),
    // Its place in the project is shown, what stands there is not: https://github.com/cli/cli/issues/13280
    projectItems: page(
      Object.keys(issue.projectFields).length === 0
        ? []
        : !mayUse(world, user, 'projects=read')
          ? [new GraphqlProblem(notAccessible(world, user), 'FORBIDDEN')]
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
      return parent ? issueNode(world, parent, user) : null;
    },
    timelineItems: ({ itemTypes, ...asked }: { itemTypes?: string[] } & Paging) => {
      const kinds = { labeled: 'LABELED_EVENT', renamed: 'RENAMED_TITLE_EVENT' };
      const events = known.timeline.filter(({ event }) => {
        const kind = kinds[event as keyof typeof kinds];
        return kind !== undefined && (itemTypes ?? [kind]).includes(kind);
      });
      const nodes = events.map((event) => ({
        createdAt: iso(event.at),
        actor: actorNode(world, event.actor),
        ...(event.rename
          ? {
              __typename: 'RenamedTitleEvent',
              previousTitle: event.rename.from,
              currentTitle: event.rename.to,
            }
          : { __typename: 'LabeledEvent', label: { __typename: 'Label', name: event.label } }),
      }));
      return page(nodes)(asked);
    },
  };
}

/**
 * Newest first, each with the whole text as it was then; the text it was written with is one of them once it was edited:
 * https://docs.github.com/en/graphql/reference/objects#usercontentedit
 */
const editNodes = (edits: readonly { at: number; text: string }[]): Node[] =>
  edits.map(({ at, text }) => ({ __typename: 'UserContentEdit', editedAt: iso(at), diff: text })).reverse();

function pullNode(world: World, issue: IssueRow, pull: PullRow, user: string): Node {
  const inQueue = world.copies?.seen('queue').issues.get(issue.number) ?? issue;
  return {
    __typename: 'PullRequest',
    id: nodeId(issue),
    repository: repositoryNode(world),
    number: issue.number,
    state: pull.merged ? 'MERGED' : issue.state.toUpperCase(),
    isDraft: pull.draft,
    title: issue.title,
    body: issue.body,
    createdAt: iso(issue.createdAt),
    updatedAt: iso(issue.updatedAt),
    headRefName: pull.headRef,
    baseRefName: pull.baseRef,
    headRefOid: () => headOf(world, pull),
    headRef: async () => {
      const head = await liveHead(world, pull);
      return head === null ? null : { __typename: 'Ref', target: { __typename: 'Commit', oid: head } };
    },
    headRepository: { __typename: 'Repository', nameWithOwner: pull.headRepo },
    baseRepository: {
      __typename: 'Repository',
      squashMergeAllowed: world.mergeMethods.squash,
      mergeCommitAllowed: world.mergeMethods.merge,
      rebaseMergeAllowed: world.mergeMethods.rebase,
    },
    baseRefOid: () => branchTip(world, pull.baseRef),
    author: actorNode(world, issue.user),
    authorAssociation: association(world, issue.user),
    files: async (asked: Paging) => {
      const { patch } = await pullDiff(world, pull);
      return page(
        parsePatch(patch).map(({ path, added, removed }) => ({
          __typename: 'PullRequestChangedFile',
          path,
          additions: added.length,
          deletions: removed.length,
        })),
      )(asked);
    },
    mergeCommit: pull.mergeCommit === null ? null : { __typename: 'Commit', oid: pull.mergeCommit },
    mergedBy: pull.mergedBy === null ? null : actorNode(world, pull.mergedBy),
    isInMergeQueue: inQueue.pull?.queued ?? false,
    isMergeQueueEnabled: world.protections.get(pull.baseRef)?.mergeQueue === true,
    timelineItems: page(
      inQueue.timeline.flatMap(({ event, at, reason }) => {
        const type = QUEUE_EVENTS[event];
        return type ? [{ __typename: type, createdAt: iso(at), reason: reason ?? null }] : [];
      }),
    ),
    reviewDecision: reviewsOf(world, pull, world.protections.get(pull.baseRef)).decision,
    reviews: page(
      pull.reviews.map((review) => ({
        __typename: 'PullRequestReview',
        id: `PRR_${review.id}`,
        fullDatabaseId: String(review.id),
        author: actorNode(world, review.user),
        authorAssociation: association(world, review.user),
        authorCanPushToRepository: canPush(world, review.user),
        state: review.state,
        body: review.body,
        commit: { __typename: 'Commit', oid: review.commit },
        submittedAt: iso(review.at),
      })),
    ),
    comments: page(issue.comments.map((comment) => commentNode(world, comment))),
    reviewThreads: page(pull.threads.map((thread) => threadNode(world, thread))),
    commits: page([{ __typename: 'PullRequestCommit', commit: () => commitNode(world, issue, pull, user) }]),
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
                if (!mayUse(world, user, right))
                  return new GraphqlProblem(notAccessible(world, user), 'FORBIDDEN');
                return { ...one, isRequired: () => one.isRequired };
              }),
            ),
          },
    pullRequest: issue.number,
  };
}

function mutation(world: World, user: string): Node {
  const pullOf = (id: unknown, mutation: string): { issue: IssueRow; pull: PullRow } => {
    const issue = [...world.issues.values()].find((one) => one.pull && nodeId(one) === id);
    if (!issue?.pull) throw new GraphqlProblem(says('noSuchNode', { id: String(id) }), 'NOT_FOUND');
    if (!mayUse(world, user, 'pull_requests=write'))
      throw new GraphqlProblem(notAccessible(world, user), 'FORBIDDEN');
    if (!canPush(world, user) && issue.user !== user)
      throw new GraphqlProblem(says('mayNotExecute', { login: user, mutation }), 'FORBIDDEN');
    return { issue, pull: issue.pull };
  };
  const labelled = (asked: { labelableId: string; labelIds: string[] }, mutation: string) => {
    if (!mayUse(world, user, 'issues=write'))
      throw new GraphqlProblem(notAccessible(world, user), 'FORBIDDEN');
    if (!atLeast(permissionOf(world, user), 'triage'))
      throw new GraphqlProblem(says('mayNotExecute', { login: user, mutation }), 'FORBIDDEN');
    const unknown = (id: string) => new GraphqlProblem(says('noSuchNode', { id }), 'NOT_FOUND');
    const issue = [...world.issues.values()].find((one) => nodeId(one) === asked.labelableId);
    if (!issue) throw unknown(asked.labelableId);
    const names = asked.labelIds.map((id) => {
      const found = [...world.labels.values()].find((one) => labelId(one) === id);
      if (!found) throw unknown(id);
      return found.name;
    });
    return { issue, names };
  };
  return {
    __typename: 'Mutation',
    markPullRequestReadyForReview: ({ input }: { input: { pullRequestId: string } }) => {
      const { issue, pull } = pullOf(input.pullRequestId, 'MarkPullRequestReadyForReview');
      pull.draft = false;
      issue.updatedAt = world.now();
      return { clientMutationId: null, pullRequest: pullNode(world, issue, pull, user) };
    },
    enqueuePullRequest: ({ input }: { input: { pullRequestId: string; expectedHeadOid?: string } }) =>
      enqueue(pullOf(input.pullRequestId, 'EnqueuePullRequest'), input.expectedHeadOid),
    dequeuePullRequest: ({ input }: { input: { id: string } }) => {
      const { issue, pull } = pullOf(input.id, 'DequeuePullRequest');
      if (!pull.queued)
        throw new GraphqlProblem(says('notQueued', { number: issue.number }), 'UNPROCESSABLE');
      outOfQueue(world, issue, pull, user, 'manual');
      return { clientMutationId: null };
    },
    addLabelsToLabelable: ({ input }: { input: { labelableId: string; labelIds: string[] } }) => {
      const { issue, names } = labelled(input, 'AddLabelsToLabelable');
      label(world, issue, user, names);
      return { clientMutationId: null, labelable: issueNode(world, issue, user) };
    },
    removeLabelsFromLabelable: ({ input }: { input: { labelableId: string; labelIds: string[] } }) => {
      const { issue, names } = labelled(input, 'RemoveLabelsFromLabelable');
      for (const name of names) unlabel(world, issue, user, name);
      return { clientMutationId: null, labelable: issueNode(world, issue, user) };
    },
    // Contents as well: https://github.com/github/gh-aw/issues/35726
    resolveReviewThread: ({ input }: { input: { threadId: string } }) => {
      if (!['pull_requests=write', 'contents=write'].every((right) => mayUse(world, user, right)))
        throw new GraphqlProblem(notAccessible(world, user), 'FORBIDDEN');
      for (const issue of world.issues.values()) {
        const thread = issue.pull?.threads.find((one) => `PRRT_${one.id}` === input.threadId);
        if (thread) thread.resolved = true;
      }
      return { clientMutationId: null };
    },
  };

  async function enqueue({ issue, pull }: { issue: IssueRow; pull: PullRow }, expected?: string) {
    if (expected !== undefined && expected !== (await headOf(world, pull)))
      throw new GraphqlProblem(says('headModified'), 'UNPROCESSABLE');
    if (pull.queued) throw new GraphqlProblem(says('alreadyQueued'), 'UNPROCESSABLE');
    pull.queued = true;
    note(world, issue, { event: 'added_to_merge_queue', actor: user });
    return { clientMutationId: null, mergeQueueEntry: { __typename: 'MergeQueueEntry', state: 'QUEUED' } };
  }
}

const QUEUE_EVENTS: Record<string, string> = {
  added_to_merge_queue: 'AddedToMergeQueueEvent',
  removed_from_merge_queue: 'RemovedFromMergeQueueEvent',
};

interface Paging {
  first?: number;
  last?: number;
  after?: string;
  before?: string;
}

/** A connection; a problem among the nodes is a null and an error that names its place. A cursor is the place of a node in the whole list. */
const page =
  (nodes: (Node | GraphqlProblem)[]) =>
  ({ first, last, after, before }: Paging) => {
    const from = after ? Number(after) + 1 : 0;
    const to = before ? Number(before) : nodes.length;
    const begin = last === undefined || last === null ? from : Math.max(from, to - last);
    const end = first === undefined || first === null ? to : Math.min(to, begin + first);
    return {
      totalCount: nodes.length,
      pageInfo: {
        hasNextPage: end < nodes.length,
        hasPreviousPage: begin > 0,
        startCursor: end > begin ? String(begin) : null,
        endCursor: end > begin ? String(end - 1) : null,
      },
      nodes: nodes.slice(begin, end),
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
