/**
 * A repository that is open for longer than one command. Settings are read when it is opened, so it is opened anew when
 * WORKFLOW.md has changed; the one before is closed once nobody uses it any more.
 */
import { stat } from 'node:fs/promises';
import type { Context } from '../context.ts';

export interface LiveContext {
  use<T>(work: (context: Context) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

interface Opened {
  context: Context;
  readAt: string;
  users: number;
  retired: boolean;
}

export async function liveContext(open: () => Promise<Context>): Promise<LiveContext> {
  let current = await opened(await open());
  let opening: Promise<void> | null = null;

  /** Counted as a user before anything is awaited: what is used is not closed. */
  const take = async (): Promise<Opened> => {
    const used = current;
    used.users += 1;
    if ((await stamp(used.context)) === used.readAt) return used;
    try {
      if (used === current) await reopen();
    } finally {
      await release(used);
    }
    current.users += 1;
    return current;
  };

  const reopen = (): Promise<void> => {
    opening ??= (async () => {
      const next = await opened(await open());
      const former = current;
      current = next;
      former.retired = true;
      await closeUnused(former);
    })().finally(() => {
      opening = null;
    });
    return opening;
  };

  return {
    async use(work) {
      const used = await take();
      try {
        return await work(used.context);
      } finally {
        await release(used);
      }
    },
    async close() {
      await opening?.catch(() => null);
      current.retired = true;
      await closeUnused(current);
    },
  };
}

const opened = async (context: Context): Promise<Opened> => ({
  context,
  readAt: await stamp(context),
  users: 0,
  retired: false,
});

async function stamp({ configPath }: Context): Promise<string> {
  const file = await stat(configPath).catch(() => null);
  return file ? `${file.mtimeMs} ${file.size} ${file.ino}` : 'none';
}

async function release(used: Opened): Promise<void> {
  used.users -= 1;
  await closeUnused(used);
}

async function closeUnused({ context, users, retired }: Opened): Promise<void> {
  if (retired && users === 0) await context.close();
}
