/**
 * GitHub's own words when it refuses, each with where they were seen. The adapter goes by some of them, so none is made up
 * here; `{name}` stands for what differs.
 */
const DOCS = 'https://docs.github.com/en';

const ERROR_TEXTS = {
  badCredentials: [
    'Bad credentials',
    `${DOCS}/rest/authentication/authenticating-to-the-rest-api#failed-login-limit`,
  ],
  notFound: ['Not Found', `${DOCS}/rest/using-the-rest-api/troubleshooting-the-rest-api#404-not-found`],
  notByToken: [
    'Resource not accessible by personal access token',
    'https://github.com/JiRaska/open-bank-oss/pull/4816',
  ],
  notByApp: [
    'Resource not accessible by integration',
    'https://github.com/actions/create-github-app-token/issues/258',
  ],
  /** Not signed with this App's key, or another App's number. */
  notSigned: [
    'A JSON web token could not be decoded',
    'https://github.com/actions/create-github-app-token/issues/153',
  ],
  fromTheFuture: [
    "'Issued at' claim ('iat') must be an Integer representing the time that the assertion was issued",
    'https://github.com/tibdex/github-app-token/issues/102',
  ],
  expired: [
    "'Expiration time' claim ('exp') must be a numeric value representing the future time at which the assertion expires",
    'https://github.com/sigmavirus24/github3.py/issues/1050',
  ],
  goodForTooLong: [
    "'Expiration time' claim ('exp') is too far in the future",
    'https://github.com/octokit/auth-app.js/issues/698',
  ],
  needsAdmin: [
    'Must have admin rights to Repository.',
    'https://github.com/product-os/jellyfish/issues/8223',
  ],
  archived: ['Repository was archived so is read-only.', 'https://github.com/mozilla/fxa/pull/293'],
  issuesDisabled: ['Issues are disabled for this repo', 'https://github.com/ossf/allstar/issues/64'],
  issueDeleted: ['This issue was deleted', `${DOCS}/rest/issues/issues#get-an-issue`],
  rateLimit: [
    'API rate limit exceeded for user ID {id}.',
    `${DOCS}/rest/using-the-rest-api/rate-limits-for-the-rest-api#exceeding-the-rate-limit`,
  ],
  secondaryLimit: [
    'You have exceeded a secondary rate limit. Please wait a few minutes before you try again. If you reach out to GitHub Support for help, please include the request ID {id}.',
    'https://github.com/github-changelog-generator/github-changelog-generator/issues/993',
  ],
  /** With HTTP 200 and the type RATE_LIMIT, also seen as RATE_LIMITED: https://github.com/github/docs/issues/22607. */
  graphqlLimit: [
    'API rate limit already exceeded for user ID {id}.',
    'https://github.com/yanyongyu/githubkit/issues/271',
  ],
  /** With HTTP 200, the type RESOURCE_LIMITS_EXCEEDED, and null or a part for data. */
  resourceLimit: [
    'Resource limits for this query exceeded.',
    'https://github.com/yoshi389111/github-profile-3d-contrib/issues/163',
  ],
  /** With HTTP 502, also seen with 200; without a type, and with null for data. */
  queryEnded: [
    'Something went wrong while executing your query. This may be the result of a timeout, or it could be a GitHub bug. Please include `{id}` when reporting this issue.',
    'https://github.com/gayanvoice/top-github-users/issues/107',
  ],

  invalid: [
    'Validation Failed',
    `${DOCS}/rest/using-the-rest-api/troubleshooting-the-rest-api#validation-failed`,
  ],
  unprocessable: ['Unprocessable Entity', 'https://github.com/hubtty/hubtty/issues/33'],
  noBranch: ['Branch not found', 'https://github.com/PyGithub/PyGithub/pull/1259'],
  noObject: ['Object does not exist', 'https://github.com/octokit/octokit.js/issues/562'],
  noReference: ['Reference does not exist', 'https://github.com/jcabi/jcabi-github/issues/1335'],
  /** Seen of comments, and taken to be the same for issues and pull requests. */
  longBody: [
    'Body is too long (maximum is {count} characters)',
    'https://github.com/easybuilders/easybuild-easyconfigs/pull/24647',
  ],
  longDescription: [
    'description is too long (maximum is 140 characters)',
    'https://github.com/zalando/zappr/issues/378',
  ],
  noCommit: ['No commit found for SHA: {sha}', 'https://github.com/rust-lang/homu/issues/141'],
  noLabel: ['Label does not exist', 'https://github.com/googleapis/repo-automation-bots/issues/1084'],
  notProtected: ['Branch not protected', 'https://github.com/sigmavirus24/github3.py/issues/973'],
  noDrafts: [
    'Draft pull requests are not supported in this repository.',
    'https://github.com/SWE-agent/SWE-agent/issues/179',
  ],
  noCommitsBetween: [
    'No commits between {base} and {head}',
    'https://github.com/exercism/website/issues/8059',
  ],
  branchDeleted: [
    'state cannot be changed. The {branch} branch has been deleted.',
    'https://github.com/pytorch/pytorch/pull/114423',
  ],
  staysMerged: [
    'state cannot be changed. The pull request cannot be reopened.',
    'https://github.com/openlinker-project/openlinker/pull/3242',
  ],
  pullExists: [
    'A pull request already exists for {head}.',
    'https://github.com/vsoch/pull-request-action/issues/86',
  ],
  noSuchPath: ['Path could not be resolved', 'https://github.com/warpdotdev/oz-for-oss/issues/310'],
  noSuchLine: ['Line could not be resolved', 'https://github.com/max-sixty/tend/pull/252'],
  ownPull: ['Can not {verb} your own pull request', 'https://github.com/hubtty/hubtty/issues/33'],

  notMergeable: [
    'Pull Request is not mergeable',
    `${DOCS}/rest/pulls/pulls#merge-a-pull-request--status-codes`,
  ],
  draft: [
    'Pull Request is still a draft',
    'https://github.com/alexwlchan/auto_merge_my_pull_requests/issues/1',
  ],
  noMergeCommits: [
    'Merge commits are not allowed on this repository.',
    'https://github.com/bazelbuild/continuous-integration/pull/2178',
  ],
  noSuchMerges: [
    '{method} merges are not allowed on this repository.',
    'https://github.com/ridedott/merge-me-action/issues/329',
  ],
  headModified: [
    'Head branch was modified. Review and try the merge again.',
    'https://github.com/StefanMaron/BusinessCentral.AL.Runner/pull/3391',
  ],
  baseModified: [
    'Base branch was modified. Review and try the merge again.',
    'https://github.com/NixOS/nixpkgs-merge-bot/issues/179',
  ],
  headOutOfDate: [
    'Head branch is out of date. Review and try the merge again.',
    'https://github.com/gabrielkoerich/orch/pull/3373',
  ],
  checkExpected: [
    'Required status check "{name}" is expected.',
    'https://github.com/pascalgn/automerge-action/issues/35',
  ],
  checkRunning: [
    'Required status check "{name}" is in progress.',
    'https://github.com/pascalgn/automerge-action/issues/35',
  ],
  /** Also where all are green and the head is behind, and has to be up to date. */
  checksExpected: [
    '{count} of {count} required status checks are expected.',
    'https://github.com/RakuenSoftware/aimee/pull/2460',
  ],
  checkFailing: [
    'Required status check "{name}" is failing.',
    `${DOCS}/pull-requests/collaborating-with-pull-requests/collaborating-on-repositories-with-code-quality-features/troubleshooting-required-status-checks`,
  ],
  changesRequested: [
    'Changes have been requested.',
    `${DOCS}/repositories/configuring-branches-and-merges-in-your-repository/managing-protected-branches/about-protected-branches#require-pull-request-reviews-before-merging`,
  ],
  codeOwners: ['Waiting on code owner review from {owners}.', 'https://github.com/github/app/issues/93'],
  openThreads: [
    'A conversation must be resolved before this pull request can be merged.',
    'https://github.com/marcusquinn/aidevops/issues/25338',
  ],
  linearHistory: [
    'This branch must not contain merge commits.',
    'https://github.com/LeapYear/mergit#this-branch-must-not-contain-merge-commits',
  ],
  ruleViolations: ['Repository rule violations found\n\n{rules}', 'https://github.com/anza-xyz/kit/pull/94'],
  queueOnly: ['Changes must be made through the merge queue', 'https://github.com/anza-xyz/kit/pull/94'],
  approvals: [
    'At least {count} approving review is required by reviewers with write access.',
    'https://github.com/Reviewable/Reviewable/issues/561',
  ],
  lastPush: [
    'New changes require approval from someone other than the last pusher.',
    'https://github.com/appolon1908-hue/kyqra-crawler/issues/29',
  ],
  unsigned: [
    'Commits must have verified signatures.',
    'https://github.com/appolon1908-hue/kyqra-crawler/issues/29',
  ],

  alreadyQueued: [
    'Pull request is already in the queue',
    'https://github.com/ClickHouse/ClickHouse/pull/109183',
  ],
  /** With the type UNPROCESSABLE. The source leaves out how the sentence ends. */
  notQueued: ['Failed to remove PR #{number}', 'https://github.com/vanillagreencom/kendex/issues/1289'],
  noSuchNode: [
    "Could not resolve to a node with the global id of '{id}'",
    'https://github.com/pl-strflt/projects-migration/issues/1',
  ],
  noSuchRepository: [
    "Could not resolve to a Repository with the name '{name}'.",
    'https://github.com/cli/cli/issues/436',
  ],
  mayNotExecute: [
    '{login} does not have the correct permissions to execute `{mutation}`',
    'https://github.com/bazel-contrib/publish-to-bcr/pull/260',
  ],
  /** With the type INSUFFICIENT_SCOPES, and no data. */
  lacksScope: [
    "Your token has not been granted the required scopes to execute this query. The '{field}' field requires one of the following scopes: ['{scope}'], but your token has only been granted the: [{granted}] scopes. Please modify your token's scopes at: https://github.com/settings/tokens.",
    'https://github.com/actions/add-to-project/issues/139',
  ],
  noSuchPull: [
    'Could not resolve to a PullRequest with the number of {number}.',
    'https://github.com/peter-evans/enable-pull-request-automerge/issues/312',
  ],
} as const satisfies Record<string, readonly [words: string, seen: string]>;

export function says(what: keyof typeof ERROR_TEXTS, values: Record<string, string | number> = {}): string {
  return ERROR_TEXTS[what][0].replaceAll(/\{(\w+)\}/g, (_whole, name: string) => String(values[name]));
}
