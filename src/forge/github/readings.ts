/**
 * Issues and pull requests as agents read them: one query each, for REST would take five requests for a pull request. What a
 * query finds is held against the repository it was asked of: one that was transferred leads to another, and so may a search.
 */
import { z } from 'zod';
import type { Part } from '../../core/access/forge-reading.ts';
import { SHOWN, type Words } from '../../core/access/forge-reading.ts';
import { ForgeUnavailable } from '../../errors.ts';
import type { Forge } from '../forge.ts';
import { stateOfRun, stateOfStatus } from './checks.ts';
import { withPlainLines } from './issue.ts';
import type { Place } from './place.ts';
import { ACTOR, actor, rows, type Say, time } from './shapes.ts';

export function openReadings(
  { client, at, names }: Pick<Place, 'client' | 'at' | 'names'>,
  isKnownPull: (number: number) => boolean,
): Pick<Forge, 'readIssue' | 'readPull' | 'search' | 'requestsLeft'> {
  const say = (problem: string): void =>
    client.warn(`Something of an issue or a pull request can't be read and is left out: ${problem}.`);

  /** Null where there is none, or where it is in another repository by now. */
  const askFor = async <T>(field: string, selection: string, number: number, shape: z.ZodType<T>) => {
    const { repository } = await client.graphql(
      `query($owner: String!, $name: String!, $number: Int!) { repository(owner: $owner, name: $name) { id
        found: ${field}(number: $number) { repository { id } ${selection} } } }`,
      { owner: at.owner, name: at.repo, number },
      z.object({
        repository: z.object({ id: z.string(), found: shape.and(placed).nullable() }).nullable(),
      }),
    );
    if (repository === null)
      throw new ForgeUnavailable(`GitHub shows this token no repository ${at.owner}/${at.repo}.`);
    if (repository.found === null && field === 'pullRequest' && isKnownPull(number))
      throw new ForgeUnavailable(`GitHub's queries do not show pull request #${number} yet.`);
    return repository.found?.repository.id === repository.id ? repository.found : null;
  };

  return {
    async readIssue(number) {
      const found = await askFor('issue', ISSUE, number, issueShape(say));
      if (!found) return null;
      const { title, state, labels, comments } = found;
      return {
        ...wordsOf(found),
        number,
        title,
        state: state === 'OPEN' ? 'open' : 'closed',
        labels: (labels?.nodes ?? []).map(({ name }) => name),
        comments: part(comments, wordsOf),
      };
    },

    async readPull(number) {
      const found = await askFor('pullRequest', PULL, number, pullShape(say));
      if (!found) return null;
      const contexts = found.commits.nodes[0]?.commit.statusCheckRollup?.contexts ?? NONE;
      return {
        ...wordsOf(found),
        number,
        title: found.title,
        state: found.state === 'OPEN' && found.isDraft ? 'draft' : STATES[found.state],
        from: found.headRefName,
        into: found.baseRefName,
        checks: part(contexts, (one) =>
          one.__typename === 'CheckRun'
            ? { name: one.name, state: stateOfRun(one.status, one.conclusion) }
            : { name: one.context, state: stateOfStatus(one.state) },
        ),
        files: part(found.files ?? NONE, ({ path, additions, deletions }) => ({
          path,
          added: additions,
          deleted: deletions,
        })),
        comments: part(found.comments, wordsOf),
        reviews: part(found.reviews, (one) => ({
          ...wordsOf({ ...one, createdAt: one.submittedAt }),
          verdict: one.state.toLowerCase().replaceAll('_', ' '),
        })),
        threads: part(found.reviewThreads, ({ path, line, isResolved, comments }) => ({
          file: path,
          line,
          isResolved,
          said: part(comments, wordsOf),
        })),
      };
    },

    async search(words) {
      const [name = ''] = await names();
      const { search } = await client.graphql(
        `query($query: String!) { search(query: $query, type: ISSUE, first: ${SHOWN.found}) { issueCount nodes {
          __typename ... on Issue { ${FOUND} issueState: state } ... on PullRequest { ${FOUND} pullState: state } } } }`,
        { query: `repo:${name} ${words}` },
        z.object({ search: z.object({ issueCount: z.int(), nodes: rows(foundShape, say) }) }),
      );
      const here = search.nodes.filter(({ repository }) => repository.nameWithOwner.toLowerCase() === name);
      const left = search.nodes.length - here.length;
      return {
        shown: here.map(({ __typename, number, title, issueState, pullState }) => ({
          kind: __typename === 'Issue' ? 'issue' : 'pull',
          number,
          title,
          state: (issueState ?? pullState ?? '').toLowerCase(),
        })),
        total: Math.max(here.length, search.issueCount - left),
      };
    },

    requestsLeft: client.left,
  };
}

