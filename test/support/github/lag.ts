/**
 * GitHub reads from copies that come late, each in its own time: what was just written is not in every list, and a query
 * says something else than a list does. Every write is seen by every reader after a number of seconds that a seed decides.
 */
import { branches } from './git-backend.ts';
import type { CheckRun, IssueRow, Status, World } from './world.ts';

/**
 * Who reads: lists, queries and the lists of workflow runs and jobs have copies of their own; whether something can be merged,
 * which head a pull request has, what became of it in a merge queue, and what an issue's history tells (edits, labels, names)
 * are each worked out behind them.
 */
type Reader = 'list' | 'query' | 'runs' | 'mergeability' | 'head' | 'history' | 'queue';

export interface Lag {
  /** Before anything is written. */
  keep(): void;
  /** The world as this reader sees it now. */
  seen(reader: Reader): World;
}

interface Kept {
  /** When this was changed. */
  at: number;
  write: number;
  issues: Map<number, IssueRow>;
  statuses: Status[];
  checks: CheckRun[];
  tips: Map<string, string>;
}

export function createLag(world: World, options: { seed: number; ms: number }): Lag {
  let kept: Kept[] = [];
  let writes = 0;
  /** The same for the same seed; as good as any to scatter with. */
  const delay = (reader: Reader, write: number): number => {
    let hash = options.seed;
    for (const letter of `${reader} ${write}`) hash = Math.imul(hash ^ letter.charCodeAt(0), 0x01000193);
    return (hash >>> 0) % (options.ms + 1);
  };
  return {
    keep() {
      const { issues, statuses, checks } = world;
      const at = world.now();
      kept = kept.filter((one) => one.at + options.ms > at);
      kept.push({
        at,
        write: writes,
        ...structuredClone({ issues, statuses, checks }),
        tips: branches(world),
      });
      writes += 1;
    },
    seen(reader) {
      // Writes become visible in their order, as they do in a copy of a database.
      const before = kept.find((one) => one.at + delay(reader, one.write) > world.now());
      if (!before) return world;
      const { issues, statuses, checks, tips } = before;
      return { ...world, issues, statuses, checks, tips };
    },
  };
}
