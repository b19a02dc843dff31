/**
 * What a person sees in a terminal, as files that are reviewed: every page of the full screen in a real one (tmux), at
 * the widths that people have. Run with UPDATE_SCREENS=1 and review the difference.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { width } from '../../src/cli/layout.ts';
import { type FullWorld, fullWorld, PLAIN_WORDS } from '../support/browser/full-world.ts';
import { until } from '../support/e2e/until.ts';
import { hasTmux, openWindow } from '../support/e2e/window.ts';

const ROWS = 30;

/** The keys that lead from the page before to the next, and what only that one shows. */
const PAGES: [page: string, keys: string[], shows: string | RegExp][] = [
  ['the board', [], '[1 board]'],
  ['its last row', ['G'], '> #8'],
  ['the morning', ['2'], '[2 morning]'],
  ['plans', ['3'], '[3 plans]'],
  ['a plan to load', ['l'], 'plan file'],
  ['plans again', ['Escape'], 'l: Load'],
  ['a loop', ['j', 'Enter'], 'Read them'],
  ['the log', ['4'], '[4 log]'],
  ['why', ['5'], '[5 why]'],
  ['what it cost', ['6'], '[6 cost]'],
  ['a task', ['1', ...'jjjjjj', 'Enter'], 'turn 4'],
  ['its transcript', ['t'], 'transcript of'],
  ['back from it', ['Escape'], 'turn 4'],
  ['its diff', ['d'], '> +'],
  ['a file of it', ['j', 'Enter'], '@@'],
  ['the task again', ['Escape', 'Escape'], 'turn 4'],
  ['something that ends it', ['x'], 'Cancel?'],
  ['something to tell', ['n', 'm'], 'enter: send'],
  ['back from that', ['Escape'], 'turn 4'],
  ['the keys', ['?'], 'next and previous row'],
];

const SIZES: [name: string, columns: number, env: Record<string, string>][] = [
  ['60', 60, {}],
  ['80', 80, {}],
  ['120', 120, {}],
  ['200', 200, {}],
  ['ascii', 80, { LANG: 'C', LC_ALL: 'C' }],
];

const DATES = ['GIT_AUTHOR_DATE', 'GIT_COMMITTER_DATE'];

// There is no terminal to draw on without it; CI installs tmux.
describe.skipIf(!hasTmux)('the full screen', () => {
  let world: FullWorld;
  const env: Record<string, string> = {
    PATH: process.env.PATH ?? '',
    NO_COLOR: '1',
    LANG: 'C.UTF-8',
    TZ: evening(),
  };
  const undone: (() => void)[] = [];

  beforeAll(async () => {
    // Of its commits, so that their hashes are the same every time.
    for (const name of DATES) process.env[name] = '2026-05-04T10:00:00Z';
    world = await fullWorld({ ended: 8, said: PLAIN_WORDS });
    Object.assign(env, { HOME: world.root, XDG_STATE_HOME: process.env.XDG_STATE_HOME });
  });
  afterAll(async () => {
    for (const undo of undone) undo();
    for (const name of DATES) delete process.env[name];
    await world?.close();
  });

  test.each(SIZES)('is what it was: %s', async (name, columns, more) => {
    const file = fileURLToPath(new URL(`./screens/${name}.txt`, import.meta.url));
    const kept = process.env.UPDATE_SCREENS ? null : pagesOf(readFileSync(file, 'utf8'));
    const around = { folder: world.root, root: world.root, env: { ...env, ...more }, until };
    const window = openWindow({ ...around, atEnd: (undo) => void undone.push(undo) }, ['status', '--watch'], {
      columns,
      rows: ROWS,
    });
    const seen = new Map<string, string>();
    for (const [page, keys, shows] of PAGES) {
      window.type(...keys);
      await window.shows(shows);
      // Drawn to its end: what is kept, or nothing new.
      let last = '';
      await until(`${page} to stay as it is`, () => {
        const [before, now] = [last, masked(window.screen())];
        last = now;
        return now === kept?.get(page) || now === before;
      });
      for (const line of last.split('\n')) expect(width(line), line).toBeLessThanOrEqual(columns);
      if (name === 'ascii') expect(last).toMatch(/^(?!.*\?\?)[\n\x20-\x7e]*$/s);
      seen.set(page, last);
    }
    if (kept === null) writeFileSync(file, textOf(seen));
    else expect(textOf(seen)).toBe(textOf(kept));
  });

  /** As wide as what it stands for: the layout is the real one. */
  function masked(screen: string): string {
    return screen
      .replaceAll(basename(world.root), 'forge-full-rocket')
      .replace(/\/\S*forge-state-\S*/g, '/path/to/its/logs')
      .replace(/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d/g, '2026-05-04 20:15:00')
      .replace(/\b\d\d:\d\d:\d\d\b/g, '20:15:00');
  }
});

/** A zone where all that was done in the hours before was done today. */
function evening(): string {
  const east = ((20 - new Date().getUTCHours() + 36) % 24) - 12;
  return `Etc/GMT${east > 0 ? '-' : '+'}${Math.abs(east)}`;
}

const HEAD = '=== ';

const textOf = (pages: Map<string, string>): string =>
  [...pages].map(([page, screen]) => `${HEAD}${page}\n${screen}`).join('');

const pagesOf = (text: string): Map<string, string> =>
  new Map(
    text
      .split(new RegExp(`^${HEAD}`, 'm'))
      .slice(1)
      .map((part) => [part.slice(0, part.indexOf('\n')), part.slice(part.indexOf('\n') + 1)]),
  );
