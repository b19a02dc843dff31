/**
 * Whether every call that opencode made of a model was told, by its own log: that has a line for each call, those that
 * broke off included. Its record has only calls that came to their end, and what a broken one cost nobody tells.
 */
import { type FSWatcher, watch } from 'node:fs';
import { dirname, join } from 'node:path';
import { linesBelow } from '../stranger-files.ts';
import type { OpencodeAccount } from './account.ts';

interface AskedCalls {
  /** Waits until the log has the end of the session's turn, which it writes a while later; not for long. */
  ended(session: string): Promise<void>;
  /** False too when the log does not have the end of the turn. */
  areTold(session: string): Promise<boolean>;
}

/** Looks at what is logged from now on. */
export async function watchCalls(home: string, account: Pick<OpencodeAccount, 'calls'>): Promise<AskedCalls> {
  const before = await readLog(home);
  const told = account.calls();
  const since = async (session: string) => {
    const now = await readLog(home);
    const ends = (now.ends.get(session) ?? 0) - (before.ends.get(session) ?? 0);
    return { asked: now.asked - before.asked, isOver: ends > 0 };
  };
  return {
    ended: (session) => until(join(home, LOG), async () => (await since(session)).isOver),
    async areTold(session) {
      const { asked, isOver } = await since(session);
      return isOver && asked === account.calls() - told;
    },
  };
}

const LOG = join('.local', 'share', 'opencode', 'log', 'opencode.log');

interface Log {
  asked: number;
  /** How many turns have come to their end, by session. */
  ends: Map<string, number>;
}

const LINE = /^timestamp=\S+ level=INFO run=\S+ message=(stream|"exiting loop") .*?session\.id=(\S+)/;

async function readLog(home: string): Promise<Log> {
  const log: Log = { asked: 0, ends: new Map() };
  for await (const { line } of linesBelow(home, [LOG])) {
    const [, what, session] = LINE.exec(line) ?? [];
    if (what === 'stream') log.asked += 1;
    else if (session !== undefined) log.ends.set(session, (log.ends.get(session) ?? 0) + 1);
  }
  return log;
}

const LONGEST_WAIT_MS = 5_000;

/** Looks again whenever the file is written. */
async function until(path: string, isSo: () => Promise<boolean>): Promise<void> {
  const signal = AbortSignal.timeout(LONGEST_WAIT_MS);
  let watcher: FSWatcher | undefined;
  const waiting = new Promise<void>((resolve) => {
    const look = () =>
      void isSo().then(
        (so) => so && resolve(),
        () => resolve(),
      );
    signal.addEventListener('abort', () => resolve());
    watcher = watch(dirname(path), look).on('error', () => resolve());
    look();
  });
  // Its folder may be gone: then nothing is written there.
  await waiting.catch(() => {}).finally(() => watcher?.close());
}
