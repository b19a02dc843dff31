import { afterEach, expect, test, vi } from 'vitest';
import { openTerminal, painter, speaksUnicode, wantsColor } from './terminal.ts';

afterEach(() => void vi.restoreAllMocks());

test('colours are for terminals, NO_COLOR forbids them, FORCE_COLOR asks for them', () => {
  expect(wantsColor({}, true)).toBe(true);
  expect(wantsColor({}, false)).toBe(false);
  expect(wantsColor({ TERM: 'dumb' }, true)).toBe(false);
  expect(wantsColor({ NO_COLOR: '1' }, true)).toBe(false);
  expect(wantsColor({ NO_COLOR: '' }, true)).toBe(true);
  expect(wantsColor({ FORCE_COLOR: '1' }, false)).toBe(true);
  expect(wantsColor({ FORCE_COLOR: '0' }, true)).toBe(false);
  expect(wantsColor({ NO_COLOR: '1', FORCE_COLOR: '1' }, false)).toBe(false);
  expect(painter(false).red('x')).toBe('x');
});

test('more than ASCII is for terminals whose locale has it; the first variable that is set decides', () => {
  expect(speaksUnicode({ LANG: 'de_DE.UTF-8' })).toBe(true);
  expect(speaksUnicode({ LANG: 'C.utf8' })).toBe(true);
  expect(speaksUnicode({ LC_ALL: 'C', LANG: 'de_DE.UTF-8' })).toBe(false);
  expect(speaksUnicode({ LC_ALL: '', LC_CTYPE: 'en_US.UTF-8', LANG: 'C' })).toBe(true);
  expect(speaksUnicode({})).toBe(false);
});

test('a window that is made larger is not drawn in while an editor has it', () => {
  vi.spyOn(process.stdout, 'write').mockImplementation(() => true);
  const { isTTY } = process.stdout;
  const { isTTY: types } = process.stdin;
  Object.assign(process.stdout, { isTTY: true });
  Object.assign(process.stdin, { isTTY: true });
  const stop = new AbortController();
  try {
    const screen = openTerminal({ json: false, color: false, redact: String }).fullScreen()!;
    let drawn = 0;
    screen.onResize(() => {
      drawn += 1;
    }, stop.signal);
    screen.enter();
    process.stdout.emit('resize');
    expect(drawn).toBe(1);
    screen.leave();
    process.stdout.emit('resize');
    expect(drawn).toBe(1);
    screen.enter();
    process.stdout.emit('resize');
    expect(drawn).toBe(2);
  } finally {
    stop.abort();
    Object.assign(process.stdout, { isTTY });
    Object.assign(process.stdin, { isTTY: types });
  }
});

test('what does not fit on the screen is broken between words, as wide as the screen is then; JSON is left alone', () => {
  const printed: string[] = [];
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => printed.push(String(text)) > 0);
  const { isTTY, columns } = process.stdout;
  const screen = (width: number | undefined) =>
    Object.assign(process.stdout, { isTTY: width !== undefined, columns: width });
  try {
    const terminal = openTerminal({ json: false, color: false, redact: String });
    screen(20);
    terminal.print('the gate on trunk could not run');
    screen(24);
    terminal.print('12:00  claimed: a rather long title', 7);
    screen(undefined);
    terminal.print('the gate on trunk could not run');
    screen(20);
    openTerminal({ json: true, color: false, redact: String }).print('{"a": "the gate on trunk"}');
  } finally {
    Object.assign(process.stdout, { isTTY, columns });
  }
  expect(printed).toEqual([
    'the gate on trunk\n  could not run\n',
    '12:00  claimed: a rather\n       long title\n',
    'the gate on trunk could not run\n',
    '{"a": "the gate on trunk"}\n',
  ]);
});
