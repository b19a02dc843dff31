/** How much of what waits to be told goes into one prompt. */
import type { Feedback, PromptKind } from '../event.ts';

/** Of the first ones, how many: all, or as many as one prompt takes. What is left follows in the next turn. */
export function fitting(feedback: readonly Feedback[], prompt: PromptKind): number {
  // The first prompt has the issue as it is now, and nothing else.
  if (prompt === 'task') return leading(feedback, ({ kind }) => kind === 'contract');
  if (NOTHING_BESIDE.includes(prompt)) return 0;
  let chars = 0;
  const fit = leading(feedback, ({ text }) => {
    chars += text.length;
    return chars <= PROMPT_CHARS;
  });
  return Math.max(fit, Math.min(1, feedback.length));
}

const NOTHING_BESIDE: readonly PromptKind[] = ['continuation', 'milestone', 'audited', 'post_action'];
const PROMPT_CHARS = 40_000;

function leading<T>(list: readonly T[], holds: (item: T) => boolean): number {
  const first = list.findIndex((item) => !holds(item));
  return first === -1 ? list.length : first;
}
