import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { fileLog } from './log.ts';

const folder = mkdtempSync(join(tmpdir(), 'forge-log-'));
afterAll(() => rmSync(folder, { recursive: true }));

test('everything is in the file; an error is told to the person as well, once', async () => {
  const told: string[] = [];
  const path = join(folder, 'logs', 'runner.log');
  const log = fileLog(path, (line) => told.push(line));
  log('info', 'all is well', { task: 't1' });
  log('error', 'the disk is full');
  log('error', 'the disk is full');
  expect(told).toEqual(['error: the disk is full\n']);
  await expect.poll(() => readFileSync(path, 'utf8').trim().split('\n')).toHaveLength(3);
  expect(readFileSync(path, 'utf8')).toContain('"task":"t1","msg":"all is well"');
});

test('a log that cannot be written stops nobody', async () => {
  const told: string[] = [];
  writeFileSync(join(folder, 'a file'), '');
  const log = fileLog(join(folder, 'a file', 'runner.log'), (line) => told.push(line));
  log('error', 'first');
  await new Promise((resolve) => setImmediate(resolve));
  log('error', 'second');
  expect(told).toEqual(['error: first\n', 'error: second\n']);
});
