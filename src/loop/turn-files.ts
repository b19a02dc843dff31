/**
 * The files of one turn, beside the other logs of its task. One run of a turn has them to itself: one that is run again under its
 * number writes them anew, but for the log and the transcript.
 */
import type { TurnRow } from '../store/store.ts';
import type { Places } from './ports.ts';

type TurnName = Pick<TurnRow, 'role' | 'turn' | 'sessionId'>;

const pathOf =
  (suffix: string) =>
  (places: Places, task: string, { role, turn, sessionId }: TurnName): string =>
    places.log(task, `${role}-${turn}-${sessionId.slice(0, 8)}.${suffix}`);

/** What its program printed. */
export const logPathOf = pathOf('log');
/** What its agent said and did, a line of JSON each. */
export const transcriptPathOf = pathOf('transcript.jsonl');
export const promptPathOf = pathOf('prompt.md');
export const foundPathOf = pathOf('found.json');
