/**
 * What an agent does in a turn, kept for people. Refused calls are events, so many of them at most, and the rest is a
 * number: a stubborn agent must not fill the log. What it is doing now is a small file beside its logs, written anew at
 * most every second; what it said and did is a line each in its transcript. Nobody decides by either.
 */
import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { redactValue } from '../core/access/redact.ts';
import { type EventData, event, type NewEvent } from '../core/event.ts';
import type { Role } from '../core/role.ts';
import { isShown, type Progress, progressText, type ShownProgress } from '../core/tell/progress.ts';
import type { Places, Ports } from './ports.ts';
import { transcriptPathOf } from './turn-files.ts';

export interface Activity {
  see(progress: Progress): void;
  /** False when it could not be written. */
  note(one: NewEvent): Promise<boolean>;
  /** Everything is written when it resolves. */
  over(): Promise<void>;
}

/** Of one turn; a hundred refusals say no more than the first ones. */
export const MOST_REFUSALS = 20;
const WRITE_EVERY_MS = 1000;
/** Of one turn's transcript. */
const MOST_TRANSCRIPT_BYTES = 8 * 1024 * 1024;

export function watchActivity(
  ports: Pick<Ports, 'store' | 'clock' | 'places' | 'writeText' | 'appendText' | 'log' | 'redact'>,
  task: string,
  { role, turn, sessionId }: { role: Role; turn: number; sessionId: string },
): Activity {
  const { store, clock } = ports;
  const path = fileOf(ports.places, task);
  const transcript = transcriptPathOf(ports.places, task, { role, turn, sessionId });
  let room = MOST_TRANSCRIPT_BYTES;
  let writing: Promise<unknown> = Promise.resolve();
  let writtenAt = Number.NEGATIVE_INFINITY;
  let latest: ShownProgress | null = null;
  let cancelWrite: (() => void) | null = null;
  let windows: EventData['rate_limits_seen']['windows'] | null = null;
  let refused = 0;
  let last: EventData['tool_refused'] | null = null;

  return {
    see(progress) {
      if (progress.kind === 'refused') refuse(progress);
      if (progress.kind === 'compacted') note(event('context_compacted', { role, turn, why: progress.why }));
      if (progress.kind === 'session')
        note(event('session_started', { role, turn, thread: progress.thread, agentTurn: progress.turn }));
      if (progress.kind === 'limits') windows = progress.windows;
      if (isShown(progress)) show(progress);
      transcribe(progress);
    },
    note,
    async over() {
      cancelWrite?.();
      if (last && refused > MOST_REFUSALS)
        record(event('tool_refused', { ...last, further: refused - MOST_REFUSALS }));
      if (windows) record(event('rate_limits_seen', { role, turn, windows }));
      await writing;
    },
  };

  function refuse({ code, tool, detail, why }: Extract<Progress, { kind: 'refused' }>): void {
    note(event('tool_refused', { role, turn, code, tool, detail: detail.slice(0, 500), why }));
  }

  async function note(one: NewEvent): Promise<boolean> {
    if (one.type === 'tool_refused') {
      refused += 1;
      last = one.data;
      if (refused > MOST_REFUSALS) return true;
    }
    return record(one);
  }

  function record(one: NewEvent): Promise<boolean> {
    return after(() => store.record({ task, events: [one], at: clock.now() }));
  }

  function transcribe(progress: Progress): void {
    if (room <= 0 || progress.kind === 'session' || progress.kind === 'limits') return;
    if (progress.kind === 'tool_over' && !progress.output) return;
    const line = JSON.stringify(redactValue({ at: clock.now(), ...progress }, ports.redact));
    room -= line.length;
    after(() => ports.appendText(transcript, `${room > 0 ? line : CUT}\n`));
  }

  function show(progress: ShownProgress): void {
    latest = progress;
    if (cancelWrite) return;
    const wait = writtenAt + WRITE_EVERY_MS - clock.now();
    if (wait <= 0) write(progress);
    else
      cancelWrite = clock.after(wait, () => {
        cancelWrite = null;
        if (latest) write(latest);
      });
  }

  function write(progress: ShownProgress): void {
    const at = clock.now();
    writtenAt = at;
    const doing = ports.redact.text(progressText(progress)).replace(/\s+/g, ' ').slice(0, 300);
    after(() => ports.writeText(path, JSON.stringify({ role, turn, at, doing })));
  }

  /** One after the other; a full disk costs a line of the log, never the turn. */
  function after(write: () => Promise<void>): Promise<boolean> {
    const written = writing.then(write).then(
      () => true,
      (problem) => {
        ports.log('warn', `what the agent does could not be written: ${String(problem)}`, { task });
        return false;
      },
    );
    writing = written;
    return written;
  }
}

const CUT = JSON.stringify({ kind: 'cut' });

const shown = z.object({ role: z.string(), turn: z.int(), at: z.number(), doing: z.string() });

/** What the agent of this very turn did last; null when nothing is known of it. */
export async function activityOf(
  places: Places,
  task: string,
  { role, turn }: { role: Role; turn: number },
): Promise<{ doing: string; at: number } | null> {
  const { data } = shown.safeParse(
    await readFile(fileOf(places, task), 'utf8')
      .then(JSON.parse)
      .catch(() => null),
  );
  return data && data.role === role && data.turn === turn ? { doing: data.doing, at: data.at } : null;
}

const fileOf = (places: Places, task: string): string => places.log(task, 'doing.json');
