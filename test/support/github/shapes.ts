/** Rows as the REST API shows them; only what its documentation names, and of that what a client may rely on. */
import { mergeability } from './merging.ts';
import {
  branchTip,
  type CheckRun,
  type Comment,
  fullName,
  headOf,
  type IssueRow,
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
  return { login: user?.login ?? 'ghost', id: user?.id ?? 10137, type: user?.type ?? 'User' };
}

export function association(world: World, login: string): string {
  if (login === world.owner) return 'OWNER';
  const given = world.permissions.get(login.toLowerCase()) ?? 'none';
  return given === 'none' ? 'NONE' : 'COLLABORATOR';
}

export function labelsJson(world: World, names: readonly string[]) {
  return names.map((name) => {
    const label = world.labels.get(name.toLowerCase());
    return {
      id: label?.id ?? 0,
      name: label?.name ?? name,
      color: label?.color ?? 'ededed',
      description: label?.description ?? null,
    };
  });
}

export const partsOf = (world: World, { number }: IssueRow): IssueRow[] =>
  [...world.issues.values()].filter((one) => one.parent === number);

export function issueJson(world: World, issue: IssueRow) {
  const blockers = [
    ...issue.blockedBy.map((number) => world.issues.get(number)),
    ...issue.blockedElsewhere.map((name) => world.elsewhere.get(name)),
  ];
  const open = blockers.filter((blocker) => blocker?.state === 'open').length;
  return {
    id: issue.number + 100_000,
    node_id: nodeId(issue),
    repository_url: `/repos/${fullName(world)}`,
    number: issue.number,
    title: issue.title,
    body: issue.body === '' ? null : issue.body,
    user: userJson(world, issue.user),
    author_association: association(world, issue.user),
    state: issue.state,
    state_reason: issue.stateReason,
    labels: labelsJson(world, issue.labels),
    comments: issue.comments.length,
    created_at: iso(issue.createdAt),
    updated_at: iso(issue.updatedAt),
    closed_at: isoOrNull(issue.closedAt),
    locked: false,
    issue_dependencies_summary: { blocked_by: open, total_blocked_by: blockers.length },
    sub_issues_summary: { total: partsOf(world, issue).length },
    parent_issue_url: issue.parent === null ? null : `/repos/${fullName(world)}/issues/${issue.parent}`,
    ...(issue.pull
      ? {
          draft: issue.pull.draft,
          pull_request: {
            url: `/repos/${fullName(world)}/pulls/${issue.number}`,
            merged_at: isoOrNull(issue.pull.mergedAt),
          },
        }
      : {}),
  };
}

/** An issue of another repository; null when nobody may read it. */
export function elsewhereJson(world: World, name: string) {
  const [repository, number] = name.split('#');
  const found = world.elsewhere.get(name);
  return found
    ? { number: Number(number), state: found.state, title: name, repository_url: `/repos/${repository}` }
    : null;
}

export async function pullJson(world: World, issue: IssueRow, pull: PullRow, alone: boolean) {
  const name = fullName(world);
  const head = await headOf(world, pull);
  const base = await branchTip(world, pull.baseRef);
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
    head: {
      ref: pull.headRef,
      sha: head,
      label: `${pull.headRepo.split('/')[0]}:${pull.headRef}`,
      repo: { full_name: pull.headRepo, fork: pull.headRepo !== name },
    },
    base: {
      ref: pull.baseRef,
      sha: base,
      label: `${world.owner}:${pull.baseRef}`,
      repo: { full_name: name },
    },
  };
  if (!alone) return shown;
  const { mergeable, state } = await mergeability(world, issue, pull);
  return {
    ...shown,
    merged: pull.merged,
    merged_by: pull.mergedBy === null ? null : userJson(world, pull.mergedBy),
    mergeable,
    mergeable_state: state,
  };
}

export function commentJson(world: World, comment: Comment, on?: IssueRow) {
  const place = on && `${fullName(world)}/${on.pull ? 'pull' : 'issues'}/${on.number}`;
  return {
    id: comment.id,
    ...(on
      ? {
          html_url: `/${place}#issuecomment-${comment.id}`,
          issue_url: `/repos/${fullName(world)}/issues/${on.number}`,
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
    pull_request_url: `/repos/${fullName(world)}/pulls/${pull}`,
    path: thread.path,
    line: thread.line,
    side: thread.side,
    commit_id: thread.commit,
    original_commit_id: thread.commit,
    pull_request_review_id: thread.review,
    ...(index > 0 ? { in_reply_to_id: thread.comments[0]!.id } : {}),
  }));
}

export function statusJson(world: World, status: Status) {
  return {
    id: status.id,
    context: status.context,
    state: status.state,
    description: status.description,
    target_url: status.targetUrl,
    creator: userJson(world, status.user),
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
    details_url: `/${fullName(world)}/actions/runs/1/job/${check.id}`,
    html_url: `/${fullName(world)}/actions/runs/1/job/${check.id}`,
    started_at: iso(check.at),
    completed_at: check.status === 'completed' ? iso(check.at) : null,
    output: { title: null, summary: null, annotations_count: 0 },
    app: { slug: check.app, name: check.app },
  };
}

export function repositoryJson(world: World, user: string) {
  // An App has no role in the repository, whatever it may do there.
  const given = world.users.get(user)?.type === 'Bot' ? 'none' : permissionOf(world, user);
  const has = (levels: readonly string[]) => levels.includes(given);
  return {
    id: world.id,
    name: world.name,
    full_name: fullName(world),
    private: world.isPrivate,
    owner: userJson(world, world.owner),
    default_branch: world.defaultBranch,
    archived: world.archived,
    disabled: false,
    has_issues: world.hasIssues,
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
