/** Rows as the REST API shows them. Addresses that say nothing of what happened are added where answers are sent. */
import { mergeability } from './merging.ts';
import {
  branchTip,
  type CheckRun,
  type Comment,
  fullName,
  headOf,
  type IssueRow,
  type Label,
  type PullRow,
  permissionOf,
  type Review,
  type Status,
  type Thread,
  type World,
} from './world.ts';

/** Whole seconds, as GitHub keeps time. */
export const iso = (at: number): string =>
  new Date(Math.floor(at / 1000) * 1000).toISOString().replace('.000', '');
export const isoOrNull = (at: number | null): string | null => (at === null ? null : iso(at));

export function userJson(world: World, login: string) {
  const user = world.users.get(login.toLowerCase());
  return {
    login: user?.login ?? 'ghost',
    id: user?.id ?? 10137,
    type: user?.type ?? 'User',
    gravatar_id: '',
    site_admin: false,
  };
}

/** What the account of the token reads about itself. */
export function ownUserJson(world: World, login: string) {
  return {
    ...userJson(world, login),
    user_view_type: 'public',
    name: null,
    company: null,
    blog: '',
    location: null,
    email: null,
    hireable: null,
    bio: null,
    public_repos: 0,
    public_gists: 0,
    followers: 0,
    following: 0,
    created_at: iso(0),
    updated_at: iso(0),
  };
}

export function association(world: World, login: string): string {
  if (login === world.owner) return 'OWNER';
  const given = world.permissions.get(login.toLowerCase()) ?? 'none';
  return given === 'none' ? 'NONE' : 'COLLABORATOR';
}

export const labelId = ({ id }: Pick<Label, 'id'>): string => `LA_${id}`;

export const labelJson = (label: Label) => ({
  id: label.id,
  node_id: labelId(label),
  name: label.name,
  color: label.color,
  description: label.description,
  default: false,
});

export function labelsJson(world: World, names: readonly string[]) {
  return names.map((name) =>
    labelJson(world.labels.get(name.toLowerCase()) ?? { id: 0, name, color: 'ededed', description: null }),
  );
}

export const partsOf = (world: World, { number }: IssueRow): IssueRow[] =>
  [...world.issues.values()].filter((one) => one.parent === number);

export function issueJson(world: World, issue: IssueRow) {
  const blockers = [
    ...issue.blockedBy.map((number) => world.issues.get(number)),
    ...issue.blockedElsewhere.map((name) => world.elsewhere.get(name) ?? world.hidden.get(name)),
  ];
  const all = [...world.issues.values()];
  const blocked = all.filter((one) => one.blockedBy.includes(issue.number));
  const parts = partsOf(world, issue);
  const completed = parts.filter((part) => part.state === 'closed').length;
  return {
    id: issue.number + 100_000,
    node_id: nodeId(issue),
    repository_url: apiOf(world),
    number: issue.number,
    title: issue.title,
    body: issue.body === '' ? null : issue.body,
    user: userJson(world, issue.user),
    author_association: association(world, issue.user),
    state: issue.state,
    state_reason: issue.stateReason,
    html_url: `${webOf(world)}/${issue.pull ? 'pull' : 'issues'}/${issue.number}`,
    labels: labelsJson(world, issue.labels),
    comments: issue.comments.length,
    created_at: iso(issue.createdAt),
    updated_at: iso(issue.updatedAt),
    closed_at: isoOrNull(issue.closedAt),
    locked: false,
    assignee: null,
    milestone: null,
    issue_dependencies_summary: {
      blocked_by: blockers.filter((blocker) => blocker?.state === 'open').length,
      total_blocked_by: blockers.length,
      blocking: blocked.filter((one) => one.state === 'open').length,
      total_blocking: blocked.length,
    },
    sub_issues_summary: {
      total: parts.length,
      completed,
      percent_completed: parts.length === 0 ? 0 : Math.floor((100 * completed) / parts.length),
    },
    parent_issue_url: issue.parent === null ? null : `${apiOf(world)}/issues/${issue.parent}`,
    ...(issue.pull
      ? {
          draft: issue.pull.draft,
          pull_request: {
            url: `${apiOf(world)}/pulls/${issue.number}`,
            html_url: `${webOf(world)}/pull/${issue.number}`,
            diff_url: `${webOf(world)}/pull/${issue.number}.diff`,
            patch_url: `${webOf(world)}/pull/${issue.number}.patch`,
            merged_at: isoOrNull(issue.pull.mergedAt),
          },
        }
      : {}),
  };
}

