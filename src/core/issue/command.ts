/**
 * Commands that people write into comments: `/loop pause`.
 *
 * Each is answered where it was written, and becomes the request that the command line would make. Only people with
 * write access are obeyed; whoever else asks is told so once.
 */
import type { Action } from '../action.ts';
import type { Remark } from '../change/remark.ts';
import type { Policy } from '../policy.ts';
import { type RequestKind, refusal } from '../request.ts';
import type { Task } from '../task.ts';
import { ACCEPTED, COMMANDS, type CommandName, REFUSED } from '../words/command-text.ts';
import { markdownLines } from './markdown.ts';
import { agreedHash } from './text-hash.ts';

/**
 * The word after the first `/loop` at the beginning of a line; null when there is none. Quoted lines, fenced code and
 * hidden comments are somebody talking about commands.
 */
export function commandIn(body: string): string | null {
  for (const { kind, raw } of markdownLines(body)) {
    if (kind === 'code' || kind === 'comment') continue;
    const said = /^\/loop(?:\s+(\S+))?(?:\s|$)/.exec(raw);
    if (said) return (said[1] ?? '').toLowerCase();
  }
  return null;
}

const isCommand = (word: string): word is CommandName => Object.hasOwn(COMMANDS, word);

interface Heard {
  remark: Remark;
  /** The word after `/loop`. */
  word: string;
  /** The latest attempt at what it was said about; null when there was none. */
  task: Task | null;
  issue: { state: 'open' | 'closed'; textHash: string } | null;
  /** What was asked of the task and not answered yet. */
  pending: readonly { kind: string }[];
  /** What `explain` says. */
  explanation: string;
}

interface Answer {
  accepted: boolean;
  says: string;
  request: RequestKind | null;
  actions: Action[];
}

export function answerCommand(heard: Heard, policy: Policy): Answer {
  const { remark, task } = heard;
  // `/loop hold` is what `/loop pause` was once called.
  const word = heard.word === 'hold' ? 'pause' : heard.word;
  if (!remark.mayWrite) return no(REFUSED.stranger(remark.author));
  if (!isCommand(word)) return no(REFUSED.unknown(word));
  if (!task) return no(REFUSED.noTask);
  if (word === 'explain') return yes(null, heard.explanation);
  const refused = refusal(task, word, heard.pending);
  if (refused) return no([refused.why, refused.advice].filter(Boolean).join(' '));
  const noRetry = word === 'retry' ? whyNoRetry(heard, task) : null;
  if (noRetry) return no(noRetry);
  if (word === 'approve' && isUnread(remark, task)) return no(REFUSED.unread);
  if (word === 'approve' && !isProposed(task) && isStale(remark, task)) return no(REFUSED.stale(task));
  return yes(word, ACCEPTED[word](task), word === 'retry' ? ready(task, policy) : []);
}

/** Whoever asks in vain is told once per place, however often they ask. */
export function markerOf({ id, where, author, mayWrite }: Remark): string {
  return mayWrite ? `command:${id}` : `no-access:${where.kind}-${where.number}:${author}`;
}

const isProposed = (task: Task): boolean => task.spec?.status === 'proposed';

/** Whoever asks for the same again agrees to the same text, not to one that was changed meanwhile. */
function whyNoRetry({ issue }: Heard, { contract }: Task): string | null {
  if (issue?.state !== 'open') return REFUSED.closed;
  return issue.textHash === agreedHash(contract) ? null : REFUSED.edited;
}

const isUnread = ({ at }: Remark, { spec }: Task): boolean =>
  spec?.status === 'proposed' && at < (spec.at ?? 0);

/** An approval is for the head that its author saw. */
function isStale({ headSha, at }: Remark, { headSha: head, published }: Task): boolean {
  return headSha !== null ? headSha !== head : published !== null && at < published.at;
}

function ready({ issue }: Task, { labels }: Policy): Action[] {
  const remove = [labels.needsReview, labels.needsSpec, labels.abandon];
  return issue === null ? [] : [{ kind: 'label', issue, add: [labels.ready], remove }];
}

const yes = (request: RequestKind | null, says: string, actions: Action[] = []): Answer => ({
  accepted: true,
  says,
  request,
  actions,
});
const no = (says: string): Answer => ({ accepted: false, says, request: null, actions: [] });
