import { expect, test } from 'vitest';
import { GitFailed, isDiskFault, WorkspaceRefused, whyUnreadable } from './errors.ts';

const system = (code: string) => Object.assign(new Error(code), { code });
const git = (stderr: string) => new GitFailed(['read-tree'], 128, stderr);

test.each([
  ['a full disk', system('ENOSPC'), true],
  ['a used up quota', system('EDQUOT'), true],
  ['a disk that can only be read', system('EROFS'), true],
  ['a full disk under git', git('error: unable to write file a\nfatal: No space left on device\n'), true],
  ['a used up quota under git', git('fatal: write error: Disk quota exceeded\n'), true],
  ['a full disk behind a refusal', new WorkspaceRefused('a', { cause: system('ENOSPC') }), true],
  ['a file of somebody else', system('EACCES'), false],
  ['anything else that git says', git('error: unable to unlink old a: Permission denied\n'), false],
  ['a refusal', new WorkspaceRefused('No space left'), false],
  ['no error', 'ENOSPC', false],
])('a fault of the disk: %s', (_what, error, is) => {
  expect(isDiskFault(error)).toBe(is);
});

test.each([
  ["ENOENT: no such file or directory, open 'a, b.md'", 'no such file or directory'],
  ['EISDIR: illegal operation on a directory, read', 'illegal operation on a directory'],
  ['something else: x', 'something else: x'],
])('why a file is unreadable: %s', (message, why) => {
  expect(whyUnreadable(new Error(message))).toBe(why);
});
