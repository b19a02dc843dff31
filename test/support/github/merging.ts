/** Whether a pull request could be merged, the merge itself, and what a push changes for open pull requests. */
import { mergeCommit, mergeTree, rebaseCommits, squashCommit } from '../../../src/git/merge.ts';
import { isAncestor } from '../../../src/git/objects.ts';
import { Refusal } from './answer.ts';
import { says } from './error-texts.ts';
import { branches } from './git-backend.ts';
import {
  atLeast,
  branchTip,
  fullName,
  headOf,
  type IssueRow,
  note,
  type Protection,
  type PullRow,
  permissionOf,
  type Review,
  type World,
} from './world.ts';

/** Computed in the background on GitHub: the first to ask after a change learns nothing yet. */
const known = new WeakMap<World['git'], Set<string>>();

export async function mergeability(
  world: World,
  issue: IssueRow,
  pull: PullRow,
): Promise<{ mergeable: boolean | null; state: string }> {
  if (issue.state !== 'open') return { mergeable: null, state: 'unknown' };
  const [head, base] = [await headOf(world, pull), await branchTip(world, pull.baseRef)];
  if (base === null) return { mergeable: null, state: 'unknown' };
  const then = world.copies?.seen('mergeability').issues.get(issue.number);
  if (world.copies && then?.updatedAt !== issue.updatedAt) return { mergeable: null, state: 'unknown' };
  const seen = known.get(world.git) ?? new Set();
  known.set(world.git, seen);
  if (!seen.has(`${base} ${head}`)) {
    seen.add(`${base} ${head}`);
    return { mergeable: null, state: 'unknown' };
  }
  const merged = await mergeTree(world.git, base, head);
  if (!merged.clean) return { mergeable: false, state: 'dirty' };
  if (pull.draft) return { mergeable: true, state: 'draft' };
  const rules = world.protections.get(pull.baseRef);
  if (rules?.strict && !(await isAncestor(world.git, base, head)))
    return { mergeable: true, state: 'behind' };
  if (rules && unmet(world, pull, head, rules).length > 0) return { mergeable: true, state: 'blocked' };
  const red = redChecks(world, head).length > 0;
  return { mergeable: true, state: red ? 'unstable' : 'clean' };
}

const CHECK_TEXTS = {
  success: 'checkExpected',
  missing: 'checkExpected',
  pending: 'checkRunning',
  failure: 'checkFailing',
} as const;

/** What keeps a head from landing by the rules of its base, in GitHub's words. */
export function unmet(world: World, pull: PullRow, head: string, rules: Protection): string[] {
  const problems = rules.requiredChecks
    .filter((name) => checkState(world, head, name) !== 'success')
    .map((name) => says(CHECK_TEXTS[checkState(world, head, name)], { name }));
  const { approving, decision } = reviewsOf(world, pull, rules);
  if (decision === 'CHANGES_REQUESTED') problems.push(says('changesRequested'));
  if (approving.length < rules.approvals) problems.push(says('approvals', { count: rules.approvals }));
  else if (decision === 'REVIEW_REQUIRED')
    problems.push(says('codeOwners', { owners: (rules.codeOwners ?? []).join(' and/or ') }));
  if (rules.lastPushApproval && !approving.some((review) => review.commit === head))
    problems.push(says('lastPush'));
  if (rules.resolvedThreads && pull.threads.some((thread) => !thread.resolved))
    problems.push(says('openThreads'));
  return problems;
}

/** The reviews that count, and GitHub's judgement of them; null where none are required. */
export function reviewsOf(
  world: World,
  pull: PullRow,
  rules: Protection | undefined,
): { approving: Review[]; decision: string | null } {
  const last = new Map(pull.reviews.filter((one) => one.state !== 'COMMENTED').map((one) => [one.user, one]));
  const able = [...last.values()].filter((one) => atLeast(permissionOf(world, one.user), 'write'));
  const approving = able.filter((one) => one.state === 'APPROVED');
  const owners = rules?.codeOwners ?? [];
  if (!rules || (rules.approvals === 0 && owners.length === 0)) return { approving, decision: null };
  if (able.some((one) => one.state === 'CHANGES_REQUESTED'))
    return { approving, decision: 'CHANGES_REQUESTED' };
  const isOwned = owners.length === 0 || approving.some((one) => owners.includes(one.user));
  const isEnough = approving.length >= rules.approvals && isOwned;
  return { approving, decision: isEnough ? 'APPROVED' : 'REVIEW_REQUIRED' };
}

