import { expect, test } from 'vitest';
import { openKeyboard } from './keys.ts';

test('a letter soon after escape is two keys', async () => {
  const { stdin } = process;
  const { setRawMode } = stdin;
  stdin.setRawMode = () => stdin;
  const stop = new AbortController();
  const keyboard = openKeyboard(stop.signal);
  keyboard.take();
  try {
    const pressed = [
      ['a', { name: 'a', sequence: 'a' }],
      [undefined, { name: 'a', meta: true, sequence: '\x1ba' }],
      [undefined, { name: 'x', meta: true, shift: true, sequence: '\x1bX' }],
      [undefined, { name: 'escape', meta: true, sequence: '\x1b' }],
      [undefined, { name: 'escape', meta: true, sequence: '\x1b\x1b' }],
      ['\x03', { name: 'c', ctrl: true, sequence: '\x03' }],
    ] as const;
    for (const [text, key] of pressed) stdin.emit('keypress', text, key);
    const heard: (string | null)[] = [];
    do heard.push(await keyboard.next());
    while (heard.at(-1) !== 'c-c');
    expect(heard).toEqual(['a', 'escape', 'a', 'escape', 'X', 'escape', 'escape', 'escape', 'c-c']);
  } finally {
    keyboard.release();
    stdin.setRawMode = setRawMode;
  }
});
