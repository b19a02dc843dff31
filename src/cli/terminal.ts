/** Where text goes: colours only where somebody sees them, tables that align, a closed pipe that is no error. */

import sliceAnsi from 'slice-ansi';
import stringWidth from 'string-width';
import type { Redact } from '../core/redact.ts';

export interface Terminal {
  readonly json: boolean;
  readonly isTty: boolean;
  readonly columns: number | null;
  readonly paint: Paint;
  print(text: string): void;
  /** What is not the answer: hints and progress beside machine-readable output. */
  note(text: string): void;
}

export type Paint = Record<
  'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'blue' | 'cyan',
  (text: string) => string
>;

/** Whatever is printed goes through `redact`. */
export function openTerminal(options: {
  json: boolean;
  color: boolean | undefined;
  redact: Redact;
}): Terminal {
  const { stdout, stderr } = process;
  const { redact } = options;
  return {
    json: options.json,
    isTty: Boolean(stdout.isTTY),
    columns: (stdout.isTTY && stdout.columns) || null,
    paint: painter(options.color ?? wantsColor(process.env, Boolean(stdout.isTTY))),
    print: (text) => void stdout.write(`${redact(text)}\n`),
    note: (text) => void stderr.write(`${redact(text)}\n`),
  };
}

/** The reader of a pipe may leave when it has seen enough, and a window may be closed. */
export function outliveReaders(): void {
  for (const stream of [process.stdout, process.stderr])
    if (stream.listenerCount('error') === 0) stream.on('error', ignoreClosed);
}

function ignoreClosed(error: NodeJS.ErrnoException): void {
  if (!CLOSED.has(error.code ?? '')) throw error;
}

/** Nobody reads any more: a pipe that was left, a terminal that is gone. */
const CLOSED: ReadonlySet<string> = new Set(['EPIPE', 'EIO', 'ENXIO', 'ERR_STREAM_DESTROYED']);

/** Of its own: nohup and services leave none. */
export const hasTerminal = (): boolean =>
  [process.stdin, process.stdout, process.stderr].some((stream) => Boolean(stream.isTTY));

/** Ends what goes on for as long as somebody watches: they interrupt it, or close the pipe. */
export function untilInterrupted(): AbortSignal {
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort());
  process.stdout.once('close', () => stop.abort());
  return stop.signal;
}

/** NO_COLOR and FORCE_COLOR as everybody reads them; otherwise only a terminal gets colours. */
export function wantsColor(env: NodeJS.ProcessEnv, isTty: boolean): boolean {
  if (env.NO_COLOR) return false;
  if (env.FORCE_COLOR !== undefined) return env.FORCE_COLOR !== '0' && env.FORCE_COLOR !== 'false';
  return isTty && env.TERM !== 'dumb';
}

export function painter(on: boolean): Paint {
  const code = (open: number, close: number) => (text: string) =>
    on && text !== '' ? `\x1b[${open}m${text}\x1b[${close}m` : text;
  return {
    bold: code(1, 22),
    dim: code(2, 22),
    red: code(31, 39),
    green: code(32, 39),
    yellow: code(33, 39),
    blue: code(34, 39),
    cyan: code(36, 39),
  };
}

/** Columns as wide as their widest cell; the last is cut at the edge of the terminal. */
export function table(rows: readonly (readonly string[])[], columns: number | null = null): string {
  const widths: number[] = [];
  for (const row of rows)
    row.forEach((cell, at) => {
      widths[at] = Math.max(widths[at] ?? 0, width(cell));
    });
  return rows
    .map((row) => {
      const cells = row.map((cell, at) =>
        at === row.length - 1 ? cell : cell + ' '.repeat(widths[at]! - width(cell)),
      );
      const line = cells.join('  ').trimEnd();
      return columns === null ? line : cut(line, columns);
    })
    .join('\n');
}

/** Cells of a terminal that a text takes. */
export const width = (text: string): number => stringWidth(text);

/** No longer than that; what is open where it is cut, a colour or a link, is closed. */
export function cut(text: string, columns: number): string {
  if (width(text) <= columns) return text;
  const room = columns - 1;
  const kept = sliceAnsi(text, 0, room);
  // A slice has every letter that begins in it, also a wide one that ends outside.
  return `${width(kept) > room ? sliceAnsi(text, 0, room - 1) : kept}…`;
}

export function shortTokens(tokens: number): string {
  if (tokens < 10_000) return `${tokens}`;
  return tokens < 1_000_000 ? `${(tokens / 1000).toFixed(0)}k` : `${(tokens / 1_000_000).toFixed(1)}M`;
}
