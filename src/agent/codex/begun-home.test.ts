/** Homes begun by a real process, which plays what Codex does: makes a file at its start, and answers. */
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Dialogue, openDialogue } from '../../process/dialogue.ts';
import { begunHomes } from './begun-home.ts';

const CODEX = `mkdir -p deep; echo tables > deep/state.sqlite; read -r line; echo '{"id":1,"result":{}}'; sleep 1000`;

let dir = '';
let started: Dialogue[] = [];
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'forge-home-'));
  started = [];
});
afterEach(() => rm(dir, { recursive: true, force: true }));

async function newHome(name: string): Promise<string> {
  const home = join(dir, name);
  await mkdir(home);
  await writeFile(join(home, 'config.toml'), `of ${name}`);
  return home;
}

const starting =
  (home: string, script = CODEX) =>
  () => {
    const env = { PATH: process.env.PATH ?? '' };
    const logPath = join(dir, 'log');
    const argv = ['/bin/sh', '-c', script];
    const child = openDialogue({ argv, cwd: home, env, logPath, onHeld: async () => {} });
    started.push(child);
    return child;
  };

const { signal } = new AbortController();

test('the first home is begun by the program, which has ended then; later ones are copies with their own settings', async () => {
  const homes = begunHomes();
  const [first, second] = [await newHome('first'), await newHome('second')];
  await homes.prepare(first, starting(first), signal);
  expect(await started[0]?.exited).toMatchObject({ code: null });
  await homes.prepare(second, starting(second), signal);
  expect(started).toHaveLength(1);
  expect(await readFile(join(second, 'deep/state.sqlite'), 'utf8')).toBe('tables\n');
  expect(await readFile(join(second, 'config.toml'), 'utf8')).toBe('of second');
});

test('a home that was begun before is left as it is', async () => {
  const homes = begunHomes();
  const [first, second] = [await newHome('first'), await newHome('second')];
  await writeFile(join(second, 'state.sqlite-wal'), 'half');
  await homes.prepare(first, starting(first), signal);
  await homes.prepare(second, starting(second), signal);
  expect((await readdir(second)).sort()).toEqual(['config.toml', 'state.sqlite-wal']);
  expect(started).toHaveLength(1);
});

test.each([
  ['ends without an answer', 'echo half > state.sqlite'],
  ['never ran', ''],
])('of a program that %s nothing is kept, and the next session tries again', async (_, script) => {
  const homes = begunHomes();
  const [first, second, third] = [await newHome('first'), await newHome('second'), await newHome('third')];
  const cwd = script === '' ? join(dir, 'missing') : first;
  await homes.prepare(first, starting(cwd, script), signal);
  await homes.prepare(second, starting(second), signal);
  await homes.prepare(third, starting(third), signal);
  expect(started).toHaveLength(2);
  expect(existsSync(join(third, 'state.sqlite'))).toBe(false);
  expect(existsSync(join(third, 'deep/state.sqlite'))).toBe(true);
});

test('a turn that is stopped does not wait for it', async () => {
  const stop = new AbortController();
  const home = await newHome('first');
  const preparing = begunHomes().prepare(home, starting(home, 'sleep 1000'), stop.signal);
  stop.abort();
  await preparing;
  // By a signal, or, when it had not been let go yet, because it never will be.
  expect((await started[0]?.exited)?.code).not.toBe(0);
});
