/**
 * What agents said and did, turn by turn, as a transcript that reads the same for each of them. Agents that tell what they do have
 * a line for each thing; of a program that only prints, its output is the transcript.
 */
import { open } from 'node:fs/promises';
import { z } from 'zod';
import type { Context } from '../context.ts';
import type { Role } from '../core/role.ts';
import { nameOfTask } from '../core/task.ts';
import type { Places } from '../loop/ports.ts';
import { logPathOf, transcriptPathOf } from '../loop/turn-files.ts';
import type { TurnRow } from '../store/store.ts';
import { iso } from '../view.ts';
import { findTask } from './reference.ts';

interface LogEntry {
  /** Where it begins in its file: grows with every entry of a turn. */
  offset: number;
  /** Null of what a program printed. */
  at: string | null;
  kind: 'said' | 'tool' | 'output' | 'refused' | 'retrying' | 'compacted' | 'cut';
  tool: string | null;
  text: string;
}

interface TurnLog extends Omit<TurnRow, 'startedAt' | 'endedAt' | 'task'> {
  startedAt: string;
  endedAt: string | null;
  entries: LogEntry[];
}

interface Logs {
  task: string;
  name: string;
  turns: TurnLog[];
}

/** With `after`, of the newest of these turns alone what was said after the entry with that offset. */
export async function readLogs(
  context: Context,
  input: {
    task: string;
    role?: Role | undefined;
    turn?: number | undefined;
    last?: number | undefined;
    after?: number | undefined;
  },
): Promise<Logs> {
  const store = await context.reading();
  const { task } = await findTask(store, input.task);
  const places = await context.places();
  const rows = (await store!.turns(task.id)).filter(
    ({ role, turn }) =>
      (!input.role || role === input.role) && (input.turn === undefined || turn === input.turn),
  );
  // One that was taken up again goes on in the same file.
  const taken = rows.filter((row, at) => rows.findLastIndex((other) => isSame(row, other)) === at);
  const last = input.after === undefined ? (input.last ?? taken.length) : 1;
  const turns: TurnLog[] = [];
  for (const { task: id, startedAt, endedAt, ...turn } of taken.slice(-last))
    turns.push({
      ...turn,
      startedAt: iso(startedAt)!,
      endedAt: iso(endedAt),
      entries: await entriesOf(places, id, turn, endedAt !== null, input.after ?? null),
    });
  return { task: task.id, name: nameOfTask(task), turns };
}

const isSame = (one: TurnRow, other: TurnRow): boolean =>
  one.turn === other.turn && one.role === other.role && one.sessionId === other.sessionId;

type Turn = Parameters<typeof logPathOf>[2];

async function entriesOf(
  places: Places,
  task: string,
  turn: Turn,
  isOver: boolean,
  after: number | null,
): Promise<LogEntry[]> {
  const told = await linesOf(transcriptPathOf(places, task, turn), MOST_TOLD_BYTES, isOver, after);
  if (told !== null) return collapsed(told.flatMap(({ offset, text }) => entryOf(offset, text)));
  const printed = await linesOf(logPathOf(places, task, turn), MOST_PRINTED_BYTES, isOver, after);
  return (printed ?? []).map(({ offset, text }) => ({ offset, at: null, kind: 'output', tool: null, text }));
}

const MOST_TOLD_BYTES = 8 * 1024 * 1024;
const MOST_PRINTED_BYTES = 1024 * 1024;

/** The last whole lines of a file, or those after one; null when there is none. A line that may still grow waits until it is whole. */
async function linesOf(
  path: string,
  most: number,
  isOver: boolean,
  after: number | null,
): Promise<{ offset: number; text: string }[] | null> {
  const file = await open(path, 'r').catch(() => null);
  if (!file) return null;
  try {
    const { size } = await file.stat();
    const start = Math.min(size, Math.max(after ?? 0, size - most));
    const { buffer, bytesRead } = await file.read(Buffer.alloc(size - start), 0, size - start, start);
    const lines: { offset: number; text: string }[] = [];
    let from = start === 0 && after === null ? 0 : buffer.indexOf(10) + 1;
    if (from === 0 && after !== null) return [];
    while (from < bytesRead) {
      const end = buffer.indexOf(10, from);
      if (end < 0 && !isOver) break;
      const to = end < 0 ? bytesRead : end;
      lines.push({ offset: start + from, text: buffer.toString('utf8', from, to) });
      from = to + 1;
    }
    return lines;
  } finally {
    await file.close();
  }
}

const line = z.object({
  at: z.number().optional(),
  kind: z.enum(['said', 'tool', 'tool_over', 'refused', 'retrying', 'compacted', 'cut']),
  text: z.string().optional(),
  tool: z.string().optional(),
  detail: z.string().optional(),
  output: z.string().optional(),
  why: z.string().optional(),
});

/** A line that was cut off with its runner is none. */
function entryOf(offset: number, text: string): LogEntry[] {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    return [];
  }
  const { data } = line.safeParse(json);
  if (!data) return [];
  const { at, kind, tool = null, why } = data;
  const said = { said: data.text, tool: data.detail, tool_over: data.output, cut: CUT }[kind as 'said'];
  const refusal = kind === 'refused' ? `${data.detail}: ${why}` : why;
  return [
    {
      offset,
      at: iso(at ?? null),
      kind: kind === 'tool_over' ? 'output' : kind,
      tool,
      text: said ?? refusal ?? '',
    },
  ];
}

const CUT = 'the rest was not kept: the transcript is too long';

/** Some agents tell a text again and again while it grows. */
const collapsed = (entries: readonly LogEntry[]): LogEntry[] =>
  entries.filter((one, at) => {
    const next = entries[at + 1];
    return !(one.kind === 'said' && next?.kind === 'said' && next.text.startsWith(one.text));
  });
