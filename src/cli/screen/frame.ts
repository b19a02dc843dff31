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

/** Header, tabs, title, footer and the lines between them. */
const AROUND = 5;

/** What went wrong, and what to do about it, may take so many. */
const MESSAGE_LINES = 5;

/** How many rows or lines of a page fit. */
export const roomOf = ({ rows }: Size): number => Math.max(1, rows - AROUND);

/** The text of a page as it is broken on a screen of this width. */
export const textLines = ({ text }: Sight, { columns }: Size): string[] =>
  text === '' ? [] : wrapped(text, columns, 2).split('\n');

export function frame(state: State, sight: Sight, now: Snapshot, size: Size, style: Style): string[] {
  const { paint } = style;
  const { columns, rows } = size;
  const foot = wrapped(footer(state, sight, style), state.message ? columns : null)
    .split('\n')
    .slice(0, MESSAGE_LINES);
  const room = Math.max(1, roomOf(size) + 1 - foot.length);
  const body = state.form ? formLines(state.form, style) : bodyLines(state, sight, size, style);
  const lines = [
    header(now, style),
    tabs(state, paint),
    '',
    ...body.slice(0, room),
    ...Array.from({ length: Math.max(0, room - body.length) }, () => ''),
    detail(state, sight),
    ...foot,
  ];
  return lines.slice(0, rows).map((line) => {
    const fitting = cut(line, columns);
    return style.unicode ? fitting : plain(fitting);
  });
}

function header(now: Snapshot, { paint }: Style): string {
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
    `${now.slots.used}/${now.slots.max} slots`,
    spent,
    ...waits,
    ...now.accountLimits.map(({ text }) => paint.yellow(text)),
    ...now.limitWindows.map(({ name, usedPercent }) => `${name} ${Math.round(usedPercent)} %`),
  ].join(' · ');
}

function tabs(state: State, paint: Paint): string {
  const page = state.trail[0]?.page;
  return TABS.map(({ page: name, label }, at) => {
    const text = `${at + 1} ${label}`;
    return name === page ? paint.bold(`[${text}]`) : paint.dim(` ${text} `);
  }).join(' ');
}

function bodyLines(state: State, sight: Sight, size: Size, style: Style): string[] {
  const at = placeOf(state);
  const room = roomOf(size);
  const head = state.trail.length > 1 && sight.title !== '' ? [style.paint.bold(sight.title)] : [];
  const left = room - head.length;
  if (sight.rows.length === 0) {
    const lines = textLines(sight, size);
    const last = Math.max(0, lines.length - left);
    const first = sight.readsFromEnd && at.isAtEnd ? last : Math.min(at.row, last);
    return [...head, ...lines.slice(first, first + left)];
  }
  const below = sight.text === '' ? [] : ['', ...textLines(sight, size)];
  const space = Math.max(1, left - below.length);
  const current = Math.min(at.row, sight.rows.length - 1);
  const start = Math.min(
    Math.max(0, current - Math.floor(space / 2)),
    Math.max(0, sight.rows.length - space),
  );
  return [...head, ...rowLines(sight.rows, start, space, current, size.columns, style), ...below];
}

/** As wide as the widest that is shown; a column that leaves no room for the last is dropped from the left but for the first. */
function rowLines(
  rows: readonly Row[],
  start: number,
  space: number,
  current: number,
  columns: number,
  { paint }: Style,
): string[] {
  const shown = rows.slice(start, start + space);
  return shown.map(({ cells }, index) => {
    const isCurrent = start + index === current;
    const parts = cells.map((cell, column) =>
      column === cells.length - 1 ? cell : padded(cell, widest(shown, column, cells.length, columns)),
    );
    const line = cut(`${isCurrent ? '>' : ' '} ${parts.join('  ')}`, columns);
    return isCurrent ? paint.bold(line) : line;
  });
}

const padded = (cell: string, to: number): string => {
  const fitting = cut(cell, to);
  return fitting + ' '.repeat(Math.max(0, to - width(fitting)));
};

const TITLE_SHARE = 0.45;

/** The last but one has the title: long ones must not push out what comes after. */
function widest(rows: readonly Row[], column: number, cells: number, columns: number): number {
  const most = Math.max(...rows.map((row) => width(row.cells[column] ?? '')));
  const isTitle = cells > 4 && column === cells - 2;
  return isTitle ? Math.min(most, Math.max(10, Math.floor(columns * TITLE_SHARE))) : most;
}

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

/** Of the row one is at, what the others have no room for. */
function detail(state: State, { rows }: Sight): string {
  const cells = rows[placeOf(state).row]?.cells ?? [];
  return state.form || cells.length < 5 ? '' : (cells.at(-1) ?? '');
}

function footer(state: State, sight: Sight, { paint }: Style): string {
  const { asking, message, form } = state;
  if (asking) return paint.yellow(`${asking.label}? ${asking.says} y: yes, any other key: no`);
  if (message) return message.isProblem ? paint.red(message.text) : paint.green(message.text);
  if (form) return '';
  const row = sight.rows[placeOf(state).row];
  const choices = (sight.rows.length > 0 ? (row?.choices ?? []) : sight.choices).map(
    (choice) => `${keyOf(choice)}: ${choice.label}`,
  );
  const links = sight.links.map(({ key, label }) => `${key}: ${label}`);
  const ofPlan = (row?.plan ?? sight.plan) === undefined ? [] : ['a: Approve', 'e: Edit', 's: Start'];
  const load = placeOf(state).page === 'plans' ? ['l: Load'] : [];
  return paint.dim([...choices, ...ofPlan, ...load, ...links, '?: keys', 'q: quit'].join('  '));
}

/** For terminals that have ASCII only: one character for one. */
const PLAIN: Record<string, string> = {
  ...{ '…': '~', '·': '|', '●': '*', '○': 'o', '‖': '=', '✓': '+', '✗': 'x', '→': '>', '×': 'x', '≥': '>' },
  ...{ '’': "'", '‘': "'", '“': '"', '”': '"', '–': '-', '—': '-', '⇄': '=' },
};

const plain = (text: string): string =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the escape of a colour stays.
  text.replace(/[^\x00-\x7f]/gu, (one) => PLAIN[one] ?? '?'.repeat(Math.max(1, width(one))));
