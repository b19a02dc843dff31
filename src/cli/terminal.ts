/** Where text goes: colours only where somebody sees them, tables that align, a closed pipe that is no error. */

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

export function openTerminal(options: { json: boolean; color: boolean | undefined }): Terminal {
  const { stdout, stderr } = process;
  return {
    json: options.json,
    isTty: Boolean(stdout.isTTY),
    columns: (stdout.isTTY && stdout.columns) || null,
    paint: painter(options.color ?? wantsColor(process.env, Boolean(stdout.isTTY))),
    print: (text) => void stdout.write(`${text}\n`),
    note: (text) => void stderr.write(`${text}\n`),
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

/** A colour, as its sequence of control characters. */
const ANSI = new RegExp(`(${'\u001b'}\\[[0-9;]*m)`, 'u');
const WIDE =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u;
const NARROW = /[\p{Mark}\u200b-\u200f]/u;

/** Cells of a terminal that a text takes. */
export function width(text: string): number {
  let cells = 0;
  for (const char of text
    .split(ANSI)
    .filter((_, at) => at % 2 === 0)
    .join(''))
    cells += NARROW.test(char) ? 0 : WIDE.test(char) ? 2 : 1;
  return cells;
}

export function cut(text: string, columns: number): string {
  if (width(text) <= columns) return text;
  let kept = '';
  let cells = 0;
  for (const part of text.split(ANSI)) {
    if (part.startsWith('\x1b')) {
      kept += part;
      continue;
    }
    for (const char of part) {
      const wide = width(char);
      if (cells + wide > columns - 1) return `${kept}…${text.includes('\x1b') ? '\x1b[0m' : ''}`;
      kept += char;
      cells += wide;
    }
  }
  return kept;
}

export function shortTokens(tokens: number): string {
  if (tokens < 10_000) return `${tokens}`;
  return tokens < 1_000_000 ? `${(tokens / 1000).toFixed(0)}k` : `${(tokens / 1_000_000).toFixed(1)}M`;
}
