/** Reviews and remarks on lines. A remark outside the diff refuses the whole review, as GitHub does. */

import { parsePatch, showsLine } from '../../../src/core/change/patch.ts';
import { isAncestor } from '../../../src/git/objects.ts';
import { created, list, notFound, ok, Refusal } from './answer.ts';
import { says } from './error-texts.ts';
import { since, spoken } from './issue-routes.ts';
import { pullDiff, pullIn } from './pull-routes.ts';
import { type Call, type Route, route, text } from './router.ts';
import { reviewJson, threadCommentsJson } from './shapes.ts';
import {
  atLeast,
  headOf,
  type PullRow,
  permissionOf,
  type Review,
  type Thread,
  type World,
} from './world.ts';

export const reviewRoutes: Route[] = [
  route('GET', '/pulls/comments', 'read', 'pull_requests=read', ({ world, url }) => {
    const all = [...world.issues.values()].flatMap(({ number, pull }) =>
      (pull?.threads ?? []).flatMap((thread) => threadCommentsJson(world, thread, number)),
    );
    return list(url, since(url, all));
  }),
  route('GET', '/pulls/:number/reviews', 'read', 'pull_requests=read', (call) =>
    list(
      call.url,
      pullIn(call).pull.reviews.map((review) => reviewJson(call.world, review)),
    ),
  ),
  route('POST', '/pulls/:number/reviews', 'read', 'pull_requests=write', async (call) => {
    const { world, user } = call;
    const { issue, pull } = pullIn(call);
    const review = await submit(call, issue.user, pull);
    issue.updatedAt = world.now();
    world.emit({
      event: 'pull_request_review',
      payload: { action: 'submitted', number: issue.number, by: user },
    });
    return ok(reviewJson(world, review));
  }),
  route('PUT', '/pulls/:number/reviews/:id/dismissals', 'write', 'pull_requests=write', (call) => {
    const { issue, pull } = pullIn(call);
    const review = pull.reviews.find((one) => one.id === Number(call.params.id));
    if (!review) throw notFound();
    review.state = 'DISMISSED';
    issue.updatedAt = call.world.now();
    return ok(reviewJson(call.world, review));
  }),
  route('GET', '/pulls/:number/comments', 'read', 'pull_requests=read', (call) =>
    list(
      call.url,
      pullIn(call).pull.threads.flatMap((thread) =>
        threadCommentsJson(call.world, thread, Number(call.params.number)),
      ),
    ),
  ),
  route('POST', '/pulls/:number/comments/:id/replies', 'read', 'pull_requests=write', (call) => {
    const { world, user } = call;
    const { issue, pull } = pullIn(call);
    const thread = pull.threads.find((one) => one.comments[0]?.id === Number(call.params.id));
    if (!thread) throw notFound();
    const body = spoken(text(call.body, 'body'), 'PullRequestReviewComment');
    thread.comments.push({ id: world.nextId(), user, body, at: world.now(), editedAt: null });
    issue.updatedAt = world.now();
    world.emit({
      event: 'pull_request_review_comment',
      payload: { action: 'created', number: issue.number },
    });
    return created(threadCommentsJson(world, thread, issue.number).at(-1));
  }),
];

const STATES = {
  APPROVE: 'APPROVED',
  REQUEST_CHANGES: 'CHANGES_REQUESTED',
  COMMENT: 'COMMENTED',
} as const;

async function submit(call: Call, author: string, pull: PullRow): Promise<Review> {
  const { world, user, body } = call;
  const event = text(body, 'event') as keyof typeof STATES | undefined;
  if (event === undefined || !(event in STATES))
    throw unprocessable('Review event must be one of APPROVE, REQUEST_CHANGES, COMMENT');
  if (user === author && event !== 'COMMENT') {
    const verb = event === 'APPROVE' ? 'approve' : 'request changes on';
    throw unprocessable(says('ownPull', { verb }));
  }
  const remarks = Array.isArray(body.comments) ? (body.comments as Record<string, unknown>[]) : [];
  const said = text(body, 'body') ?? '';
  if (said === '' && remarks.length === 0 && event !== 'APPROVE')
    throw unprocessable('Review Body can not be blank');
  if (said !== '') spoken(said, 'PullRequestReview');
  const head = await headOf(world, pull);
  const commit = text(body, 'commit_id') ?? head;
  if (!(await isPart(world, commit, head)))
    throw unprocessable('The commit_id is not part of the pull request');
  const review = { id: world.nextId(), user, state: STATES[event], body: said, commit, at: world.now() };
  const threads = await threadsFor(call, pull, review, remarks);
  pull.reviews.push(review);
  pull.threads.push(...threads);
  return review;
}

async function isPart(world: World, commit: string, head: string): Promise<boolean> {
  return (
    (await world.git.resolve(`${commit}^{commit}`)) !== null && (await isAncestor(world.git, commit, head))
  );
}

async function threadsFor(
  { world, user }: Call,
  pull: PullRow,
  review: Review,
  remarks: readonly Record<string, unknown>[],
): Promise<Thread[]> {
  if (remarks.length === 0) return [];
  const files = parsePatch((await pullDiff(world, pull, review.commit)).patch);
  return remarks.map((remark) => {
    const path = text(remark, 'path') ?? '';
    const side = text(remark, 'side') === 'LEFT' ? 'LEFT' : 'RIGHT';
    const line = typeof remark.line === 'number' ? remark.line : null;
    if (!files.some((file) => file.path === path)) throw unprocessable(says('noSuchPath'));
    if (line === null || !showsLine(files, path, side === 'LEFT' ? 'old' : 'new', line))
      throw unprocessable(says('noSuchLine'));
    const body = spoken(text(remark, 'body'), 'PullRequestReviewComment');
    const comment = { id: world.nextId(), user, body, at: world.now(), editedAt: null };
    return {
      id: world.nextId(),
      path,
      line,
      side,
      commit: review.commit,
      resolved: false,
      review: review.id,
      comments: [comment],
    };
  });
}

/** May this person's review count towards a merge? */
export const canPush = (world: World, login: string): boolean => atLeast(permissionOf(world, login), 'write');

const unprocessable = (message: string): Refusal => new Refusal(422, says('unprocessable'), [message]);
