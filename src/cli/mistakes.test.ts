import { Command } from 'commander';
import { describe, expect, test } from 'vitest';
import { systemRefusal, usageMistake } from './mistakes.ts';

describe('a mistake of usage', () => {
  const program = new Command('forge-loop');
  const added = program.command('issue').command('new');

  test.each([
    [
      "error: unknown command 'stauts'\n(Did you mean status?)",
      "unknown command 'stauts'",
      'Did you mean status?',
    ],
    [
      "error: required option '--title <title>' not specified",
      "required option '--title <title>' not specified",
      '`forge-loop issue new --help` shows what it takes.',
    ],
    [
      "error: command-argument value 'abc' is invalid for argument 'issue'. Not an issue number.",
      "invalid issue 'abc': not an issue number",
      '`forge-loop issue new --help` shows what it takes.',
    ],
    [
      "error: option '-n, --last <n>' argument 'x' is invalid. Not a whole number.",
      "invalid --last 'x': not a whole number",
      '`forge-loop issue new --help` shows what it takes.',
    ],
    [
      "error: command-argument value 'foo' is invalid for argument 'shell'. Allowed choices are bash, zsh, fish.",
      "invalid shell 'foo': use bash, zsh or fish",
      '`forge-loop issue new --help` shows what it takes.',
    ],
  ])('%j', (said, message, hint) => {
    expect(usageMistake(said, added)).toEqual({ message, hint });
  });

  test('of the program itself points at every command', () => {
    expect(usageMistake("error: unknown option '--x'", program).hint).toBe(
      '`forge-loop --help` shows every command.',
    );
  });
});

describe('what the system refused', () => {
  const refused = (code: string, more: object = {}) =>
    Object.assign(new Error(`${code}: no, write`), { code, ...more });

  test.each([
    ['ENOSPC', {}, 'the disk is full (ENOSPC: no, write).', 'Free some space, then try again.'],
    [
      'EROFS',
      { path: 'owner', dest: '/r/.forge/lock' },
      '/r/.forge/lock: the file system is read-only (',
      'Make it writable',
    ],
    ['EACCES', { path: '/r/a' }, '/r/a: permission denied (', 'accessible for this user'],
  ])('%s', (code, more, message, hint) => {
    expect(systemRefusal(refused(code, more))).toEqual({
      message: expect.stringContaining(message),
      hint: expect.stringContaining(hint),
    });
  });

  test.each([[new Error('a bug')], [refused('ENOENT')], ['thrown text'], [null]])('is not %s', (error) => {
    expect(systemRefusal(error)).toBeNull();
  });
});
