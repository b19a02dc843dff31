import { closeSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createRotation } from './log-rotation.ts';

/** A log as a runner has it open. */
function logAt(path: string) {
  const log = {
    fd: openSync(path, 'a'),
    reopen() {
      closeSync(log.fd);
      log.fd = openSync(path, 'a');
    },
  };
  const rotate = createRotation(path, log, 20, 1);
  onTestFinished(() => closeSync(log.fd));
  return (line: string) => {
    rotate();
    writeSync(log.fd, `${line}\n`);
  };
}

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), 'forge-rotation-'));
  onTestFinished(() => rmSync(made, { recursive: true }));
  return made;
}

test('past its limit it is put aside, and only a few are kept', () => {
  const path = join(folder(), 'runner.log');
  const write = logAt(path);
  for (let n = 1; n <= 12; n += 1) write(`line ${String(n).padStart(4, '0')}`);
  const text = (name: string): string => readFileSync(name, 'utf8');
  expect(text(path)).toBe('line 0011\nline 0012\n');
  expect(text(`${path}.1`)).toBe('line 0009\nline 0010\n');
  expect(text(`${path}.3`)).toBe('line 0005\nline 0006\n');
  expect(existsSync(`${path}.4`)).toBe(false);
});

test('another runner follows when its log was put aside', () => {
  const path = join(folder(), 'runner.log');
  const [one, other] = [logAt(path), logAt(path)];
  other('other 1');
  one('one 1');
  one('one 2');
  one('one 3');
  other('other 2');
  expect(readFileSync(path, 'utf8')).toContain('other 2');
});
