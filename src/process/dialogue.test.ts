import { existsSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { startRunner } from '../../test/support/start-runner.ts';
import { type DialogueRequest, openDialogue } from './dialogue.ts';
import { processAt } from './table.ts';

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'forge-dialogue-'));
  await mkdir(join(dir, 'work'));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

const speaking = (script: string) => ({
  argv: ['/bin/sh', '-c', script],
  cwd: join(dir, 'work'),
  env: { PATH: process.env.PATH ?? '' },
  logPath: join(dir, 'log'),
});
const talking = (script: string, change: Partial<DialogueRequest> = {}) =>
  openDialogue({ ...speaking(script), onHeld: async () => {}, ...change });

test('what is said before it runs waits for it; stdout is the caller’s, stderr goes to the log', async () => {
  const child = talking('echo aside >&2; while read -r line; do echo "heard $line"; done');
  child.stdin.end('one\ntwo\n');
  expect(await text(child.stdout)).toBe('heard one\nheard two\n');
  expect(await child.exited).toEqual({ code: 0, signal: null });
  expect(await child.end()).toBe('aside\n');
  expect(await readFile(join(dir, 'log'), 'utf8')).toBe('aside\n');
});

test('it runs only when its record is durable', async () => {
  let recorded = () => {};
  const held = new Promise<void>((resolve) => {
    recorded = resolve;
  });
  let who: { pid: number; startTime: string } | null = null;
  const child = talking('echo ran', {
    onHeld: (introduction) => {
      who = introduction;
      return held;
    },
  });
  await expect.poll(() => who).toMatchObject({ startTime: expect.stringMatching(/./) });
  expect(child.stdout.readableLength).toBe(0);
  recorded();
  await child.begun;
  expect(await text(child.stdout)).toBe('ran\n');
  await child.end();
});

test('it never runs when its record is refused, or its log can not be written', async () => {
  const refused = talking('touch ran', { onHeld: () => Promise.reject(new Error('the lease is lost')) });
  await expect(refused.begun).rejects.toThrow('the lease is lost');
  await refused.end();
  const unlogged = talking('touch ran', { logPath: '/dev/null/log' });
  await expect(unlogged.begun).rejects.toThrow();
  await unlogged.end();
  expect(existsSync(join(dir, 'work', 'ran'))).toBe(false);
});

test('a directory that is not there is told, not thrown', async () => {
  const child = talking('true', { cwd: join(dir, 'missing') });
  await expect(child.begun).rejects.toThrow();
  expect(await child.exited).toEqual({ code: null, signal: null });
  await child.end();
});

test('ending it ends what it started, in its group and out of it', async () => {
  const child = talking(
    'setsid sh -c "echo \\$\\$ > left; exec sleep 1000" & while ! [ -s left ]; do sleep 0.01; done; echo $$; sleep 1000',
  );
  const [pid] = (await child.stdout[Symbol.asyncIterator]().next()).value.toString().split('\n');
  const pids = [Number(pid), Number(await readFile(join(dir, 'work', 'left'), 'utf8'))];
  expect(pids.map((one) => processAt(one) !== null)).toEqual([true, true]);
  await child.end();
  expect(pids.map((one) => processAt(one))).toEqual([null, null]);
});

test.each([
  ['that ends when it is asked to', 'echo $$ > it; exec sleep 1000'],
  ['that does not', "trap '' TERM; (sleep 1000; true) & echo $! > it; while :; do sleep 0.1; done"],
])('a child %s does not outlive the runner that talked to it', async (_, script) => {
  const runner = await startRunner({ release: true, talk: speaking(script) });
  const file = join(dir, 'work', 'it');
  await expect.poll(() => (existsSync(file) ? readFileSync(file, 'utf8') : '')).toMatch(/\n$/);
  const pids = [runner.child.pid, Number(readFileSync(file, 'utf8'))];
  expect(pids.map((one) => processAt(one) !== null)).toEqual([true, true]);
  runner.kill();
  await expect.poll(() => pids.filter((one) => processAt(one) !== null), { timeout: 20_000 }).toEqual([]);
});

test('ending it before it was let go means it never runs', async () => {
  let release: (() => void) | null = null;
  const child = talking('touch ran', {
    onHeld: () =>
      new Promise((resolve) => {
        release = resolve;
      }),
  });
  const ended = child.end();
  await expect.poll(() => release).not.toBeNull();
  (release as unknown as () => void)();
  await ended;
  expect(existsSync(join(dir, 'work', 'ran'))).toBe(false);
});
