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
import { oneLine } from '../words/fence.ts';
import { shortSha } from '../words/short-sha.ts';
import { markdownLines } from './markdown.ts';
import { agreedHash } from './text-hash.ts';

export const COMMANDS = {
  retry: 'start a new attempt at the issue',
  abandon: 'give the task up; its worktree is kept',
  approve: 'approve the head as it is now, in place of the critic, or agree to the proposed specification',
  pause: 'let the task wait',
  resume: 'let a waiting task continue',
  explain: 'say what it rests on, and what happened last',
} as const;
export type CommandName = keyof typeof COMMANDS;

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
  if (!remark.mayWrite)
    return no(
      `Sorry, ${name(remark.author)}: only people with write access to this repository can ask that.`,
    );
  if (!isCommand(word)) return no(`${word === '' ? 'What?' : `I do not know \`${name(word)}\`.`}\n\n${LIST}`);
  if (!task) return no('There is no task here yet: nothing was ever taken up for it.');
  if (word === 'explain') return yes(null, heard.explanation);
  const refused = refusal(task, word, heard.pending) ?? (word === 'retry' ? noRetry(heard, task) : null);
  if (refused) return no([refused.why, refused.advice].filter(Boolean).join(' '));
  if (word === 'approve' && isUnread(remark, task))
    return no('That was said before the specification was proposed. Read it, then approve again.');
  if (word === 'approve' && !isProposed(task) && isStale(remark, task))
    return no(
      `The head has changed since: it is \`${shortSha(task.headSha)}\` now. Look at it, then approve again.`,
    );
  return yes(word, SAYS[word](task), word === 'retry' ? ready(task, policy) : []);
}

/** Whoever asks in vain is told once per place, however often they ask. */
export function markerOf({ id, where, author, mayWrite }: Remark): string {
  return mayWrite ? `command:${id}` : `no-access:${where.kind}-${where.number}:${author}`;
}

const SAYS: Record<Exclude<CommandName, 'explain'>, (task: Task) => string> = {
  retry: ({ attempt }) => `Attempt ${attempt + 1} starts when a slot is free.`,
  abandon: ({ branch }) => `It is given up. Its work stays on \`${branch}\`, and its worktree is kept.`,
  approve: (task) =>
    isProposed(task)
      ? 'Agreed: it is worked on with the specification that was proposed.'
      : `Approved at \`${shortSha(task.headSha)}\`, in place of the critic.`,
  pause: ({ turn }) =>
    `It waits${turn ? ' when the turn at work has ended' : ''}. \`/loop resume\` continues it.`,
  resume: ({ hold }) => `It continues${hold ? ` (it was held: ${oneLine(hold.detail)})` : ''}.`,
};

const isProposed = (task: Task): boolean => task.spec?.status === 'proposed';

const LIST = Object.entries(COMMANDS)
  .map(([command, does]) => `- \`/loop ${command}\`: ${does}`)
  .join('\n');

/** Whoever asks for the same again agrees to the same text, not to one that was changed meanwhile. */
function noRetry({ issue }: Heard, { contract }: Task): { why: string; advice: string } | null {
  if (issue?.state !== 'open') return { why: 'The issue is closed.', advice: 'Reopen it, then ask again.' };
  if (issue.textHash !== agreedHash(contract))
    return {
      why: 'The issue was edited since that attempt.',
      advice: 'Label it as ready instead: that accepts its text as it is then.',
    };
  return null;
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
/** A stranger's word in our own comment: no mention, no markup. */
const name = (text: string): string => oneLine(text.replace(/[^\p{L}\p{N} ._-]/gu, '')).slice(0, 60);
