/** What a task keeps outside its workspace, in the user's state directory: it has to survive a reboot. */
import { rmdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Places } from '../loop/ports.ts';
import { defaultRoot, realRoot } from './paths.ts';
import { list, lstatOrNull } from './plain-files.ts';
import { removeTree } from './remove-tree.ts';

export function openPlaces(repositoryKey: string): Places {
  const tasks = join(realRoot(dirname(defaultRoot())), repositoryKey, 'tasks');
  const log = (task: string, name: string): string => join(tasks, task, LOGS, name);
  return {
    // The coder's is named as the only one was: programs that keep their sessions there find them again.
    home: (task, user) => join(tasks, task, user === 'coder' ? 'home' : `home-${user}`),
    session: (task, sessionId) => join(tasks, task, SESSIONS, sessionId),
    log,
    async remove(task, part, preview = false) {
      const folder = join(tasks, task);
      const gone = (await entriesOf(folder)).filter(({ name }) => isOf(part, name));
      if (preview) return gone.length > 0;
      for (const { name } of gone) await removeTree(join(folder, name));
      removeEmpty(folder);
      return gone.length > 0;
    },
    async removeLogs(of, before, preview = false) {
      const folder = log(of, '');
      const old = (await entriesOf(folder))
        .map(({ name }) => join(folder, name))
        .filter((path) => (lstatOrNull(path)?.mtimeMs ?? before) < before);
      if (preview) return old;
      for (const path of old) rmSync(path, { force: true });
      removeEmpty(folder);
      removeEmpty(dirname(folder));
      return old;
    },
  };
}

const LOGS = 'logs';
const SESSIONS = 'sessions';

/** Beside each home is a note of what was offered in it. */
const isOf = (part: 'private' | 'logs', name: string): boolean =>
  part === 'logs' ? name === LOGS : name === SESSIONS || /^home\b/.test(name);

const entriesOf = async (folder: string) => (lstatOrNull(folder)?.isDirectory() ? list(folder) : []);

function removeEmpty(folder: string): void {
  try {
    rmdirSync(folder);
  } catch {}
}
