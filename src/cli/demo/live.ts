/**
 * The live view: a board and the last events below it, drawn over itself.
 *
 * Every line is cut to the width of the terminal, and only what changed is written, so nothing wraps or flickers.
 */

import type { Paint } from '../../core/words/paint.ts';
import { visible } from '../../core/words/visible.ts';
import { follow } from '../../operations/follow.ts';
import { cut, width } from '../layout.ts';
import { isPaint, type Terminal } from '../terminal.ts';
import type { BoardRow } from './board.ts';

interface Live {
  /** A line for the record below the board. */
  say(line: string): void;
  /** Takes the view off the screen and gives the cursor back. */
  close(): Promise<void>;
}

const DRAW_EVERY_MS = 100;
const MOST_LINES_SAID = 10;

export function openLive(
  { title, column }: { title: string; column: string },
  terminal: Terminal,
  read: (before: readonly BoardRow[]) => Promise<BoardRow[]>,
): Live {
  const { stdout } = process;
  const startedAt = Date.now();
  const said: string[] = [];
  let rows: readonly BoardRow[] = [];
  let drawn: string[] = [];

  const draw = (): void => {
    // A line that fills the last column leaves the cursor in different places on different terminals.
    const columns = (stdout.columns || 80) - 1;
    const board = boardLines(column, rows, columns, terminal.paint);
    const heading = `${terminal.paint.bold(title)}  ${terminal.paint.dim(seconds(Date.now() - startedAt))}`;
    // What is taller than the screen can't be drawn over.
    const most = (stdout.rows || 24) - 1;
    const room = Math.min(MOST_LINES_SAID, most - board.length - 3);
    const record = room > 0 ? said.slice(-room) : [];
    const lines = [heading, '', ...board, '', ...record]
      .slice(0, most)
      .map((line) => cut(visible(line, isPaint), columns));
    if (lines.join('\n') === drawn.join('\n')) return;
    stdout.write(
      `\r${up(drawn.length)}${lines.map((line) => `${line}${CLEAR_TO_END}\n`).join('')}${CLEAR_BELOW}`,
    );
    drawn = lines;
  };

  // Nobody knows where a terminal of another size has put what was drawn.
  const redraw = (): void => {
    stdout.write(CLEAR_SCREEN);
    drawn = [];
    draw();
  };

  const showCursor = (): void => void stdout.write(SHOW_CURSOR);
  process.once('exit', showCursor);
  stdout.on('resize', redraw);
  stdout.write(HIDE_CURSOR);
  const stop = new AbortController();
  // A database that can't be read now is the runner's to report.
  const look = () => read(rows).catch(() => rows);
  const drawing = (async () => {
    for await (const now of follow(look, DRAW_EVERY_MS, stop.signal)) {
      rows = now;
      draw();
    }
  })();
  return {
    say(text) {
      said.push(...text.split('\n'));
      draw();
    },
    async close() {
      stop.abort();
      await drawing;
      process.off('exit', showCursor);
      stdout.off('resize', redraw);
      stdout.write(`\r${up(drawn.length)}${CLEAR_BELOW}${SHOW_CURSOR}`);
    },
  };
}

const HIDE_CURSOR = '\x1b[?25l';
const SHOW_CURSOR = '\x1b[?25h';
const CLEAR_TO_END = '\x1b[K';
const CLEAR_BELOW = '\x1b[J';
const CLEAR_SCREEN = '\x1b[2J\x1b[H';
const up = (lines: number): string => (lines > 0 ? `\x1b[${lines}A` : '');

function boardLines(column: string, rows: readonly BoardRow[], columns: number, paint: Paint): string[] {
  const name = columns < 72 ? SHORT_NAME : NAME;
  const doing = Math.max(8, columns - name - STATE - TURN - TIME - 8);
  const line = (cells: readonly string[]): string =>
    cells.map((cell, at) => padded(cell, [name, STATE, TURN, doing, TIME][at]!)).join('  ');
  return [
    paint.dim(line([column, 'STATE', 'TURN', 'DOING', 'TIME'.padStart(TIME)])),
    ...rows.map((row) =>
      line([
        `${paint.bold(row.number)} ${row.title}`.trimStart(),
        stateText(row.state, paint),
        row.turns === null ? '' : String(row.turns),
        row.doing,
        row.elapsedMs === null ? '' : paint.dim(seconds(row.elapsedMs).padStart(TIME)),
      ]),
    ),
  ];
}

const NAME = 24;
const SHORT_NAME = 12;
const STATE = 15;
const TURN = 4;
const TIME = 6;

function stateText(state: string, paint: Paint): string {
  if (state === 'merged' || state === 'done') return paint.green(state);
  if (state === 'declined') return paint.yellow(state);
  if (state === 'abandoned') return paint.red(state);
  return state === 'ready' || state === 'to come' ? paint.dim(state) : paint.cyan(state);
}

const padded = (text: string, cells: number): string => {
  const shown = cut(text, cells);
  return shown + ' '.repeat(cells - width(shown));
};

const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;
