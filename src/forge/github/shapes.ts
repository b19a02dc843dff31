/**
 * What we read of GitHub's answers. Anything else in them does not concern us; anything missing is an error here, which
 * costs no more than the row it is missing in.
 */
import { z } from 'zod';

/** Told of a row that was left out. */
export type Say = (problem: string) => void;

/** The first thing that is wrong, and where. */
export function whatIsWrong({ issues: [first] }: z.ZodError): string {
  return first === undefined ? 'nothing' : `${first.path.join('.') || 'all of it'}: ${first.message}`;
}

const login = z.object({ login: z.string() }).nullable();
export const time = z.string().transform((text) => Date.parse(text));

export const nothing = z.unknown();

export const labelsShape = z.array(
  z
    .union([z.string(), z.object({ name: z.string() })])
    .transform((one) => (typeof one === 'string' ? one : one.name)),
);

export const issueShape = z.object({
  number: z.int(),
  node_id: z.string(),
  title: z.string(),
  user: login,
  body: z.string().nullish(),
  html_url: z.string().optional(),
  repository_url: z.string().optional(),
  state: z.enum(['open', 'closed']),
  labels: labelsShape,
  created_at: time,
  updated_at: time,
  comments: z.int().default(0),
  pull_request: z.unknown().optional(),
  issue_dependencies_summary: z
    .object({ blocked_by: z.int().optional(), total_blocked_by: z.int().default(0) })
    .nullish(),
  sub_issues_summary: z.object({ total: z.int().default(0) }).nullish(),
  parent_issue_url: z.string().nullish(),
});
export type IssueRow = z.output<typeof issueShape>;

export const labelShape = z.object({ name: z.string(), node_id: z.string() });

/** Nothing where there is no such label: it is then looked for in the list. */
export const labelIdShape = z
  .object({ id: z.string() })
  .transform(({ id }) => id)
  .optional()
  .catch(undefined);

/** More than a hundred labels is more than an issue may have. */
export const swapShape = z.object({
  removeLabelsFromLabelable: z.object({
    labelable: z.object({ labels: z.object({ nodes: z.array(z.object({ name: z.string() })) }) }),
  }),
});

export const numberShape = z.object({ number: z.int() });

/** An issue that another one waits for; without the address of its repository it is of the same one. */
export const blockerShape = z.object({
  number: z.int(),
  state: z.enum(['open', 'closed']),
  repository_url: z.string().optional(),
});

export const relativeShape = z.object({
  number: z.int(),
  title: z.string(),
  state: z.enum(['open', 'closed']),
});

export const commentShape = z.object({
  id: z.int(),
  user: login,
  body: z
    .string()
    .nullish()
    .transform((body) => body ?? ''),
  created_at: z.string(),
});

/** A comment of any issue or pull request, as the lists over the whole repository have it. */
export const placedCommentShape = commentShape.extend({
  html_url: z.string().optional(),
  issue_url: z.string().optional(),
  in_reply_to_id: z.int().optional(),
});
export type PlacedComment = z.output<typeof placedCommentShape>;

export const runShape = z.object({ id: z.int() });

/** A check run over REST, and a job of GitHub Actions, which is one. */
export const checkRunShape = z.object({
  id: z.int(),
  name: z.string(),
  status: z.string(),
  conclusion: z.string().nullable(),
  details_url: z.string().nullish(),
  html_url: z.string().nullish(),
  app: z.object({ slug: z.string().nullish() }).nullish(),
});

export const jobShape = z.object({
  name: z.string(),
  steps: z.array(z.object({ name: z.string(), conclusion: z.string().nullish() })).nullish(),
});

export const branchShape = z.object({
  protection: z
    .object({
      enabled: z.boolean().default(false),
      required_status_checks: z.object({ contexts: z.array(z.string()).default([]) }).nullish(),
    })
    .nullish(),
});

const enabled = z.object({ enabled: z.boolean() }).nullish();

/** Classic protection of a branch, as administrators see it. */
export const protectionShape = z.object({
  required_status_checks: z.object({ strict: z.boolean().default(false) }).nullish(),
  required_pull_request_reviews: z
    .object({
      required_approving_review_count: z.int().default(0),
      require_code_owner_reviews: z.boolean().default(false),
      require_last_push_approval: z.boolean().default(false),
    })
    .nullish(),
  required_conversation_resolution: enabled,
  required_linear_history: enabled,
  required_signatures: enabled,
});

