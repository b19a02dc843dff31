/** What `run` says of commands at work: each when it is first seen, and a long one again and again with its last line. */

import { EVENT_HANG } from '../core/words/event-line.ts';
import { oneLine } from '../core/words/fence.ts';
import { timeOf } from '../core/words/wall-time.ts';
import { lasting } from '../core/words/words.ts';
import type { AtWork } from '../view.ts';
import type { Terminal } from './terminal.ts';

const AGAIN_AFTER_MS = 30_000;
const COMMAND_CHARS = 80;

/** To be called often. What has ended between two looks is not worth a line: its result is one. */
export function createCommandLines(
  look: () => Promise<AtWork[]>,
  { print, paint }: Pick<Terminal, 'print' | 'paint'>,
): (now: number) => Promise<void> {
  let known = new Map<string, { since: number; saidAt: number }>();

  return async (now) => {
    const seen = new Map<string, { since: number; saidAt: number }>();
    for (const work of await look()) {
      const key = `${work.task} ${work.pid} ${work.command}`;
      const before = known.get(key);
      const isDue = !before || now - before.saidAt >= AGAIN_AFTER_MS;
      if (isDue) print(lineOf(work, before ? now - before.since : null, now), EVENT_HANG);
      seen.set(key, { since: before?.since ?? now, saidAt: isDue ? now : before.saidAt });
    }
    known = seen;
  };

  function lineOf({ name, what, command, lastLine }: AtWork, ranMs: number | null, now: number): string {
    const subject = name === null ? '' : `${paint.bold(name)} `;
    const named = `${what.replace(/^the /, '')}: \`${oneLine(command ?? '').slice(0, COMMAND_CHARS)}\``;
    const still = ranMs === null ? '' : `, ${lasting(ranMs)}${lastLine === null ? '' : `: ${lastLine}`}`;
    return `${paint.dim(timeOf(now))}  ${subject}${named}${paint.dim(still)}`;
  }
}
