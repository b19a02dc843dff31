/** Pull requests: opened from a branch, always showing the head that git has now, merged with a guard on it. */
import { parsePatch } from '../../../src/core/change/patch.ts';
import { diffs } from '../../../src/git/diff.ts';
import { isAncestor } from '../../../src/git/objects.ts';
import { created, invalid, list, notFound, ok, Refusal } from './answer.ts';
import { says } from './error-texts.ts';
import { issueIn, openIssue } from './issue-routes.ts';
import { closeIssue, mergePull } from './merging.ts';
import { type Call, type Route, route, text } from './router.ts';
import { pullJson } from './shapes.ts';
import {
  atLeast,
  branchTip,
  fullName,
  headOf,
  type IssueRow,
  note,
  type PullRow,
  permissionOf,
  type World,
} from './world.ts';

export const pullRoutes: Route[] = [
  route('GET', '/pulls', 'read', 'pull_requests=read', async ({ world, url }) => {
    const query = url.searchParams;
    const state = query.get('state') ?? 'open';
    const head = query.get('head');
    const base = query.get('base');
    const rows = [...world.issues.values()]
      .filter((issue) => issue.pull !== null)
      .filter((issue) => state === 'all' || issue.state === state)
      .filter(({ pull }) => head === null || head === `${pull!.headRepo.split('/')[0]}:${pull!.headRef}`)
      .filter(({ pull }) => base === null || base === pull!.baseRef)
      .sort((a, b) => b.number - a.number);
    return list(url, await Promise.all(rows.map((issue) => pullJson(world, issue, issue.pull!, false))));
  }),
  route('POST', '/pulls', 'read', 'pull_requests=write', async ({ world, user, body }) => {
    const issue = await openPull(world, user, body);
    world.emit({ event: 'pull_request', payload: { action: 'opened', number: issue.number } });
    return created(await pullJson(world, issue, issue.pull!, true));
  }),
  route('GET', '/pulls/:number', 'read', 'pull_requests=read', async (call) => {
    const { issue, pull } = pullIn(call);
    if (!call.accept.includes('diff'))
      return ok(await pullJson(withLateHeads(call.world), issue, pull, true));
    return { status: 200, text: (await pullDiff(call.world, pull)).patch };
  }),
  route('PATCH', '/pulls/:number', 'read', 'pull_requests=write', async (call) => {
    const { world, user, body } = call;
    const { issue, pull } = pullIn(call);
    if (issue.user !== user && !atLeast(permissionOf(world, user), 'write'))
      throw new Refusal(403, says('needsAdmin'));
    issue.title = text(body, 'title') ?? issue.title;
    issue.body = text(body, 'body') ?? issue.body;
    issue.updatedAt = world.now();
    const state = text(body, 'state');
    if (state === 'closed' && issue.state === 'open') closeIssue(world, issue, user, null);
    if (state === 'open' && issue.state === 'closed') await reopen(world, issue, pull, user);
    return ok(await pullJson(world, issue, pull, true));
  }),
  route('GET', '/pulls/:number/files', 'read', 'pull_requests=read', async (call) => {
    const { pull } = pullIn(call);
    const { files, patch } = await pullDiff(call.world, pull);
    return list(
      call.url,
      files.map((filename) => fileJson(filename, patchOf(patch, filename))),
    );
  }),
  route('PUT', '/pulls/:number/merge', 'write', 'contents=write', async (call) => {
    const { world, user, body } = call;
    const { issue, pull } = pullIn(call);
    const method = text(body, 'merge_method') ?? 'merge';
    if (method !== 'merge' && method !== 'squash' && method !== 'rebase')
      throw invalid('PullRequest', 'merge_method', 'invalid');
    const sha = text(body, 'sha');
    const title = text(body, 'commit_title') ?? `${issue.title} (#${issue.number})`;
    const message = `${title}\n\n${text(body, 'commit_message') ?? ''}`;
    const merged = await mergePull(world, issue, pull, user, {
      method,
      message,
      ...(sha === undefined ? {} : { sha }),
    });
    return ok({ sha: merged, merged: true, message: 'Pull Request successfully merged' });
  }),
];

