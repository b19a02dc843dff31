/** What every part of this forge needs to know: the repository, the way to ask, and who we are. */
import type { Git } from '../../git/git.ts';
import type { Client } from './client.ts';
import type { Remote } from './remote.ts';

export interface Place {
  client: Client;
  git: Git;
  remote: Remote;
  /** `owner` and `repo` as routes want them. */
  at: { owner: string; repo: string };
  /** Where people see it: `github.com`. */
  host: string;
  /** What this repository is called now, and in the settings: `owner/name`, in lower case. */
  names(): Promise<string[]>;
  /** The account the loop acts as. */
  self(): Promise<string>;
  trunkBranch(): Promise<string>;
  now(): number;
  /** How old an answer may be and still count as "now"; a look at one task asks for many things at once. */
  freshMs: number;
  /** How often the loop looks by itself. */
  pollMs(): number;
}

/** Runs a section while no other process does, on this machine. */
export type Exclusively = <T>(name: string, section: () => Promise<T>) => Promise<T>;