/** The rule `pull_request` of a ruleset. */
export const pullRuleShape = z.object({
  required_approving_review_count: z.int().default(0),
  require_code_owner_review: z.boolean().default(false),
  require_last_push_approval: z.boolean().default(false),
  required_review_thread_resolution: z.boolean().default(false),
  allowed_merge_methods: z.array(z.string()).optional(),
});

export const pullShape = z.object({
  number: z.int(),
  title: z.string(),
  node_id: z.string(),
  state: z.enum(['open', 'closed']),
  draft: z.boolean().optional(),
  body: z
    .string()
    .nullish()
    .transform((body) => body ?? ''),
  user: login,
  merged_at: z.string().nullable(),
  merge_commit_sha: z.string().nullable(),
  /** Shown of one pull request alone, and computed late: `unknown` until then. */
  mergeable_state: z.string().optional(),
  head: z.object({
    ref: z.string(),
    sha: z.string(),
    repo: z.object({ full_name: z.string() }).nullable(),
  }),
});
export type PullRow = z.output<typeof pullShape>;

export const mergeShape = z.object({ sha: z.string() });

export const statusShape = z.object({
  context: z.string(),
  state: z.string(),
  description: z.string().nullish(),
  target_url: z.string().nullish(),
});

/** Left out where the token may not see the settings of the repository. */
const allowedShape = z.object({
  allow_squash_merge: z.boolean().optional(),
  allow_merge_commit: z.boolean().optional(),
  allow_rebase_merge: z.boolean().optional(),
});

export const repositoryShape = allowedShape.extend({
  full_name: z.string(),
  default_branch: z.string(),
  archived: z.boolean().default(false),
  has_issues: z.boolean().default(true),
  permissions: z.object({ push: z.boolean().default(false), triage: z.boolean().default(false) }).optional(),
});
export type RepositoryRow = z.output<typeof repositoryShape>;

export const permissionShape = z.object({ permission: z.string(), role_name: z.string().optional() });

export const hookShape = z.object({
  active: z.boolean(),
  events: z.array(z.string()),
  config: z.object({ url: z.string().optional() }),
  last_response: z
    .object({ code: z.int().nullable(), status: z.string().nullable(), message: z.string().nullable() })
    .nullish(),
});

export const userShape = z.object({ login: z.string() });

/** With `[bot]`, unlike the authors in other answers of GraphQL's. */
export const viewerShape = z.object({ viewer: userShape });

export const ruleShape = z.object({
  type: z.string(),
  parameters: z.record(z.string(), z.unknown()).optional(),
});

/** REST calls an app's account `name[bot]`, GraphQL `name`, which may be the name of a person as well. */
export const actor = z
  .object({ __typename: z.string(), login: z.string() })
  .transform(({ __typename, login }) => ({
    login: __typename === 'Bot' && !login.endsWith('[bot]') ? `${login}[bot]` : login,
  }))
  .nullable();

/** As asked for: `{ ${ACTOR} }`. */
export const ACTOR = '__typename login';

/** Rows of a connection. One that is null may not be seen; one that can't be read is left out. */
export const rows = <T extends z.ZodType>(shape: T, say: Say) =>
  z.array(z.unknown()).transform((all) =>
    all.flatMap((one): z.output<T>[] => {
      if (one === null) return [];
      const found = shape.safeParse(one);
      if (found.success) return [found.data];
      say(whatIsWrong(found.error));
      return [];
    }),
  );

const earlier = z.object({ hasPreviousPage: z.boolean(), startCursor: z.string().nullable() });
const later = z.object({ hasNextPage: z.boolean(), endCursor: z.string().nullable() });

/** One issue's text, its history of labels, and when its body was edited and its title changed last. */
export const historyShape = (say: Say) =>
  z.object({
    number: z.int(),
    title: z.string(),
    body: z.string(),
    updatedAt: time,
    lastEditedAt: time.nullable(),
    /** The newest alone, with the whole text it made; null where that was taken out of the history. */
    userContentEdits: z
      .object({
        nodes: z.array(z.object({ editedAt: time, diff: z.string().nullable() }).nullable()).nullable(),
      })
      .nullish(),
    /** Asked for only where a field of a project gives the priority; null where this token may not see it. */
    projectItems: z
      .object({
        nodes: rows(
          z.object({ fieldValueByName: z.object({ name: z.string().optional() }).nullable() }),
          say,
        ),
      })
      .nullish(),
    timelineItems: labellingsShape(say),
    renames: z.object({ nodes: z.array(z.object({ createdAt: time, currentTitle: z.string() })) }),
  });
export type History = z.output<ReturnType<typeof historyShape>>;

