/** A folder of the demo's own. Whatever the demo writes is in it, and what the user has set up is neither read nor changed. */
import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { UserError } from '../../errors.ts';

export interface Scratch {
  folder: string;
  /** The repository. */
  project: string;
  /** In place of the user's state directory: work trees, sessions, logs. */
  state: string;
  remove(): Promise<void>;
}

export async function makeScratch(): Promise<Scratch> {
  const folder = await newFolder();
  const state = join(folder, 'state');
  settle(state);
  return {
    folder,
    project: join(folder, 'tally'),
    state,
    remove: () => rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 }),
  };
}

async function newFolder(): Promise<string> {
  try {
    return await realpath(await mkdtemp(join(tmpdir(), 'forge-loop-demo-')));
  } catch (error) {
    throw new UserError(
      `No scratch folder can be made in ${tmpdir()}: ${(error as Error).message}`,
      'Set TMPDIR to a folder you can write to.',
      { cause: error },
    );
  }
}

/** This process is the demo's alone, and so is its environment. */
function settle(state: string): void {
  const { env } = process;
  env.XDG_STATE_HOME = state;
  env.GIT_CONFIG_GLOBAL = '/dev/null';
  env.GIT_CONFIG_NOSYSTEM = '1';
  delete env.GIT_AUTHOR_NAME;
  delete env.GIT_AUTHOR_EMAIL;
  // The gate says `node`, and there is one: this.
  env.PATH = [env.PATH, dirname(process.execPath)].filter(Boolean).join(delimiter);
}
