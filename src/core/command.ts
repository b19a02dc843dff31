/** Commands that people write into comments: `/loop hold`. */

export const COMMANDS = {
  retry: 'start a new attempt at the issue',
  abandon: 'give the task up; its worktree is kept',
  approve: 'approve the head as it is now, in place of the critic',
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
