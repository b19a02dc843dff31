/** What a replay needs of a task: its row, its events, what its agents were told, and what it changed. */
import { readFile } from 'node:fs/promises';
import type { Context } from '../context.ts';
import type { EventData, LoopEvent } from '../core/event.ts';
import type { Task } from '../core/task.ts';
import { type Step, stepsOf } from '../core/tell/replay.ts';
import { GitFailed, UserError } from '../errors.ts';
import { gitRepository } from '../git/repository.ts';
import { promptPathOf } from '../loop/turn-files.ts';
import type { Store } from '../store/store.ts';

export interface Recording {
  row: Task;
  events: readonly LoopEvent[];
  prompt(turn: EventData['turn_started']): Promise<string | null>;
  patch(base: string, head: string): Promise<string | null>;
}

export async function recordingOf(context: Context, store: Store, row: Task): Promise<Recording> {
  const places = await context.places();
  const repository = gitRepository(context.git);
  return {
    row,
    events: await store.events({ task: row.id }),
    prompt: (turn) => readFile(promptPathOf(places, row.id, turn), 'utf8').catch(() => null),
    patch: async (base, head) => {
      try {
        return (await repository.diff(base, head)).patch;
      } catch (error) {
        if (error instanceof GitFailed) return null;
        throw error;
      }
    },
  };
}

export function stepsIn({ row, events }: Pick<Recording, 'row' | 'events'>): Step[] {
  try {
    return stepsOf(events);
  } catch (error) {
    throw new UserError(
      `The events of ${row.id} can't be replayed: ${(error as Error).message}.`,
      'They may be of another version. `forge-loop events --task` lists them as they are.',
    );
  }
}

/** Null before the first checkpoint. */
export const commitsAt = ({ baseSha, headSha }: Task): { base: string; head: string } | null =>
  baseSha === null || headSha === null ? null : { base: baseSha, head: headSha };
