/** An environment as lines of a shell script: a file holds every value as it is, and nobody sees it on a command line. */
import type { Command } from './sandbox.ts';

/** Names that a shell sets by itself, and lets nobody set. */
const SHELLS_OWN = ['UID', 'EUID', 'PPID', 'SHELLOPTS', 'BASHOPTS', 'BASH_VERSINFO'];

export const exported = (env: Command['env']): string =>
  Object.entries(env)
    .filter(([name]) => /^[A-Za-z_]\w*$/.test(name) && !SHELLS_OWN.includes(name))
    .map(([name, value]) => `export ${name}=${quoted(value)}\n`)
    .join('');

export const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;