/** Of an issue, as asked for with the name of the field. */
export const PROJECT_FIELD = `projectItems(first: 10) { nodes { fieldValueByName(name: $field) {
  ... on ProjectV2ItemFieldSingleSelectValue { name } } } }`;

export const labellingsShape = (say: Say) =>
  z.object({
    nodes: rows(z.object({ createdAt: time, actor, label: z.object({ name: z.string() }) }), say),
    pageInfo: earlier,
  });

/** A number that may be greater than GraphQL's own: sent as text. */
const bigId = z.union([z.string().regex(/^\d+$/), z.int()]).transform(String);

const remark = z.object({ fullDatabaseId: bigId, author: actor, body: z.string(), createdAt: time });

export const remarksShape = (say: Say) => z.object({ nodes: rows(remark, say), pageInfo: earlier });

const review = z.object({
  fullDatabaseId: bigId,
  author: actor,
  authorCanPushToRepository: z.boolean(),
  state: z.string(),
  body: z.string(),
  commit: z.object({ oid: z.string() }).nullable(),
  submittedAt: time.nullable(),
});

export const reviewsShape = (say: Say) => z.object({ nodes: rows(review, say), pageInfo: earlier });

const threadRemark = remark.extend({
  originalCommit: z.object({ oid: z.string() }).nullable(),
  pullRequestReview: z.object({ fullDatabaseId: bigId }).nullable(),
});

const threadRemarksShape = (say: Say) => z.object({ nodes: rows(threadRemark, say), pageInfo: later });

export const threadPageShape = (say: Say) =>
  z.object({ node: z.object({ comments: threadRemarksShape(say) }).nullable() });

export const threadsShape = (say: Say) =>
  z.object({
    nodes: rows(
      z.object({
        id: z.string(),
        isResolved: z.boolean(),
        path: z.string(),
        line: z.int().nullable(),
        comments: threadRemarksShape(say),
      }),
      say,
    ),
    pageInfo: earlier,
  });

const context = z.union([
  z.object({
    __typename: z.literal('CheckRun'),
    name: z.string(),
    status: z.string(),
    conclusion: z.string().nullable(),
    detailsUrl: z.string().nullable(),
    isRequired: z.boolean(),
    checkSuite: z.object({ app: z.object({ slug: z.string() }).nullable() }).nullable(),
  }),
  z.object({
    __typename: z.literal('StatusContext'),
    context: z.string(),
    state: z.string(),
    description: z.string().nullable(),
    targetUrl: z.string().nullable(),
    isRequired: z.boolean(),
  }),
]);

export const headShape = (say: Say) =>
  z.object({
    nodes: z.array(
      z.object({
        commit: z.object({
          oid: z.string(),
          statusCheckRollup: z
            .object({
              contexts: z
                .object({ nodes: z.array(z.unknown()), pageInfo: later })
                .transform(({ nodes, pageInfo }) => {
                  const found = rows(context, say).parse(nodes);
                  return { nodes: found, unread: nodes.length - found.length, pageInfo };
                }),
            })
            .nullable(),
        }),
      }),
    ),
  });

/** All that is said about a pull request, by people and by CI, in one answer. */
export const pullFactsShape = (say: Say) =>
  z.object({
    number: z.int(),
    id: z.string(),
    title: z.string(),
    body: z.string(),
    updatedAt: time,
    author: actor,
    state: z.enum(['OPEN', 'CLOSED', 'MERGED']),
    isDraft: z.boolean(),
    isInMergeQueue: z.boolean(),
    /** Its base has a merge queue, by a ruleset or by classic protection. */
    isMergeQueueEnabled: z.boolean(),
    /** The last time it was put into that queue or taken out. */
    queueEvents: z.object({
      nodes: rows(
        z.object({ __typename: z.string(), createdAt: time.optional(), reason: z.string().nullish() }),
        say,
      ),
    }),
    /** GitHub's own judgement where reviews are required; null where they are not. */
    reviewDecision: z.string().nullable(),
    headRefName: z.string(),
    mergeCommit: z.object({ oid: z.string() }).nullable(),
    baseRepository: allowedShape.nullable(),
    comments: remarksShape(say),
    reviews: reviewsShape(say),
    reviewThreads: threadsShape(say),
    commits: headShape(say),
  });
export type PullFacts = z.output<ReturnType<typeof pullFactsShape>> & {
  /** There are checks that this token may not read, or that can't be read. */
  hasUnreadChecks: boolean;
};

/** Fields asked for under one alias each (`i12: issue(number: 12)`); a number that names nothing is null. */
export const aliasesShape = z.object({ repository: z.record(z.string(), z.unknown()).nullable() });
export type Aliases = z.output<typeof aliasesShape>;