/** An issue of another repository; null when nobody may read it. */
export function elsewhereJson(world: World, name: string) {
  const [repository = '', number] = name.split('#');
  const found = world.elsewhere.get(name);
  if (!found) return null;
  return {
    id: Number(number) + 300_000,
    node_id: `I_${name}`,
    repository_url: `${world.url}/api/v3/repos/${repository}`,
    number: Number(number),
    title: name,
    body: null,
    user: userJson(world, repository.split('/')[0]!),
    author_association: 'NONE',
    state: found.state,
    state_reason: null,
    labels: [],
    comments: 0,
    created_at: iso(0),
    updated_at: iso(0),
    closed_at: found.state === 'open' ? null : iso(0),
    locked: false,
    assignee: null,
    milestone: null,
  };
}

export async function pullJson(world: World, issue: IssueRow, pull: PullRow, alone: boolean) {
  const name = fullName(world);
  const head = await headOf(world, pull);
  const base = (await branchTip(world, pull.baseRef)) ?? pull.lastHead;
  const owner = pull.headRepo.split('/')[0]!;
  const shown = {
    id: issue.number + 200_000,
    node_id: nodeId(issue),
    number: issue.number,
    title: issue.title,
    body: issue.body === '' ? null : issue.body,
    user: userJson(world, issue.user),
    author_association: association(world, issue.user),
    state: issue.state,
    draft: pull.draft,
    labels: labelsJson(world, issue.labels),
    created_at: iso(issue.createdAt),
    updated_at: iso(issue.updatedAt),
    closed_at: isoOrNull(issue.closedAt),
    merged_at: isoOrNull(pull.mergedAt),
    merge_commit_sha: pull.mergeCommit,
    locked: false,
    assignee: null,
    milestone: null,
    auto_merge: null,
    head: {
      ref: pull.headRef,
      sha: head,
      label: `${owner}:${pull.headRef}`,
      user: userJson(world, owner),
      repo: {
        ...placeJson(world),
        name: pull.headRepo.split('/')[1]!,
        full_name: pull.headRepo,
        fork: pull.headRepo !== name,
        owner: userJson(world, owner),
      },
    },
    base: {
      ref: pull.baseRef,
      sha: base,
      label: `${world.owner}:${pull.baseRef}`,
      user: userJson(world, world.owner),
      repo: placeJson(world),
    },
  };
  if (!alone) return shown;
  const { mergeable, state } = await mergeability(world, issue, pull);
  return {
    ...shown,
    ...(await sizeOf(world, base, head)),
    comments: issue.comments.length,
    review_comments: pull.threads.reduce((sum, thread) => sum + thread.comments.length, 0),
    maintainer_can_modify: false,
    merged: pull.merged,
    merged_by: pull.mergedBy === null ? null : userJson(world, pull.mergedBy),
    mergeable,
    mergeable_state: state,
  };
}

const sizes = new Map<
  string,
  { commits: number; additions: number; deletions: number; changed_files: number }
>();

/** Of a head above its base; two commits always have the same, in whichever repository. */
async function sizeOf(world: World, base: string, head: string) {
  const key = `${base} ${head}`;
  const known = sizes.get(key);
  if (known) return known;
  const [stat, count] = [
    (await world.git(['diff', '--shortstat', `${base}...${head}`])).stdout,
    (await world.git(['rev-list', '--count', `${base}..${head}`])).stdout,
  ];
  const number = (word: string): number => Number(new RegExp(`(\\d+) ${word}`).exec(stat)?.[1] ?? 0);
  const size = {
    commits: Number(count.trim()),
    additions: number('insertion'),
    deletions: number('deletion'),
    changed_files: number('file'),
  };
  sizes.set(key, size);
  return size;
}

export function commentJson(world: World, comment: Comment, on?: IssueRow) {
  const place = on && `${on.pull ? 'pull' : 'issues'}/${on.number}`;
  return {
    id: comment.id,
    ...(on
      ? {
          html_url: `${webOf(world)}/${place}#issuecomment-${comment.id}`,
          issue_url: `${apiOf(world)}/issues/${on.number}`,
          performed_via_github_app: null,
        }
      : {}),
    user: userJson(world, comment.user),
    author_association: association(world, comment.user),
    body: comment.body,
    created_at: iso(comment.at),
    updated_at: iso(comment.editedAt ?? comment.at),
  };
}

export function reviewJson(world: World, review: Review) {
  return {
    id: review.id,
    user: userJson(world, review.user),
    author_association: association(world, review.user),
    body: review.body,
    state: review.state,
    commit_id: review.commit,
    submitted_at: iso(review.at),
  };
}

