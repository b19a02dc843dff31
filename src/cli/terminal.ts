/** Where text goes: colours only where somebody sees them, a closed pipe that is no error. */
import type { Redact } from '../core/access/redact.ts';
import type { Paint } from '../core/words/paint.ts';
import { visible } from '../core/words/visible.ts';
import { wrapped } from './layout.ts';

export interface Terminal {
  readonly json: boolean;
  readonly isTty: boolean;
  readonly columns: number | null;
  readonly paint: Paint;
  /** What does not fit on a line goes on below it, by `hang` to the right. */
  print(text: string, hang?: number): void;
  /** As it is, in one piece: a link that is a secret, for the eyes of whoever started the server. */
  printLink(text: string): void;
  /** In place of all that is on the screen. */
  redraw(text: string): void;
  /** The whole screen, beside what was on it before; null where nobody sees one or types. */
  fullScreen(): FullScreen | null;
  /** What is not the answer: hints and progress beside machine-readable output. */
  note(text: string, hang?: number): void;
}

export interface FullScreen {
  readonly size: { rows: number; columns: number };
  /** May it show more than ASCII? */
  readonly unicode: boolean;
  /** As it may be seen. Before it is cut or broken into lines: a part of a secret is not known for one. */
  shown(text: string): string;
  draw(lines: readonly string[]): void;
  /** Another program has the terminal until `enter`. */
  leave(): void;
  enter(): void;
  /** Calls `again` when the size changes, until the signal fires; not while another program has the terminal. */
  onResize(again: () => void, stop: AbortSignal): void;
}

/** Whatever is printed goes through `redact`, and steers the terminal by nothing but our own colours. */
export function openTerminal(options: {
  json: boolean;
  color: boolean | undefined;
  redact: Redact;
}): Terminal {
  const { stdout, stderr } = process;
  const hasColor = options.color ?? wantsColor(process.env, Boolean(stdout.isTTY));
  const shown = (text: string): string => visible(options.redact(text), hasColor ? isPaint : undefined);
  const fitting = (text: string, stream: NodeJS.WriteStream, hang: number): string =>
    options.json ? shown(text) : wrapped(shown(text), columnsOf(stream), hang);
  return {
    json: options.json,
    isTty: Boolean(stdout.isTTY),
    get columns() {
      return columnsOf(stdout);
    },
    paint: painter(hasColor),
    print: (text, hang = HANG) => void stdout.write(`${fitting(text, stdout, hang)}\n`),
    printLink: (text) => void stdout.write(`${text}\n`),
    redraw: (text) => void stdout.write(`${CLEAR}${shown(text)}\n`),
    note: (text, hang = HANG) => void stderr.write(`${fitting(text, stderr, hang)}\n`),
    fullScreen: () => (stdout.isTTY && process.stdin.isTTY ? fullScreen(shown) : null),
  };
}

function fullScreen(shown: (text: string) => string): FullScreen {
  const { stdout } = process;
  let isOurs = false;
  return {
    get size() {
      return { rows: stdout.rows || 24, columns: stdout.columns || 80 };
    },
    unicode: speaksUnicode(process.env),
    shown,
    draw(lines) {
      const drawn = lines.map((line) => `${shown(line.replaceAll('\n', ' '))}${REST_OF_LINE}`);
      stdout.write(`${HOME}${drawn.join('\r\n')}${REST_OF_SCREEN}`);
    },
    leave() {
      isOurs = false;
      stdout.write(LEAVE);
    },
    enter() {
      isOurs = true;
      stdout.write(ENTER);
    },
    onResize(again, stop) {
      const resized = (): void => {
        if (isOurs) again();
      };
      stdout.on('resize', resized);
      stop.addEventListener('abort', () => stdout.off('resize', resized), { once: true });
    },
  };
}

/** By the variables that say so, in their order. */
export const speaksUnicode = (env: NodeJS.ProcessEnv): boolean =>
  /utf-?8/i.test(env.LC_ALL || env.LC_CTYPE || env.LANG || '');

const HANG = 2;
/** Asked each time: a window changes its size. */
const columnsOf = (stream: NodeJS.WriteStream): number | null => (stream.isTTY && stream.columns) || null;

const HOME = '\x1b[H';
const CLEAR = `${HOME}\x1b[2J`;
const REST_OF_LINE = '\x1b[K';
const REST_OF_SCREEN = '\x1b[J';
/** A screen of its own, without a cursor; what was there before comes back. */
const ENTER = '\x1b[?1049h\x1b[?25l';
const LEAVE = '\x1b[?25h\x1b[?1049l';

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

const CODES: Record<keyof Paint, readonly [open: number, close: number]> = {
  bold: [1, 22],
  dim: [2, 22],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  blue: [34, 39],
  cyan: [36, 39],
};
const sequence = (code: number): string => `\x1b[${code}m`;
const OURS: ReadonlySet<string> = new Set(Object.values(CODES).flat().map(sequence));

/** Of strangers, too, it does no more than colour. */
export const isPaint = (text: string): boolean => OURS.has(text);

export function painter(on: boolean): Paint {
  const code =
    ([open, close]: readonly [number, number]) =>
    (text: string): string =>
      on && text !== '' ? `${sequence(open)}${text}${sequence(close)}` : text;
  return Object.fromEntries(Object.entries(CODES).map(([name, codes]) => [name, code(codes)])) as Paint;
}

export function shortTokens(tokens: number): string {
  if (tokens < 10_000) return `${tokens}`;
  return tokens < 1_000_000 ? `${(tokens / 1000).toFixed(0)}k` : `${(tokens / 1_000_000).toFixed(1)}M`;
}
