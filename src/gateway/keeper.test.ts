import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { SecretPolicy } from '../core/access/secret.ts';
import { secretKeeper } from './keeper.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'forge-keeper-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const secret = (from: SecretPolicy['from']): SecretPolicy => ({ name: 'API_KEY', from, hosts: [] });
const keeper = (operator: Record<string, string> = {}, timeoutMs?: number) =>
  secretKeeper({ PATH: process.env.PATH ?? '', FOLDER: folder, ...operator }, () => {}, timeoutMs);
const had = (command: string) => keeper().obtain(secret({ command }));

test('what a variable of the loop has', async () => {
  const { obtain } = keeper({ OPERATORS_KEY: 'a secret value' });
  expect(await obtain(secret({ env: 'OPERATORS_KEY' }))).toBe('a secret value');
});

test('what a command prints in the operator’s environment, asked for once', async () => {
  writeFileSync(join(folder, 'key'), 'a secret value\n');
  const { obtain } = keeper();
  const from = { command: 'echo asked >> "$FOLDER/asked"; cat "$FOLDER/key"' };
  expect(await Promise.all([obtain(secret(from)), obtain(secret(from))])).toEqual(
    Array.from({ length: 2 }, () => 'a secret value'),
  );
  expect(await obtain(secret(from))).toBe('a secret value');
  expect(readFileSync(join(folder, 'asked'), 'utf8')).toBe('asked\n');
});

test('one that could not be had is asked for again', async () => {
  const { obtain } = keeper();
  const from = { command: 'cat "$FOLDER/key"' };
  await expect(obtain(secret(from))).rejects.toThrow(/No such file/);
  writeFileSync(join(folder, 'key'), 'a secret value');
  expect(await obtain(secret(from))).toBe('a secret value');
});

describe('told in words for a person, and never with the value:', () => {
  test.each([
    ['exit 3', 'its command ended with exit 3'],
    ['echo it is locked >&2; exit 1', 'its command ended with exit 1: it is locked'],
    ['echo a-secret-value; echo wrong: a-secret-value >&2; exit 1', 'exit 1: wrong: …'],
    ['kill -9 $$', 'its command ended with the signal SIGKILL'],
    ['no-such-program', 'exit 127'],
    [':', 'its command printed nothing'],
    ['printf "one-line\\ntwo-lines\\n"', 'what its command printed has several lines'],
    ['printf "a\\tsecret\\tvalue"', 'characters that no header can carry'],
    ['echo short', 'fewer than 8 characters'],
    ['yes a-secret-value', 'far too much'],
  ])('%s', async (command, words) => {
    const error = await had(command).catch((error: Error) => error.message);
    expect(error).toContain('secrets.API_KEY: ');
    expect(error).toContain(words);
    expect(error).not.toMatch(/secret-value|one-line|short\b/);
  });

  test('a variable that is not set', async () => {
    await expect(keeper({ EMPTY: '' }).obtain(secret({ env: 'EMPTY' }))).rejects.toThrow(
      'secrets.API_KEY: the variable EMPTY is not set, or empty, where the loop was started',
    );
  });

  test('a command that waits for somebody is ended with all it started', async () => {
    const command = 'sleep 987651 & echo $! > "$FOLDER/pid"; wait';
    const { obtain } = keeper({}, 500);
    await expect(obtain(secret({ command }))).rejects.toThrow('took longer than 0.5 s');
    const pid = Number(readFileSync(join(folder, 'pid'), 'utf8'));
    await expect
      .poll(() => {
        try {
          return readFileSync(`/proc/${pid}/stat`, 'utf8').split(' ')[2] !== 'Z';
        } catch {
          return false;
        }
      })
      .toBe(false);
  });
});
