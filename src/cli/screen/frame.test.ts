/** The screens at every width are files: `npx vitest run -u` writes them anew, to be read as a diff. */
import { describe, expect, test } from 'vitest';
import { PLAIN } from '../../core/words/paint.ts';
import type { Snapshot } from '../../view.ts';
import { width } from '../layout.ts';
import { painter } from '../terminal.ts';
import { frame, type Size, textLines } from './frame.ts';
import { type Row, type Sight, seenAs } from './page.ts';
import { begin, press, type State } from './state.ts';

const now = {
  project: 'rocket',
  today: { costUsd: 4.12, complete: false, limitUsd: 20 },
  slots: { used: 3, max: 3 },
  waits: [],
  accountLimits: [{ text: 'codex is used up until 03:10' }],
  limitWindows: [{ name: 'primary', usedPercent: 61.7 }],
  runners: [{ owner: 'o', pid: 7, alive: true }],
} as unknown as Snapshot;

const choices = [
  {
    operation: 'task.approve',
    input: {},
    label: 'Approve head 9ab31c4d01',
    says: '',
    settles: true,
    ends: false,
  },
  { operation: 'task.cancel', input: {}, label: 'Cancel', says: '', settles: false, ends: true },
] as const;

const row = (...cells: string[]): Row => ({ cells, opens: { page: 'task', of: cells[0]! }, choices });

const board: Sight = {
  ...{ title: 'board', text: '', choices: [], links: [], readsFromEnd: false },
  rows: [
    row(
      '#41',
      '‖ protected_paths',
      '2/20',
      '$0.84',
      'Rotate signing keys',
      'touches WORKFLOW.md, which is protected',
    ),
    row(
      '#44',
      '● revising',
      '4/20',
      '≥$1.02',
      `Session expiry ${'and more '.repeat(20)}`,
      'editing src/session.ts',
    ),
    row('#7', '● running', '1/20', '$0.11', '世界 ✅ 🚀 emoji and wide letters', 'running npm test'),
    row('#8', '✗ max_critic_rounds', '3/20', '$2.00', 'שלום עולם', 'the critic asked for changes 3 times'),
    ...Array.from({ length: 40 }, (_, n) =>
      row(`#${100 + n}`, '✓ merged', '1/20', '$0.20', `Add number ${n}`, 'landed'),
    ),
  ],
};

const text: Sight = {
  ...{ title: 'why', rows: [], choices: [], links: [], readsFromEnd: false },
  text: `#12 ${'waits for a person who has to approve the head '.repeat(6)}\n#13 no runner`,
};

const shown = (seen: Sight, size: Size, unicode = true, state: State = begin()): string =>
  frame(state, seen, now, size, { paint: PLAIN, unicode }).lines.join('\n');

describe('a screen', () => {
  test('has no part of a secret, wherever a line is broken or cut', () => {
    const secret = 'abcdefghij'.repeat(4);
    const struck = (said: string) => said.replaceAll(secret, '[redacted]');
    const size = { rows: 12, columns: 30 };
    const said = `the key ${secret} was found`;
    const parts = /abcdefghij/;
    expect(shown({ ...text, text: said }, size)).toMatch(parts);
    expect(shown(seenAs({ ...text, text: said }, struck), size)).not.toMatch(parts);
    const seen = seenAs({ ...board, rows: [row('#1', 'running', '1/20', '$1', said, said)] }, struck);
    expect(shown(seen, { rows: 12, columns: 60 })).not.toMatch(parts);
  });

  test.each([60, 80, 120, 200])('%i columns wide', async (columns) => {
    const size = { rows: 20, columns };
    const lines = shown(board, size).split('\n');
    expect(lines).toHaveLength(20);
    for (const line of lines) expect(width(line)).toBeLessThanOrEqual(columns);
    await expect(`${lines.join('\n')}\n`).toMatchFileSnapshot(`./screens/board-${columns}.txt`);
  });

  test('without unicode has ASCII alone, as wide as before', async () => {
    const size = { rows: 12, columns: 80 };
    const plain = shown(board, size, false);
    expect(plain).toMatch(/^[\n\x20-\x7e]*$/);
    await expect(`${plain}\n`).toMatchFileSnapshot('./screens/board-ascii.txt');
  });

  test('without colours says the same', () => {
    const size = { rows: 20, columns: 100 };
    const { lines } = frame(begin(), board, now, size, { paint: painter(true), unicode: true });
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out.
    expect(lines.join('\n').replace(/\x1b\[\d+m/g, '')).toBe(shown(board, size));
  });

  test('keeps the row one is at in sight, and shows all rows on the way down', () => {
    const size = { rows: 12, columns: 80 };
    let state = begin();
    for (let at = 0; at < board.rows.length; at += 1) {
      expect(shown(board, size, true, state)).toContain(`> ${board.rows[at]!.cells[0]} `);
      state = press(state, 'j', board, { page: 7, lines: 0 }).state;
    }
  });

  test('has the whole of a long text, a screen at a time', () => {
    const size = { rows: 8, columns: 40 };
    const first = shown(text, size);
    expect(first).toContain('#12 waits for a person');
    const { room } = frame(begin(), text, now, size, { paint: PLAIN, unicode: true });
    const lines = textLines(text, size.columns).length;
    const last = press(begin(), 'G', text, { page: room, lines }).state;
    expect(shown(text, size, true, last)).toContain('#13 no runner');
  });

  test.each([40, 60, 100])('can be read to its last line, %i columns wide', (columns) => {
    const help: Sight = {
      ...text,
      title: 'keys',
      text: Array.from({ length: 30 }, (_, n) => `line ${n}`).join('\n'),
    };
    const size = { rows: 12, columns };
    let state: State = { ...begin(), trail: [...begin().trail, ...begin().trail] };
    for (let n = 0; n < 40; n += 1) {
      const { room } = frame(state, help, now, size, { paint: PLAIN, unicode: true });
      state = press(state, 'j', help, { page: room, lines: 30 }).state;
    }
    expect(shown(help, size, true, state)).toContain('line 29');
  });

  test('has every key and all that its row says, where it is narrow', () => {
    const said = `touches WORKFLOW.md, which is protected ${'and so on '.repeat(6)}`.trim();
    const narrow = { ...board, rows: [row('#1', 'held', '1/20', '$1', 'Rotate', said)] };
    const lines = shown(narrow, { rows: 20, columns: 50 });
    expect(lines.replaceAll('\n', ' ')).toContain(said);
    expect(lines).toContain('x: Cancel');
    expect(lines).toContain('q: quit');
  });

  test('asks before it ends something', () => {
    const asking = { ...choices[1], says: 'Its worktree is kept.' };
    const asked = shown(board, { rows: 10, columns: 100 }, true, { ...begin(), asking });
    expect(asked.split('\n').at(-1)).toBe('Cancel? Its worktree is kept. y: yes, any other key: no');
  });

  test.each([
    [1, 20],
    [3, 5],
    [6, 1],
  ])('of %i rows and %i columns is no crash', (rows, columns) => {
    const lines = shown(board, { rows, columns }).split('\n');
    expect(lines.length).toBeLessThanOrEqual(rows);
    for (const line of lines) expect(width(line)).toBeLessThanOrEqual(columns);
  });
});
