/** What we answer to `/loop` commands, where they were written. */

import type { Task } from '../task.ts';
import { shortened } from '../text/shortened.ts';
import { oneLine } from './fence.ts';
import { shortSha } from './short-sha.ts';

/** What each command does, in the list that an unknown one is answered with. */
export const COMMANDS = {
  retry: 'start a new attempt at the issue',
  abandon: 'abandon the task; its worktree is kept',
  approve: 'approve the current head, in place of the critic, or agree to the proposed specification',
  pause: 'pause the task after the current turn',
  resume: 'let a waiting task continue',
  explain: 'say what the task waits for, and what happened last',
} as const;
export type CommandName = keyof typeof COMMANDS;

export const ACCEPTED: Record<Exclude<CommandName, 'explain'>, (task: Task) => string> = {
  retry: ({ attempt }) => `Attempt ${attempt + 1} starts when a slot is free.`,
  abandon: ({ branch }) => `Abandoned. The work stays on \`${branch}\`; the worktree is kept.`,
  approve: (task) =>
    task.spec?.status === 'proposed'
      ? 'Agreed: the work follows the proposed specification.'
      : `Approved at \`${shortSha(task.headSha)}\`, in place of the critic.`,
  pause: ({ turn }) =>
    `Paused${turn ? '; the current turn finishes first' : ''}. \`/loop resume\` continues.`,
  resume: ({ hold }) => `Continuing${hold ? ` (was held: ${oneLine(hold.detail)})` : ''}.`,
};

export const REFUSED = {
  stranger: (author: string): string =>
    `Sorry, ${nameIn(author)}: only people with write access to this repository can do that.`,
  unknown: (word: string): string =>
    `${word === '' ? 'No command given.' : `Unknown command \`${nameIn(word)}\`.`}\n\n${LIST}`,
  noTask: 'There is no task for this yet: no work on the issue has started.',
  closed: 'The issue is closed. Reopen it, then ask again.',
  edited:
    'The issue was edited since that attempt. Label it as ready instead: that accepts the text as it is now.',
  unread: 'That was written before the specification was proposed. Read it, then approve again.',
  stale: ({ headSha }: Task): string =>
    `The head has changed since: it is now \`${shortSha(headSha)}\`. Review it, then approve again.`,
} as const;

const LIST = Object.entries(COMMANDS)
  .map(([command, does]) => `- \`/loop ${command}\`: ${does}`)
  .join('\n');

/** A stranger's word in our own comment: no mention, no markup. */
const nameIn = (text: string): string => shortened(oneLine(text.replace(/[^\p{L}\p{N} ._-]/gu, '')), 60);
