/** What went wrong on the command line or below it, in words a person can act on. */
import type { Command } from 'commander';

interface Told {
  message: string;
  hint: string | null;
}

/** Commander's own words for a mistake of usage; without a better hint, the help of the very command. */
export function usageMistake(said: string, command: Command): Told {
  const [first = '', ...rest] = said
    .replace(/^error: /, '')
    .trim()
    .split('\n');
  const guess = rest.join(' ').replace(/^\(|\)$/g, '');
  return {
    message: plain(first),
    hint: guess || helpHint(command),
  };
}

export const helpHint = (command: Command): string =>
  `\`${nameOf(command)} --help\` shows ${command.parent ? 'what it takes' : 'every command'}.`;

function plain(message: string): string {
  const [, value, name, why] =
    /^(?:command-argument value|option) '(.*)' (?:is invalid for argument|argument) '(.*)'(?: is invalid)?\. (.*)$/.exec(
      message,
    ) ?? [];
  if (value === undefined || name === undefined) return message;
  // Of an option Commander names the option first, of an argument what was given.
  const [what, given] = message.startsWith('option')
    ? [/--[\w-]+/.exec(value)?.[0] ?? value, name]
    : [name, value];
  return `invalid ${what} '${given}': ${adviceOf(why)}`;
}

function adviceOf(why = ''): string {
  const choices = /^Allowed choices are (.*)\.$/.exec(why)?.[1]?.split(', ');
  if (choices)
    return `use ${new Intl.ListFormat('en', { type: 'disjunction' }).format(choices).replace(', or', ' or')}`;
  return `${why[0]?.toLowerCase() ?? ''}${why.slice(1).replace(/\.$/, '')}`;
}

function nameOf(command: Command): string {
  return command.parent ? `${nameOf(command.parent)} ${command.name()}` : command.name();
}

/** What the system refused; null for anything else. */
export function systemRefusal(error: unknown): Told | null {
  if (!(error instanceof Error)) return null;
  const { code, path, dest, message } = error as NodeJS.ErrnoException & { dest?: string };
  const refusal = code === undefined ? undefined : REFUSALS[code];
  if (!refusal) return null;
  const place = dest ?? path;
  const said = place ? `${place}: ${refusal.what}` : `Refused by the system: ${refusal.what}`;
  return { message: `${said} (${message}).`, hint: refusal.hint };
}

const FULL = { what: 'the disk is full', hint: 'Free some space, then try again.' };
const CLOSED = {
  what: 'permission denied',
  hint: 'Make it and its folder accessible for this user.',
};
const REFUSALS: Readonly<Record<string, { what: string; hint: string }>> = {
  ENOSPC: FULL,
  EDQUOT: { ...FULL, what: 'the disk quota is used up' },
  EROFS: { what: 'the file system is read-only', hint: 'Make it writable, or work on a repository that is.' },
  EACCES: CLOSED,
  EPERM: CLOSED,
  EMFILE: { what: 'too many files are open', hint: 'Raise the limit (`ulimit -n`), then try again.' },
};
