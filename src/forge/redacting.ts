/** A forge that is told no secrets by the loop. What people write there by our commands is theirs, and left as it is. */
import type { Redact } from '../core/redact.ts';
import type { Forge } from './forge.ts';

export const redactingForge = <F extends Forge>(forge: F, redact: Redact): F =>
  ({
    ...forge,
    ensureComment: (issue, marker, body) => forge.ensureComment(issue, marker, redact(body)),
    reply: (to, marker, body) => forge.reply(to, marker, redact(body)),
    ensurePull: (pull) => forge.ensurePull({ ...pull, title: redact(pull.title), body: redact(pull.body) }),
    updatePull: (pull, { title, body }) =>
      forge.updatePull(pull, { title: redact(title), body: redact(body) }),
    postReview: (pull, review) =>
      forge.postReview(pull, {
        ...review,
        body: redact(review.body),
        comments: review.comments.map((one) => ({ ...one, body: redact(one.body) })),
      }),
    closePull: (pull, comment) => forge.closePull(pull, redact(comment)),
    buildCandidate: (input) => forge.buildCandidate({ ...input, message: redact(input.message) }),
  }) satisfies Partial<Forge> as F;
