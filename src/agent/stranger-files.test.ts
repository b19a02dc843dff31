import { execFileSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { StrangeFile } from '../errors.ts';
import { copyBelow, entriesBelow, jsonBelow, linesBelow, textBelow } from './stranger-files.ts';

let dir = '';
let root = '';
beforeEach(() => {
  dir = realpathSync(mkdtempSync(join(tmpdir(), 'forge-stranger-')));
  root = join(dir, 'session');
  put('session/own/a.jsonl', '{"a":1}\n');
  put('operator/secret.jsonl', 'CANARY\n');
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const put = (path: string, text: string | Buffer): void => {
  mkdirSync(dirname(join(dir, path)), { recursive: true });
  writeFileSync(join(dir, path), text);
};
const lines = async (...names: string[]): Promise<string[]> => {
  const found: string[] = [];
  for await (const { line } of linesBelow(root, names)) found.push(line);
  return found;
};

test('a plain file is read whole, by its text, its lines, as JSON and as a copy', async () => {
  expect(await textBelow(root, 'own/a.jsonl')).toBe('{"a":1}\n');
  expect(await jsonBelow(root, 'own/a.jsonl')).toEqual({ a: 1 });
  expect(await lines('own/a.jsonl')).toEqual(['{"a":1}']);
  expect(await copyBelow(root, 'own/a.jsonl', join(dir, 'copy'), 100)).toBe(true);
  expect(await textBelow(dir, 'copy')).toBe('{"a":1}\n');
});

test('a line is a line however it ends, and wherever a piece of the file does', async () => {
  const long = `${'é\u2028'.repeat(300_000)}x`;
  put('session/own/b.jsonl', `one\r\n\n${long}\nlast`);
  expect(await lines('own/a.jsonl', 'own/b.jsonl')).toEqual(['{"a":1}', 'one', long, 'last']);
});

test('whoever looks at the first line alone leaves nothing open', async () => {
  for await (const _ of linesBelow(root, ['own/a.jsonl'])) break;
  const open = readdirSync('/proc/self/fd').map((fd) => readlinkOf(`/proc/self/fd/${fd}`));
  expect(open.length).toBeGreaterThan(3);
  expect(open).not.toContain(join(root, 'own/a.jsonl'));
});
const readlinkOf = (path: string): string => {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
};

test('what is not there is nothing, whatever is missing on the way', async () => {
  for (const name of ['none', 'none/at/all', 'own/a.jsonl/below']) {
    expect(await textBelow(root, name), name).toBeNull();
    expect(await lines(name), name).toEqual([]);
    expect(await entriesBelow(root, name), name).toEqual([]);
  }
  expect(await textBelow(join(dir, 'gone', 'session'), 'x')).toBeNull();
  expect(await copyBelow(root, 'none', join(dir, 'copy'), 100)).toBe(false);
});

const STRANGE: [string, () => string][] = [
  ['a link to a file', () => link('../operator/secret.jsonl', 'link.jsonl')],
  ['a file behind a link', () => join(link('../operator', 'away'), 'secret.jsonl')],
  ['a link to an endless device', () => link('/dev/zero', 'zero.jsonl')],
  ['a pipe', () => fifo('pipe.jsonl')],
  ['a folder', () => 'own'],
  ['a hole of a terabyte', () => hole('hole.jsonl', 1024 ** 4)],
];
const link = (to: string, name: string): string => {
  symlinkSync(to, join(root, name));
  return name;
};
const fifo = (name: string): string => {
  execFileSync('mkfifo', [join(root, name)]);
  return name;
};
const hole = (name: string, bytes: number): string => {
  put(`session/${name}`, '');
  truncateSync(join(root, name), bytes);
  return name;
};

test.each(STRANGE)('%s is not read', async (_, plant) => {
  const name = plant();
  await expect(textBelow(root, name)).rejects.toThrow(StrangeFile);
  await expect(lines(name)).rejects.toThrow(StrangeFile);
  await expect(copyBelow(root, name, join(dir, 'copy'), 100)).rejects.toThrow(StrangeFile);
  expect(await jsonBelow(root, name)).toBeNull();
});

test('a root that was replaced by a link is none', async () => {
  symlinkSync(root, join(dir, 'other'));
  await expect(textBelow(join(dir, 'other'), 'own/a.jsonl')).rejects.toThrow(/link/);
  await expect(entriesBelow(join(dir, 'other'), 'own')).rejects.toThrow(/link/);
});

test('a line without end is not waited for', async () => {
  hole('hole.jsonl', 100 * 1024 ** 2);
  await expect(lines('hole.jsonl')).rejects.toThrow(/a line of more than/);
});

test('a listing has links by their names, and does not go through them', async () => {
  put('session/own/deep/b', '');
  link('../operator', 'own/away');
  expect(await entriesBelow(root, 'own')).toEqual([
    { name: 'own/a.jsonl', isFile: true },
    { name: 'own/away', isFile: false },
    { name: 'own/deep/b', isFile: true },
  ]);
  expect((await entriesBelow(root, 'own', 1)).map(({ name }) => name)).toEqual([
    'own/a.jsonl',
    'own/away',
    'own/deep',
  ]);
  await expect(entriesBelow(root, 'own/away')).rejects.toThrow(/link/);
});

test('folders without end are not listed', async () => {
  mkdirSync(join(root, Array.from({ length: 40 }, () => 'd').join('/')), { recursive: true });
  await expect(entriesBelow(root, 'd')).rejects.toThrow(/folders deep/);
});
