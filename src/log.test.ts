import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, expect, test } from 'vitest';
import { compiled } from '../test/support/compiled.ts';
import { BY_SHAPE } from './core/access/redact.ts';
import { fileLog } from './log.ts';

const folder = mkdtempSync(join(tmpdir(), 'forge-log-'));
afterAll(() => rmSync(folder, { recursive: true }));

test('everything is in the file; an error is told to the person as well, once', async () => {
  const told: string[] = [];
  const path = join(folder, 'logs', 'runner.log');
  const log = fileLog(path, BY_SHAPE, (line) => told.push(line));
  log('info', 'all is well', { task: 't1' });
  log('error', 'the disk is full');
  log('error', 'the disk is full');
  expect(told).toEqual(['error: the disk is full\n']);
  await expect.poll(() => readFileSync(path, 'utf8').trim().split('\n')).toHaveLength(3);
  expect(readFileSync(path, 'utf8')).toContain('"task":"t1","msg":"all is well"');
});

test('symphony 13: a line about a task has its issue and its session, and lines keep their order', async () => {
  const path = join(folder, 'logs', 'about.log');
  const about = async (task: string) => {
    if (task === 'lost') throw new Error('the database is gone');
    await new Promise((resolve) => setImmediate(resolve));
    return { issue_id: '7', issue_identifier: '#7', session_id: 's1' };
  };
  const log = fileLog(path, BY_SHAPE, () => {}, about);
  log('info', 'first', { task: 't1' });
  log('warn', 'second', { task: 'lost' });
  log('info', 'third');
  const lines = () => readFileSync(path, 'utf8').trim().split('\n');
  await expect.poll(lines).toHaveLength(3);
  expect(lines().map((line) => JSON.parse(line))).toMatchObject([
    { msg: 'first', task: 't1', issue_id: '7', issue_identifier: '#7', session_id: 's1' },
    { msg: 'second', task: 'lost' },
    { msg: 'third' },
  ]);
});

test('a log that cannot be written does not get in the way of an exit', () => {
  const { folder: built, script } = compiled('src/log.ts');
  writeFileSync(join(folder, 'no folder'), '');
  const program = `
    import { fileLog } from ${JSON.stringify(pathToFileURL(script).href)};
    fileLog(${JSON.stringify(join(folder, 'no folder', 'runner.log'))})('error', 'said');
    await import('pino');
    setImmediate(() => process.exit(0));`;
  const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', program]);
  rmSync(built, { recursive: true });
  expect({ status, stderr: String(stderr) }).toEqual({ status: 0, stderr: 'error: said\n' });
});

test('a log that cannot be written stops nobody', async () => {
  const told: string[] = [];
  writeFileSync(join(folder, 'a file'), '');
  const log = fileLog(join(folder, 'a file', 'runner.log'), BY_SHAPE, (line) => told.push(line));
  log('error', 'first');
  await new Promise((resolve) => setImmediate(resolve));
  log('error', 'second');
  expect(told).toEqual(['error: first\n', 'error: second\n']);
});
