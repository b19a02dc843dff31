/** What we read of GitHub's answers. Anything else in them does not concern us; anything missing is an error here. */
import { z } from 'zod';

const login = z.object({ login: z.string() }).nullable();
const time = z.string().transform((text) => Date.parse(text));

export const nothing = z.unknown();

export const labelsShape = z.array(
  z
    .union([z.string(), z.object({ name: z.string() })])
    .transform((one) => (typeof one === 'string' ? one : one.name)),
);

export const issueShape = z.object({
  number: z.int(),
  title: z.string(),
  user: login,
  body: z.string().nullish(),
  state: z.enum(['open', 'closed']),
  labels: labelsShape,
  created_at: time,
  updated_at: time,
  pull_request: z.unknown().optional(),
  issue_dependencies_summary: z.object({ total_blocked_by: z.int().default(0) }).nullish(),
  sub_issues_summary: z.object({ total: z.int().default(0) }).nullish(),
  parent_issue_url: z.string().nullish(),
});
export type IssueRow = z.output<typeof issueShape>;

export const labelShape = z.object({ name: z.string() });

export const numberShape = z.object({ number: z.int() });

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
  pull_request_url: z.string().optional(),
  path: z.string().optional(),
  line: z.int().nullish(),
  original_commit_id: z.string().optional(),
  in_reply_to_id: z.int().optional(),
});
export type PlacedComment = z.output<typeof placedCommentShape>;

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
  head: z.object({
    ref: z.string(),
    sha: z.string(),
    repo: z.object({ full_name: z.string() }).nullable(),
  }),
});
export type PullRow = z.output<typeof pullShape>;

export const mergeShape = z.object({ sha: z.string() });

export const reviewShape = z.object({ id: z.int(), user: login, body: z.string().nullish() });

export const statusShape = z.object({
  statuses: z.array(z.object({ context: z.string(), state: z.string(), description: z.string().nullish() })),
});

export const repositoryShape = z.object({
  full_name: z.string(),
  default_branch: z.string(),
  archived: z.boolean().default(false),
  has_issues: z.boolean().default(true),
  allow_squash_merge: z.boolean().optional(),
  allow_merge_commit: z.boolean().optional(),
  allow_rebase_merge: z.boolean().optional(),
  permissions: z.object({ push: z.boolean().default(false), triage: z.boolean().default(false) }).optional(),
});

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

export const rulesShape = z.array(
  z.object({ type: z.string(), parameters: z.record(z.string(), z.unknown()).optional() }),
);

const actor = z.object({ login: z.string() }).nullable();

/** One issue's history of labels, and when its body was edited and its title changed last. */
export const historyShape = z.object({
  number: z.int(),
  lastEditedAt: time.nullable(),
  /** Asked for only where a field of a project gives the priority. */
  projectItems: z
    .object({
      nodes: z.array(
        z.object({ fieldValueByName: z.object({ name: z.string().optional() }).nullable() }).nullable(),
      ),
    })
    .optional(),
  timelineItems: z.object({
    nodes: z.array(z.object({ createdAt: time, actor, label: z.object({ name: z.string() }) })),
  }),
  renames: z.object({ nodes: z.array(z.object({ createdAt: time })) }),
});
export type History = z.output<typeof historyShape>;

const remark = z.object({ databaseId: z.int(), author: actor, body: z.string(), createdAt: time });

/** All that is said about a pull request, by people and by CI, in one answer. */
export const pullFactsShape = z.object({
  number: z.int(),
  id: z.string(),
  state: z.enum(['OPEN', 'CLOSED', 'MERGED']),
  isDraft: z.boolean(),
  isInMergeQueue: z.boolean(),
  /** GitHub's own judgement where reviews are required; null where they are not. */
  reviewDecision: z.string().nullable(),
  headRefName: z.string(),
  mergeCommit: z.object({ oid: z.string() }).nullable(),
  comments: z.object({ nodes: z.array(remark) }),
  reviews: z.object({
    nodes: z.array(
      z.object({
        databaseId: z.int(),
        author: actor,
        authorCanPushToRepository: z.boolean(),
        state: z.string(),
        body: z.string(),
        commit: z.object({ oid: z.string() }).nullable(),
        submittedAt: time.nullable(),
      }),
    ),
  }),
  reviewThreads: z.object({
    nodes: z.array(
      z.object({
        id: z.string(),
        isResolved: z.boolean(),
        path: z.string(),
        line: z.int().nullable(),
        comments: z.object({
          nodes: z.array(
            remark.extend({
              originalCommit: z.object({ oid: z.string() }).nullable(),
              pullRequestReview: z.object({ databaseId: z.int() }).nullable(),
            }),
          ),
        }),
      }),
    ),
  }),
  commits: z.object({
    nodes: z.array(
      z.object({
        commit: z.object({
          oid: z.string(),
          statusCheckRollup: z
            .object({
              contexts: z.object({
                nodes: z.array(
                  z.union([
                    z.object({
                      __typename: z.literal('CheckRun'),
                      databaseId: z.int(),
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
                  ]),
                ),
              }),
            })
            .nullable(),
        }),
      }),
    ),
  }),
});
export type PullFacts = z.output<typeof pullFactsShape>;

/** Fields asked for under one alias each (`i12: issue(number: 12)`); a number that names nothing is null. */
export const repositoryOf = <T extends z.ZodType>(shape: T) =>
  z.object({ repository: z.record(z.string(), shape.nullable()).nullable() });
