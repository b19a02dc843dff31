import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { watchCalls } from './asked.ts';

const line = (message: string, session: string) =>
  `timestamp=2026-11-17T07:20:51.238Z level=INFO run=9e6a7a3a message=${message} session.id=${session} small=false`;
const STREAM = line('stream providerID=p modelID=m', 'ses_1');
const END = line('"exiting loop"', 'ses_1');

test.each<[string, string[], boolean]>([
  ['one line for each call', [STREAM, STREAM, END], true],
  ['a call that broke off and was made again', [STREAM, STREAM, STREAM, END], false],
  ['a log that is cut off', [STREAM, STREAM], false],
  ['the end of another session', [STREAM, STREAM, line('"exiting loop"', 'ses_2')], false],
  ['none', [], false],
])('every call was told: %s', async (_, lines, expected) => {
  const home = await mkdtemp(join(tmpdir(), 'forge-opencode-asked-'));
  onTestFinished(() => rm(home, { recursive: true, force: true }));
  const folder = join(home, '.local', 'share', 'opencode', 'log');
  await mkdir(folder, { recursive: true });
  const write = (all: string[]) => writeFile(join(folder, 'opencode.log'), `${all.join('\n')}\n`);
  await write([STREAM, END]);
  let told = 1;
  const calls = await watchCalls(home, { calls: () => told });
  told += 2;
  await write([STREAM, END, ...lines]);
  expect(await calls.areTold('ses_1')).toBe(expected);
});