export function threadCommentsJson(world: World, thread: Thread, pull: number) {
  return thread.comments.map((comment, index) => ({
    ...commentJson(world, comment),
    pull_request_url: `${apiOf(world)}/pulls/${pull}`,
    html_url: `${webOf(world)}/pull/${pull}#discussion_r${comment.id}`,
    diff_hunk: '',
    path: thread.path,
    line: thread.line,
    side: thread.side,
    commit_id: thread.commit,
    original_commit_id: thread.commit,
    pull_request_review_id: thread.review,
    ...(index > 0 ? { in_reply_to_id: thread.comments[0]!.id } : {}),
  }));
}

/** Alone it also says who set it; among the others of its commit it does not. */
export const statusJson = (world: World, status: Status) => ({
  ...plainStatusJson(status),
  creator: userJson(world, status.user),
});

export function plainStatusJson(status: Status) {
  return {
    id: status.id,
    context: status.context,
    state: status.state,
    description: status.description,
    target_url: status.targetUrl,
    avatar_url: null,
    created_at: iso(status.at),
    updated_at: iso(status.at),
  };
}

export function checkJson(world: World, check: CheckRun) {
  return {
    id: check.id,
    name: check.name,
    head_sha: check.sha,
    status: check.status,
    conclusion: check.conclusion,
    external_id: String(check.id),
    details_url: `${webOf(world)}/actions/runs/1/job/${check.id}`,
    html_url: `${webOf(world)}/actions/runs/1/job/${check.id}`,
    check_suite: { id: 1 },
    pull_requests: [],
    started_at: iso(check.at),
    completed_at: check.status === 'completed' ? iso(check.at) : null,
    output: {
      title: null,
      summary: null,
      text: null,
      annotations_count: 0,
      annotations_url: `${apiOf(world)}/check-runs/${check.id}/annotations`,
    },
    app: {
      id: 15_368,
      slug: check.app,
      name: check.app,
      description: null,
      owner: userJson(world, world.owner),
      created_at: iso(0),
      updated_at: iso(0),
      permissions: {},
      events: [],
    },
  };
}

/** The repository as it is mentioned elsewhere. */
export function placeJson(world: World) {
  const open = [...world.issues.values()].filter((issue) => issue.state === 'open').length;
  return {
    ...mentionJson(world),
    default_branch: world.defaultBranch,
    archived: world.archived,
    disabled: false,
    has_issues: world.hasIssues,
    has_projects: true,
    has_wiki: true,
    has_pages: false,
    has_downloads: true,
    has_discussions: false,
    homepage: null,
    language: null,
    license: null,
    mirror_url: null,
    forks: 0,
    forks_count: 0,
    watchers: 0,
    watchers_count: 0,
    stargazers_count: 0,
    size: 1,
    open_issues: open,
    open_issues_count: open,
    pushed_at: iso(world.now()),
    created_at: iso(0),
    updated_at: iso(0),
  };
}

/** No more than its name and owner. */
export const mentionJson = (world: World) => ({
  id: world.id,
  name: world.name,
  full_name: fullName(world),
  private: world.isPrivate,
  owner: userJson(world, world.owner),
  description: null,
  fork: false,
});

/** Where the repository is in the API, and where people see it. */
const apiOf = (world: World): string => `${world.url}/api/v3/repos/${fullName(world)}`;
const webOf = (world: World): string => `${world.url}/${fullName(world)}`;

export function repositoryJson(world: World, user: string) {
  // An App has no role in the repository, whatever it may do there.
  const given = world.users.get(user)?.type === 'Bot' ? 'none' : permissionOf(world, user);
  const has = (levels: readonly string[]) => levels.includes(given);
  return {
    ...placeJson(world),
    subscribers_count: 0,
    network_count: 0,
    allow_merge_commit: world.mergeMethods.merge,
    allow_squash_merge: world.mergeMethods.squash,
    allow_rebase_merge: world.mergeMethods.rebase,
    delete_branch_on_merge: world.deleteBranchOnMerge,
    permissions: {
      admin: given === 'admin',
      maintain: has(['maintain', 'admin']),
      push: has(['write', 'maintain', 'admin']),
      triage: has(['triage', 'write', 'maintain', 'admin']),
      pull: given !== 'none',
    },
  };
}

export const nodeId = (issue: IssueRow): string => `${issue.pull ? 'PR' : 'I'}_${issue.number}`;
