import { linkSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { keptRecord, newRecord } from './turn-record.ts';

const REPORT = {
  key: 'k',
  model: 'm',
  input: 1,
  output: 2,
  cacheRead: 0,
  cacheWrite: 0,
  reasoning: 0,
  costUsd: 1,
};

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'forge-record-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

test('what is reported takes the place of what was kept in one step: no runner that dies leaves half of it', () => {
  const turn = { sessionDir: join(dir, 's1'), number: 1, logPath: join(dir, 'log') };
  const record = newRecord(turn);
  const folder = dirname(record.exitPath);
  const before = join(dir, 'before.json');
  linkSync(join(folder, 'kept.json'), before);
  record.report(REPORT);
  expect(JSON.parse(readFileSync(before, 'utf8')), 'the file of before was not written to').toMatchObject({
    reported: [],
  });
  writeFileSync(record.exitPath, '{"code":0}');
  expect(keptRecord(turn)?.reported).toEqual([REPORT]);
  expect(readdirSync(folder).sort(), 'no draft is left').toEqual(['exit.json', 'kept.json', 'result']);
});

test('what an older version kept is read', () => {
  const turn = { sessionDir: join(dir, 's1'), number: 1, logPath: join(dir, 'log') };
  const { exitPath } = newRecord(turn);
  const older = { launch: 'l', logAt: 0, told: [REPORT] };
  writeFileSync(join(dirname(exitPath), 'kept.json'), JSON.stringify(older));
  writeFileSync(exitPath, '{"code":0}');
  expect(keptRecord(turn)?.reported).toEqual([REPORT]);
});
