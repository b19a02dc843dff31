/**
 * Commands that people write into comments: `/loop hold`.
 *
 * Each is answered where it was written, and becomes the request that the command line would make. Only people with
 * write access are obeyed; whoever else asks is told so once.
 */
import type { Action } from './action.ts';
import { oneLine } from './fence.ts';
import type { Policy } from './policy.ts';
import type { Remark } from './remark.ts';
import { type RequestKind, refusal } from './request.ts';
import type { Task } from './task.ts';
import { agreedHash } from './text-hash.ts';

export const COMMANDS = {
  retry: 'start a new attempt at the issue',
  abandon: 'give the task up; its worktree is kept',
  approve: 'approve the head as it is now, in place of the critic, or agree to the proposed specification',
  hold: 'let the task wait',
  resume: 'let a waiting task go on',
  explain: 'say what it rests on, and what happened last',
} as const;
export type CommandName = keyof typeof COMMANDS;

/**
 * The word after the first `/loop` at the beginning of a line; null when there is none. Quoted lines and fenced code are
 * somebody talking about commands.
 */
export function commandIn(body: string): string | null {
  let fence: string | null = null;
  for (const line of body.split('\n')) {
    const mark = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1]?.slice(0, 3);
    if (mark !== undefined && (fence === null || fence === mark)) fence = fence === null ? mark : null;
    const said = fence === null ? /^\/loop(?:\s+(\S+))?(?:\s|$)/.exec(line) : null;
    if (said) return (said[1] ?? '').toLowerCase();
  }
  return null;
}

export const isCommand = (word: string): word is CommandName => Object.hasOwn(COMMANDS, word);

export interface Heard {
  remark: Remark;
  /** The word after `/loop`. */
  word: string;
  /** The latest attempt at what it was said about; null when there was none. */
  task: Task | null;
  issue: { state: 'open' | 'closed'; textHash: string } | null;
  /** What `explain` says. */
  explanation: string;
}

export interface Answer {
  accepted: boolean;
  says: string;
  request: RequestKind | null;
  actions: Action[];
}

export function answerCommand(heard: Heard, policy: Policy): Answer {
  const { remark, word, task } = heard;
  if (!remark.mayWrite)
    return no(
      `Sorry, ${name(remark.author)}: only people with write access to this repository can ask that.`,
    );
  if (!isCommand(word)) return no(`${word === '' ? 'What?' : `I do not know \`${name(word)}\`.`}\n\n${LIST}`);
  if (!task) return no('There is no task here yet: nothing was ever taken up for it.');
  if (word === 'explain') return yes(null, heard.explanation);
  const kind = REQUESTS[word];
  const refused = refusal(task, kind) ?? (word === 'retry' ? noRetry(heard, task) : null);
  if (refused) return no([refused.why, refused.advice].filter(Boolean).join(' '));
  if (word === 'approve' && !isProposed(task) && isStale(remark, task))
    return no(
      `The head has changed since: it is \`${short(task.headSha)}\` now. Look at it, then approve again.`,
    );
  return yes(kind, SAYS[word](task), word === 'retry' ? ready(task, policy) : []);
}

/** Whoever asks in vain is told once per place, however often they ask. */
export function markerOf({ id, where, author, mayWrite }: Remark): string {
  return mayWrite ? `command:${id}` : `no-access:${where.kind}-${where.number}:${author}`;
}

const REQUESTS: Record<Exclude<CommandName, 'explain'>, RequestKind> = {
  retry: 'retry',
  abandon: 'abandon',
  approve: 'approve',
  hold: 'pause',
  resume: 'resume',
};

const SAYS: Record<Exclude<CommandName, 'explain'>, (task: Task) => string> = {
  retry: ({ attempt }) => `Attempt ${attempt + 1} starts when a slot is free.`,
  abandon: ({ branch }) => `It is given up. Its work stays on \`${branch}\`, and its worktree is kept.`,
  approve: (task) =>
    isProposed(task)
      ? 'Agreed: it is worked on with the specification that was proposed.'
      : `Approved at \`${short(task.headSha)}\`, in place of the critic.`,
  hold: ({ turn }) =>
    `It waits${turn ? ' when the turn at work has ended' : ''}. \`/loop resume\` lets it go on.`,
  resume: ({ hold }) => `It goes on${hold ? ` (it was held: ${oneLine(hold.detail)})` : ''}.`,
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

/** An approval is for the head that its author saw. */
function isStale({ headSha, at }: Remark, { headSha: head, pushedAt }: Task): boolean {
  return headSha !== null ? headSha !== head : pushedAt !== null && at < pushedAt;
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
const short = (sha: string | null): string => sha?.slice(0, 12) ?? 'none';
/** A stranger's word in our own comment: no mention, no markup. */
const name = (text: string): string => oneLine(text.replace(/[^\p{L}\p{N} ._-]/gu, '')).slice(0, 60);
