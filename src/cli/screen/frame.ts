/** One screen as lines, never wider or higher than it is. Pure. */
import type { Paint } from '../../core/words/paint.ts';
import type { Snapshot } from '../../view.ts';
import { usd } from '../cost-text.ts';
import { cut, width, wrapped } from '../layout.ts';
import type { Form } from './form.ts';
import { type Row, type Sight, TABS } from './page.ts';
import { keyOf, placeOf, type State } from './state.ts';

export interface Size {
  rows: number;
  columns: number;
}

interface Style {
  paint: Paint;
  unicode: boolean;
}

/** How many lines each may take where the screen is narrow: what is below has the rest. */
const HEADER_LINES = 2;
const DETAIL_LINES = 3;
const KEY_LINES = 3;
/** What went wrong, and what to do about it. */
const MESSAGE_LINES = 5;

/** What is drawn, and how many rows or lines of the page it has room for. */
interface Frame {
  lines: string[];
  room: number;
}

/** The text of a page as it is broken on a screen of this width. */
export const textLines = ({ text }: Sight, columns: number): string[] =>
  text === '' ? [] : wrapped(text, columns, 2).split('\n');

export function frame(state: State, sight: Sight, now: Snapshot, size: Size, style: Style): Frame {
  const { columns, rows } = size;
  const hasTitle = !state.form && state.trail.length > 1 && sight.title !== '';
  const head = [
    ...packed(header(now, style), ' · ', columns).slice(0, HEADER_LINES),
    tabs(state, style.paint),
    '',
    ...(hasTitle ? [style.paint.bold(sight.title)] : []),
  ];
  const foot = [...detail(state, sight, columns), ...footer(state, sight, columns, style)];
  const room = Math.max(1, rows - head.length - foot.length);
  const body = state.form ? formLines(state.form, style) : bodyLines(state, sight, room, columns, style);
  const filled = [
    ...body.slice(0, room),
    ...Array.from({ length: Math.max(0, room - body.length) }, () => ''),
  ];
  const lines = [...head, ...filled, ...foot].slice(0, rows).map((line) => {
    const fitting = cut(line, columns);
    return style.unicode ? fitting : plain(fitting);
  });
  return { lines, room };
}

/** On as few lines as they fit on, none of them broken. */
function packed(parts: readonly string[], between: string, columns: number): string[] {
  const lines: string[] = [];
  for (const part of parts) {
    const longer = `${lines.at(-1)}${between}${part}`;
    if (lines.length > 0 && width(longer) <= columns) lines[lines.length - 1] = longer;
    else lines.push(part);
  }
  return lines;
}

function header(now: Snapshot, { paint }: Style): string[] {
  const alive = now.runners.filter((runner) => runner.alive).length;
  const runner =
    alive === 0
      ? paint.yellow('○ no runner: forge-loop run')
      : paint.green(`● ${alive === 1 ? 'running' : `${alive} runners`}`);
  const { costUsd, complete, limitUsd } = now.today;
  const spent = `${usd(costUsd, complete)}${limitUsd === null ? '' : ` of $${limitUsd}`} today`;
  const waits = now.waits.map(({ text }) => paint.yellow(text));
  return [
    `${paint.bold('forge-loop')} ${now.project}`,
    runner,
    ...waits,
    ...now.accountLimits.map(({ text }) => paint.yellow(text)),
    `${now.slots.used}/${now.slots.max} slots`,
    spent,
    ...now.limitWindows.map(({ name, usedPercent }) => `${name} ${Math.round(usedPercent)} %`),
  ];
}

function tabs(state: State, paint: Paint): string {
  const page = state.trail[0]?.page;
  return TABS.map(({ page: name, label }, at) => {
    const text = `${at + 1} ${label}`;
    return name === page ? paint.bold(`[${text}]`) : paint.dim(` ${text} `);
  }).join(' ');
}

function bodyLines(state: State, sight: Sight, room: number, columns: number, style: Style): string[] {
  const at = placeOf(state);
  const text = textLines(sight, columns);
  if (sight.rows.length === 0) {
    const last = Math.max(0, text.length - room);
    const first = sight.readsFromEnd && at.isAtEnd ? last : Math.min(at.row, last);
    return text.slice(first, first + room);
  }
  const below = text.length === 0 ? [] : ['', ...text];
  const space = Math.max(1, room - below.length);
  const current = Math.min(at.row, sight.rows.length - 1);
  const start = Math.min(
    Math.max(0, current - Math.floor(space / 2)),
    Math.max(0, sight.rows.length - space),
  );
  return [...rowLines(sight.rows, start, space, current, columns, style), ...below];
}

/** Columns as wide as the widest that is shown; the last ends where the screen does. */
function rowLines(
  rows: readonly Row[],
  start: number,
  space: number,
  current: number,
  columns: number,
  { paint }: Style,
): string[] {
  const shown = rows.slice(start, start + space).map(({ cells }) => cells);
  const widths = widthsOf(shown, columns - MARK.length);
  return shown.map((cells, index) => {
    const isCurrent = start + index === current;
    const parts = cells.flatMap((cell, at) => (widths[at] === 0 ? [] : [padded(cell, widths[at]!)]));
    const line = cut(`${isCurrent ? '> ' : MARK}${parts.join('  ')}`.trimEnd(), columns);
    return isCurrent ? paint.bold(line) : line;
  });
}

