/**
 * A forge that is told no secrets by the loop, and nothing that a reader does not see or a terminal obeys. What people write there
 * by our commands is theirs, and left as it is.
 */
import type { Redact } from '../core/access/redact.ts';
import { plain } from '../core/words/fence.ts';
import type { Forge } from './forge.ts';

export const redactingForge = <F extends Forge>(forge: F, redact: Redact): F => {
  const told = (text: string): string => redact(plain(text));
  return {
    ...forge,
    ensureComment: (issue, marker, body) => forge.ensureComment(issue, marker, told(body)),
    reply: (to, marker, body) => forge.reply(to, marker, told(body)),
    ensurePull: (pull) => forge.ensurePull({ ...pull, title: told(pull.title), body: told(pull.body) }),
    updatePull: (pull, { title, body }) => forge.updatePull(pull, { title: told(title), body: told(body) }),
    postReview: (pull, review) =>
      forge.postReview(pull, {
        ...review,
        body: told(review.body),
        comments: review.comments.map((one) => ({ ...one, body: told(one.body) })),
      }),
    closePull: (pull, comment) => forge.closePull(pull, told(comment)),
    buildCandidate: (input) => forge.buildCandidate({ ...input, message: told(input.message) }),
  } satisfies Partial<Forge> as F;
};