export function checkState(
  world: World,
  sha: string,
  name: string,
): 'success' | 'failure' | 'pending' | 'missing' {
  const status = world.statuses.filter((one) => one.sha === sha && one.context === name).at(-1);
  if (status) return status.state === 'error' ? 'failure' : status.state;
  const check = world.checks.filter((one) => one.sha === sha && one.name === name).at(-1);
  if (!check) return 'missing';
  if (check.status !== 'completed') return 'pending';
  return ['success', 'neutral', 'skipped'].includes(check.conclusion ?? '') ? 'success' : 'failure';
}

function redChecks(world: World, sha: string): string[] {
  const names = new Set([
    ...world.statuses.filter((one) => one.sha === sha).map((one) => one.context),
    ...world.checks.filter((one) => one.sha === sha).map((one) => one.name),
  ]);
  return [...names].filter((name) => checkState(world, sha, name) === 'failure');
}

export async function mergePull(
  world: World,
  issue: IssueRow,
  pull: PullRow,
  by: string,
  asked: { sha?: string; method: 'merge' | 'squash' | 'rebase'; message: string },
): Promise<string> {
  const head = await headOf(world, pull);
  const base = await branchTip(world, pull.baseRef);
  if (issue.state !== 'open' || base === null) throw new Refusal(405, says('notMergeable'));
  if (asked.sha !== undefined && asked.sha !== head) throw new Refusal(409, says('headModified'));
  if (pull.draft) throw new Refusal(405, says('draft'));
  if (!world.mergeMethods[asked.method]) throw new Refusal(405, notAllowed(asked.method));
  const rules = world.protections.get(pull.baseRef);
  if (rules?.mergeQueue && !world.bypasses.has(by))
    throw new Refusal(405, says('ruleViolations', { rules: says('queueOnly') }));
  const merged = await mergeTree(world.git, base, head);
  if (!merged.clean) throw new Refusal(405, says('notMergeable'));
  if (rules) {
    const problems = unmet(world, pull, head, rules);
    if (problems.length > 0)
      throw new Refusal(
        405,
        rules.via === 'ruleset'
          ? says('ruleViolations', { rules: problems.join('\n\n') })
          : problems.join(' '),
      );
    if (rules.methods?.includes(asked.method) === false) throw new Refusal(405, notAllowed(asked.method));
    if (rules.linear && asked.method === 'merge') throw new Refusal(405, says('linearHistory'));
    if (rules.signed && asked.method !== 'squash') throw new Refusal(405, says('unsigned'));
    if (rules.strict && !(await isAncestor(world.git, base, head))) throw behind(rules);
  }
  const input = { tree: merged.tree, trunk: base, head, message: asked.message };
  const commit = { squash: squashCommit, merge: mergeCommit, rebase: rebaseCommits }[asked.method];
  const sha = await commit(world.git, input);
  const swapped = await world.git(['update-ref', `refs/heads/${pull.baseRef}`, sha, base], {
    allow: [1, 128],
  });
  if (swapped.exitCode !== 0) throw new Refusal(405, says('baseModified'));
  settleMerge(world, issue, pull, { by, sha, head });
  if (pull.baseRef === world.defaultBranch) closeFixed(world, `${issue.body}\n${asked.message}`, by);
  if (world.deleteBranchOnMerge && pull.headRepo === fullName(world))
    await world.git(['update-ref', '-d', `refs/heads/${pull.headRef}`, head], { allow: [1, 128] });
  return sha;
}

function settleMerge(
  world: World,
  issue: IssueRow,
  pull: PullRow,
  { by, sha, head }: { by: string; sha: string; head: string },
): void {
  Object.assign(pull, {
    merged: true,
    mergedBy: by,
    mergedAt: world.now(),
    mergeCommit: sha,
    lastHead: head,
    queued: false,
  });
  issue.state = 'closed';
  issue.closedAt = world.now();
  note(world, issue, { event: 'merged', actor: by });
  note(world, issue, { event: 'closed', actor: by });
  world.emit({ event: 'pull_request', payload: { action: 'closed', number: issue.number } });
}