const MARK = '  ';

const padded = (cell: string, to: number): string => {
  const fitting = cut(cell, to);
  return fitting + ' '.repeat(Math.max(0, to - width(fitting)));
};

/** Of a list of tasks: their titles and why they stand where they do. Narrower than this they say nothing. */
const [TITLE, WHY] = [4, 5];
const LEAST_TITLE = 24;
const LEAST_WHY = 16;
/** What goes where there is no room: `detail` has the first of them, the page of the task has all. */
const SPARE = [WHY, 2, 3];

/** 0 for a column that is left out. */
function widthsOf(rows: readonly (readonly string[])[], columns: number): number[] {
  const widths = (rows[0] ?? []).map((_, at) => Math.max(...rows.map((cells) => width(cells[at] ?? ''))));
  if (widths.length <= WHY) return widths;
  const [title, why] = [widths[TITLE]!, widths[WHY]!];
  widths[TITLE] = Math.min(title, LEAST_TITLE);
  widths[WHY] = Math.min(why, LEAST_WHY);
  const room = (): number => columns - widths.reduce((sum, one) => sum + (one === 0 ? 0 : one + 2), -2);
  for (const at of SPARE) if (room() < 0) widths[at] = 0;
  const spare = Math.max(0, room());
  const more = Math.min(title - widths[TITLE], widths[WHY] === 0 ? spare : Math.floor(spare * TITLE_SHARE));
  widths[TITLE] += more;
  if (widths[WHY] > 0) widths[WHY] += spare - more;
  return widths;
}

const TITLE_SHARE = 0.6;

function formLines({ title, fields, at }: Form, { paint }: Style): string[] {
  const widestLabel = Math.max(...fields.map(({ label }) => label.length));
  return [
    paint.bold(title),
    '',
    ...fields.map(({ label, value, options, hint }, index) => {
      const isCurrent = index === at;
      const shown = options
        ? options.map((one) => (one === value ? paint.bold(`[${one}]`) : ` ${one} `)).join(' ')
        : value === ''
          ? paint.dim(hint)
          : value;
      return `${isCurrent ? '>' : ' '} ${label.padEnd(widestLabel)}  ${shown}${isCurrent && !options ? '_' : ''}`;
    }),
    '',
    paint.dim('up and down: field, left and right: choice, enter: send, esc: back'),
  ];
}

/** Of the row one is at, what its line has no room for. */
function detail(state: State, { rows }: Sight, columns: number): string[] {
  const cells = rows[placeOf(state).row]?.cells ?? [];
  const said = cells.at(-1) ?? '';
  const before = widthsOf(
    rows.map((row) => row.cells),
    columns,
  ).slice(0, -1);
  const isWhole = before.reduce((sum, one) => sum + one + 2, MARK.length) + width(said) <= columns;
  if (state.form || (isWhole && cells.length <= WHY)) return [''];
  return wrapped(said, columns).split('\n').slice(0, DETAIL_LINES);
}

function footer(state: State, sight: Sight, columns: number, { paint }: Style): string[] {
  const { asking, message, form } = state;
  const broken = (text: string): string[] => wrapped(text, columns).split('\n').slice(0, MESSAGE_LINES);
  if (asking) return broken(`${asking.label}? ${asking.says} y: yes, any other key: no`).map(paint.yellow);
  if (message) return broken(message.text).map(message.isProblem ? paint.red : paint.green);
  if (form) return [''];
  const row = sight.rows[placeOf(state).row];
  const choices = (sight.rows.length > 0 ? (row?.choices ?? []) : sight.choices).map(
    (choice) => `${keyOf(choice)}: ${choice.label}`,
  );
  const links = sight.links.map(({ key, label }) => `${key}: ${label}`);
  const ofPlan = (row?.plan ?? sight.plan) === undefined ? [] : ['a: Approve', 'e: Edit', 's: Start'];
  const load = placeOf(state).page === 'plans' ? ['l: Load'] : [];
  const keys = [...choices, ...ofPlan, ...load, ...links, '?: keys', 'q: quit'];
  return packed(keys, '  ', columns).slice(0, KEY_LINES).map(paint.dim);
}

/** For terminals that have ASCII only: one character for one. */
const PLAIN: Record<string, string> = {
  ...{ '…': '~', '·': '|', '●': '*', '○': 'o', '‖': '=', '✓': '+', '✗': 'x', '→': '>', '×': 'x', '≥': '>' },
  ...{ '’': "'", '‘': "'", '“': '"', '”': '"', '–': '-', '—': '-', '⇄': '=' },
  ...{ '─': '-', '▶': '>', '▸': '>', '⚠': '!' },
};

const plain = (text: string): string =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the escape of a colour stays.
  text.replace(/[^\x00-\x7f]/gu, (one) => PLAIN[one] ?? '?'.repeat(Math.max(1, width(one))));