export function pullIn(call: Pick<Call, 'world' | 'params'>): { issue: IssueRow; pull: PullRow } {
  const issue = issueIn(call);
  if (!issue.pull) throw notFound();
  return { issue, pull: issue.pull };
}

/** A push shows in its pull request a moment later, and that is another moment for each who reads. */
const withLateHeads = (world: World): World => ({
  ...world,
  tips: world.copies?.seen('head').tips ?? null,
});

/** From where head and base parted, as the "Files changed" page shows it. */
export async function pullDiff(world: World, pull: PullRow, at?: string) {
  const base = await branchTip(world, pull.baseRef);
  return diffs(world.git, base ?? pull.lastHead, at ?? (await headOf(world, pull)));
}

async function openPull(world: World, user: string, body: Record<string, unknown>): Promise<IssueRow> {
  const [owner, branch] = splitHead(world, text(body, 'head') ?? '');
  const base = text(body, 'base') ?? '';
  const tip = await branchTip(world, base);
  if (tip === null) throw invalid('PullRequest', 'base', 'invalid');
  const head = owner === world.owner ? await branchTip(world, branch) : null;
  if (head === null) throw invalid('PullRequest', 'head', 'invalid');
  const twin = [...world.issues.values()].find(
    ({ pull, state }) =>
      state === 'open' &&
      pull?.headRef === branch &&
      pull.headRepo === fullName(world) &&
      pull.baseRef === base,
  );
  if (twin) throw taken(`${owner}:${branch}`);
  if (await isAncestor(world.git, head, tip)) {
    const message = says('noCommitsBetween', { base, head: branch });
    throw new Refusal(422, says('invalid'), [{ resource: 'PullRequest', code: 'custom', message }]);
  }
  if (body.draft === true && !world.draftsAllowed) throw new Refusal(422, says('noDrafts'));
  const issue = openIssue(world, user, text(body, 'title') ?? '', text(body, 'body') ?? '');
  await makePull(world, issue, {
    headRef: branch,
    headRepo: fullName(world),
    baseRef: base,
    head,
    draft: body.draft === true,
  });
  return issue;
}

export async function makePull(
  world: World,
  issue: IssueRow,
  pull: { headRef: string; headRepo: string; baseRef: string; head: string; draft: boolean },
): Promise<void> {
  const { head, ...rest } = pull;
  issue.pull = {
    ...rest,
    merged: false,
    mergedBy: null,
    mergedAt: null,
    mergeCommit: null,
    lastHead: head,
    queued: false,
    reviews: [],
    threads: [],
  };
  await world.git(['update-ref', `refs/pull/${issue.number}/head`, head]);
}

function splitHead(world: World, head: string): [string, string] {
  const colon = head.indexOf(':');
  return colon < 0 ? [world.owner, head] : [head.slice(0, colon), head.slice(colon + 1)];
}

function taken(head: string): Refusal {
  const message = says('pullExists', { head });
  return new Refusal(422, says('invalid'), [{ resource: 'PullRequest', code: 'custom', message }]);
}

async function reopen(world: World, issue: IssueRow, pull: PullRow, user: string): Promise<void> {
  if (pull.merged) throw invalid('PullRequest', 'state', 'custom', says('staysMerged'));
  if ((await branchTip(world, pull.headRef)) === null)
    throw invalid('PullRequest', 'state', 'custom', says('branchDeleted', { branch: pull.headRef }));
  issue.state = 'open';
  issue.closedAt = null;
  note(world, issue, { event: 'reopened', actor: user });
}

function patchOf(patch: string, file: string): string {
  const text = parsePatch(patch).find(({ path }) => path === file)?.text ?? '';
  return text.slice(Math.max(0, text.indexOf('@@')));
}

function fileJson(filename: string, patch: string) {
  const lines = (sign: string): number => patch.split('\n').filter((line) => line.startsWith(sign)).length;
  const [additions, deletions] = [lines('+'), lines('-')];
  return {
    sha: null,
    filename,
    status: 'modified',
    additions,
    deletions,
    changes: additions + deletions,
    patch,
  };
}
