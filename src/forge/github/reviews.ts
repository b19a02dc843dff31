/**
 * The critic's reviews: remarks on lines the diff shows are attached there, all others stand in the text, and whatever
 * GitHub refuses to attach is said in the text instead. Nothing is lost.
 *
 * Nobody can approve or request changes on a pull request of their own account, so a review of ours is a comment there;
 * the verdict is in its text and in the commit status `forge-loop/critic`.
 */
import { parsePatch, showsLine } from '../../core/change/patch.ts';
import { type ReviewComment, reviewText } from '../../core/words/review-text.ts';
import { shortSha } from '../../core/words/short-sha.ts';
import { diffs } from '../../git/diff.ts';
import type { Forge } from '../forge.ts';
import { Refused } from './client.ts';
import type { Comments } from './comments.ts';
import { hasMark, LONGEST, marked, within } from './marker.ts';
import { memo } from './memo.ts';
import type { Place } from './place.ts';
import type { Pulls } from './pulls.ts';
import { nothing } from './shapes.ts';
import type { Statuses } from './statuses.ts';

export function openReviews(
  place: Place,
  pulls: Pulls,
  comments: Comments,
  statuses: Statuses,
): Pick<Forge, 'postReview'> {
  const { client, at, git, remote, self } = place;
  /** Those that were posted, or may have been. */
  const tried = memo<string, true>(REMEMBERED);
  /** Those that were: a query may show them late. */
  const posted = memo<string, true>(REMEMBERED);

  return {
    async postReview(number, review) {
      // One of a head that this process brought there was hardly posted by another.
      const isFirst = remote.isBrought(review.headSha) && !tried.get(review.marker);
      tried.set(review.marker, true);
      const pull = await pulls.facts(number, isFirst ? 'settled' : 'now');
      if (!pull) return;
      const me = await self();
      const isOwn = ({ author, body }: { author: { login: string } | null; body: string }): boolean =>
        author?.login === me && hasMark(body, review.marker);
      const key = `${number} ${review.marker}`;
      const isPosted = posted.get(key) ?? pull.reviews.nodes.some(isOwn);
      if (!isPosted) {
        const event = pull.author?.login === me ? 'COMMENT' : eventFor(review.verdict);
        const { inline, rest } = await sorted(review);
        const post = (text: string, inline: readonly Inline[]) => {
          const body = marked(review.marker, text);
          const route = 'POST /repos/{owner}/{repo}/pulls/{pull_number}/reviews';
          const words = { commit_id: review.headSha, event, body, comments: inline };
          return client.write(route, { ...at, pull_number: number, ...words }, nothing);
        };
        try {
          await post(reviewText(review, rest), inline);
        } catch (problem) {
          if (!(problem instanceof Refused) || problem.status !== 422) throw problem;
          await inWords(number, review.marker, reviewText(review, review.comments), post);
        }
        posted.set(key, true);
      }
      const status = {
        state: review.verdict === 'APPROVE' ? ('success' as const) : ('failure' as const),
        description: `${review.verdict} at ${shortSha(review.headSha)}`,
      };
      // It follows the review: where that was not there yet, neither was this.
      await statuses.set(review.headSha, 'forge-loop/critic', status, !isPosted);
      if (review.verdict === 'APPROVE' && pull.isDraft && pull.state === 'OPEN') await outOfDraft(pull);
    },
  };

  /** The merge asks again, and says so if it is still refused. */
  async function outOfDraft({ number, id }: { number: number; id: string }): Promise<void> {
    try {
      await pulls.markReady(id);
    } catch (problem) {
      if (!(problem instanceof Refused)) throw problem;
      client.warn(`Pull request #${number} can't be taken out of draft: ${problem.message}`);
    }
  }

  /** A head that was pushed over is not part of the pull request any more; the review is still worth reading. */
  async function inWords(
    number: number,
    marker: string,
    text: string,
    post: (text: string, inline: readonly Inline[]) => Promise<unknown>,
  ): Promise<void> {
    try {
      await post(text, []);
    } catch (problem) {
      if (!(problem instanceof Refused) || problem.status !== 422) throw problem;
      await comments.ensure(number, marker, text);
    }
  }

  async function sorted({ headSha, comments: remarks }: Parameters<Forge['postReview']>[1]): Promise<{
    inline: Inline[];
    rest: ReviewComment[];
  }> {
    const trunk = await place.remote.head(await place.trunkBranch());
    const isHere = (await git.resolve(`${headSha}^{commit}`)) !== null;
    const files = trunk && isHere ? parsePatch((await diffs(git, trunk.sha, headSha)).patch) : [];
    const inline: Inline[] = [];
    const rest: ReviewComment[] = [];
    for (const comment of remarks) {
      const { file, line, body } = comment;
      const isShown = file !== null && line !== null && showsLine(files, file, 'new', line);
      if (isShown) inline.push({ path: file, line, side: 'RIGHT', body: within(body, LONGEST) });
      else rest.push(comment);
    }
    return { inline, rest };
  }
}

const REMEMBERED = 500;

interface Inline {
  path: string;
  line: number;
  side: 'RIGHT';
  body: string;
}

const eventFor = (verdict: string): string => (verdict === 'APPROVE' ? 'APPROVE' : 'REQUEST_CHANGES');
