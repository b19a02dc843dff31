import { mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { lastLineIn, lastLineOf } from './last-line.ts';

test.each([
  ['one\ntwo\n\n', 'two'],
  ['10 %\r50 %\r90 %', '90 %'],
  ['\x1b[32m✓ passes\x1b[0m\n', '✓ passes'],
  ['a\x07b\x1b]0;title\x07\n', 'ab]0;title'],
  ['\n \n', null],
])('of %j it is %j', (output, line) => {
  expect(lastLineOf(output)).toBe(line);
});

test('the newest log counts, and none that is older than the command', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'forge-last-line-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const [name, at] of [
    ['gate-1.log', 100],
    ['gate-2.log', 200],
    ['coder-1.log', 300],
  ] as const) {
    writeFileSync(join(folder, name), `${'x'.repeat(10_000)}\nlast of ${name}\n`);
    utimesSync(join(folder, name), at, at);
  }
  expect(await lastLineIn(folder, /^gate-/, 150_000)).toBe('last of gate-2.log');
  expect(await lastLineIn(folder, /^gate-/, 250_000)).toBeNull();
  expect(await lastLineIn(join(folder, 'none'), /^gate-/, null)).toBeNull();
});