const STATES = { OPEN: 'open', CLOSED: 'closed', MERGED: 'merged' } as const;
const NONE = { totalCount: 0, nodes: [] };

const part = <T, R>(
  { totalCount, nodes }: { totalCount: number; nodes: T[] },
  read: (one: T) => R,
): Part<R> => ({
  shown: nodes.map(read),
  total: totalCount,
});

const wordsOf = (one: z.output<typeof words>): Words => ({
  author: one.author?.login ?? 'ghost',
  association: one.authorAssociation.toLowerCase().replaceAll('_', ' '),
  at: one.createdAt,
  text: withPlainLines(one.body),
});

const SAID = `author { ${ACTOR} } authorAssociation body`;
const WORDS = `{ totalCount nodes { ${SAID} createdAt } }`;
const ISSUE = `title state ${SAID} createdAt labels(first: 20) { nodes { name } } comments(last: ${SHOWN.comments}) ${WORDS}`;
const PULL = `title state isDraft ${SAID} createdAt headRefName baseRefName comments(last: ${SHOWN.comments}) ${WORDS}
  reviews(last: ${SHOWN.reviews}) { totalCount nodes { ${SAID} state submittedAt } }
  reviewThreads(last: ${SHOWN.threads}) { totalCount nodes { path line isResolved comments(first: ${SHOWN.replies}) ${WORDS} } }
  files(first: ${SHOWN.files}) { totalCount nodes { path additions deletions } }
  commits(last: 1) { nodes { commit { statusCheckRollup { contexts(first: ${SHOWN.checks}) { totalCount nodes { __typename
    ... on CheckRun { name status conclusion } ... on StatusContext { context state } } } } } } }`;
const FOUND = 'number title repository { nameWithOwner }';

const placed = z.object({ repository: z.object({ id: z.string() }) });
const words = z.object({
  author: actor,
  authorAssociation: z.string(),
  body: z.string(),
  createdAt: time.nullable(),
});
const listOf = <T extends z.ZodType>(shape: T, say: Say) =>
  z.object({ totalCount: z.int(), nodes: rows(shape, say) });

const issueShape = (say: Say) =>
  words.extend({
    title: z.string(),
    state: z.string(),
    labels: z.object({ nodes: rows(z.object({ name: z.string() }), say) }).nullable(),
    comments: listOf(words, say),
  });

const check = z.union([
  z.object({
    __typename: z.literal('CheckRun'),
    name: z.string(),
    status: z.string(),
    conclusion: z.string().nullable(),
  }),
  z.object({ __typename: z.literal('StatusContext'), context: z.string(), state: z.string() }),
]);

const pullShape = (say: Say) =>
  words.extend({
    title: z.string(),
    state: z.enum(['OPEN', 'CLOSED', 'MERGED']),
    isDraft: z.boolean(),
    headRefName: z.string(),
    baseRefName: z.string(),
    comments: listOf(words, say),
    reviews: listOf(
      words.omit({ createdAt: true }).extend({ state: z.string(), submittedAt: time.nullable() }),
      say,
    ),
    reviewThreads: listOf(
      z.object({
        path: z.string(),
        line: z.int().nullable(),
        isResolved: z.boolean(),
        comments: listOf(words, say),
      }),
      say,
    ),
    files: listOf(z.object({ path: z.string(), additions: z.int(), deletions: z.int() }), say).nullable(),
    commits: z.object({
      nodes: z.array(
        z.object({
          commit: z.object({ statusCheckRollup: z.object({ contexts: listOf(check, say) }).nullable() }),
        }),
      ),
    }),
  });

const foundShape = z.object({
  __typename: z.string(),
  number: z.int(),
  title: z.string(),
  issueState: z.string().optional(),
  pullState: z.string().optional(),
  repository: z.object({ nameWithOwner: z.string() }),
});