const FIXES = /\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?):?\s+#(\d+)/gi;

function closeFixed(world: World, text: string, by: string): void {
  for (const [, number] of text.matchAll(FIXES)) {
    const issue = world.issues.get(Number(number));
    if (issue && !issue.pull && issue.state === 'open') closeIssue(world, issue, by, 'completed');
  }
}

export function closeIssue(world: World, issue: IssueRow, by: string, reason: string | null): void {
  issue.state = 'closed';
  issue.stateReason = reason;
  issue.closedAt = world.now();
  note(world, issue, { event: 'closed', actor: by });
  world.emit({
    event: issue.pull ? 'pull_request' : 'issues',
    payload: { action: 'closed', number: issue.number },
  });
}

/**
 * After a push: a head that moved is a new head of its pull request, a head that is on its base was merged, a branch
 * that is gone closes its pull request.
 */
export async function noticePush(world: World, before: Map<string, string>, by: string): Promise<void> {
  const after = branches(world);
  for (const branch of new Set([...before.keys(), ...after.keys()])) {
    const [old, now] = [before.get(branch) ?? null, after.get(branch) ?? null];
    if (old === now) continue;
    world.emit({
      event: 'push',
      payload: { ref: `refs/heads/${branch}`, before: old ?? ZERO, after: now ?? ZERO },
    });
    for (const issue of world.issues.values()) {
      const { pull } = issue;
      if (!pull || issue.state !== 'open') continue;
      if (pull.headRepo === fullName(world) && pull.headRef === branch)
        await headMoved(world, issue, pull, now, by);
      if (pull.baseRef === branch && now !== null) await baseMoved(world, issue, pull, now, by);
    }
  }
}

async function headMoved(
  world: World,
  issue: IssueRow,
  pull: PullRow,
  now: string | null,
  by: string,
): Promise<void> {
  if (now === null) {
    note(world, issue, { event: 'head_ref_deleted', actor: by });
    closeIssue(world, issue, by, null);
    return;
  }
  pull.lastHead = now;
  await world.git(['update-ref', `refs/pull/${issue.number}/head`, now]);
  issue.updatedAt = world.now();
  world.emit({ event: 'pull_request', payload: { action: 'synchronize', number: issue.number } });
}

async function baseMoved(
  world: World,
  issue: IssueRow,
  pull: PullRow,
  now: string,
  by: string,
): Promise<void> {
  const head = await headOf(world, pull);
  if (await isAncestor(world.git, head, now)) settleMerge(world, issue, pull, { by, sha: now, head });
}

/** Unmerged, with the reason GitHub's timeline gives: `failed checks`, `manual` and so on. */
export function outOfQueue(world: World, issue: IssueRow, pull: PullRow, by: string, reason: string): void {
  pull.queued = false;
  note(world, issue, { event: 'removed_from_merge_queue', actor: by, reason });
}

/** Takes the head of the merge queue through, as GitHub does once its checks are green. */
export async function runMergeQueue(world: World): Promise<void> {
  for (const issue of world.issues.values()) {
    const { pull } = issue;
    if (!pull?.queued || issue.state !== 'open') continue;
    const rules = world.protections.get(pull.baseRef)!;
    world.protections.set(pull.baseRef, { ...rules, mergeQueue: false });
    try {
      const message = `${issue.title} (#${issue.number})`;
      await mergePull(world, issue, pull, 'github-merge-queue[bot]', { method: 'squash', message });
    } finally {
      world.protections.set(pull.baseRef, rules);
    }
  }
}

/** Checks that are green count as missing at a head that is behind. */
function behind({ via, requiredChecks }: Protection): Refusal {
  const [name, ...more] = requiredChecks;
  if (via === 'ruleset' || name === undefined) return new Refusal(409, says('headOutOfDate'));
  const count = more.length + 1;
  return new Refusal(405, count === 1 ? says('checkExpected', { name }) : says('checksExpected', { count }));
}

/** A merge commit is called otherwise than the other two. */
const notAllowed = (method: string): string =>
  method === 'merge' ? says('noMergeCommits') : says('noSuchMerges', { method: capital(method) });

const capital = (word: string): string => word[0]!.toUpperCase() + word.slice(1);
const ZERO = '0'.repeat(40);
