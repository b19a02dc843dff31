/**
 * A home for Codex that was begun already. When it first starts in one, Codex makes its databases there, and nothing else is
 * done meanwhile; every session has a home of its own. So one is begun once in a runner, by a start of the program that is
 * told nothing and asked nothing, and the homes of later sessions begin as copies of it. No thread was ever in what is copied.
 *
 * It only saves time: whatever goes wrong here, Codex begins the home itself.
 */
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Dialogue } from '../../process/dialogue.ts';
import { appServer } from './app-server.ts';
import { INTRODUCTION } from './conversation.ts';

export interface BegunHomes {
  /** `start` starts the program in this home; it has ended when this resolves. */
  prepare(home: string, start: () => Dialogue, signal: AbortSignal): Promise<void>;
}

/** Of the home, as a path below it, and what is in it. */
type Kept = readonly (readonly [string, Buffer])[];

const ANSWERS_WITHIN_MS = 20_000;
const MOST_BYTES = 16 * 1024 * 1024;
/** The settings are the turn's own. */
const SETTINGS = 'config.toml';

export function begunHomes(): BegunHomes {
  let kept: Kept | 'none yet' | 'under way' | 'never' = 'none yet';
  return {
    async prepare(home, start, signal) {
      // What a turn that died has begun is left as it is: half of it may stand in files beside.
      if ((await readdir(home)).some((name) => name !== SETTINGS)) return;
      if (kept === 'none yet') {
        kept = 'under way';
        kept = (await begin(start(), signal)) ? await contentsOf(home).catch(() => 'never') : 'none yet';
      } else if (typeof kept !== 'string') {
        for (const [path, content] of kept) {
          await mkdir(dirname(join(home, path)), { recursive: true, mode: 0o700 });
          await writeFile(join(home, path), content, { mode: 0o600 });
        }
      }
    },
  };
}

async function begin(child: Dialogue, signal: AbortSignal): Promise<boolean> {
  const server = appServer(child.stdin, child.stdout, { onNotification() {}, onRequest: () => undefined });
  const over = new AbortController();
  const stop = AbortSignal.any([signal, over.signal]);
  const answered = await Promise.race([
    server.request('initialize', INTRODUCTION).then(
      () => true,
      () => false,
    ),
    delay(ANSWERS_WITHIN_MS, false, { signal: stop }).catch(() => false),
  ]);
  over.abort();
  await child.end();
  return answered;
}

async function contentsOf(home: string): Promise<Kept | 'never'> {
  const found = await readdir(home, { recursive: true, withFileTypes: true });
  const files = found.filter((entry) => entry.isFile() && entry.name !== SETTINGS);
  const kept = await Promise.all(
    files.map(async ({ parentPath, name }) => {
      const path = join(parentPath, name);
      return [path.slice(home.length + 1), await readFile(path)] as const;
    }),
  );
  return kept.reduce((sum, [, content]) => sum + content.length, 0) > MOST_BYTES ? 'never' : kept;
}
