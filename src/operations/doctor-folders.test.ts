import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openedRepository } from '../../test/support/opened-repository.ts';
import { perform } from '../operations.ts';
import { spaceCheck, writeCheck } from './doctor-folders.ts';

const here = openedRepository();
const MIB = 1024 ** 2;

test('a state folder that can’t be written fails', async () => {
  mkdirSync(join(here.root, '.state'), { recursive: true });
  writeFileSync(join(here.root, '.state', 'forge-loop'), 'in the way');
  const { checks } = await perform(here.context, 'doctor');
  expect(checks.filter(({ level }) => level === 'fail')).toContainEqual({
    name: 'folders',
    level: 'fail',
    what: expect.stringMatching(/\.state\/forge-loop\/.* can't be written: a file is in its place$/),
    fix: 'Move that file away.',
  });
});

test('a folder that this user may not write, root or not, says so', async () => {
  const path = join(here.root, 'no-folder');
  writeFileSync(path, '', { mode: 0o400 });
  expect(await writeCheck(path)).toMatchObject({
    level: 'fail',
    what: `${path} can't be written: this user may not write there`,
  });
  expect(await writeCheck(here.root)).toBeNull();
});

test.each([
  [63 * MIB, 'fail', 'only 63 MiB free at /x'],
  [64 * MIB, 'warn', 'only 64 MiB free at /x'],
  [1023 * MIB, 'warn', 'only 1023 MiB free at /x'],
  [1024 * MIB, 'ok', '1.0 GiB free at /x'],
])('%d bytes left: %s', (bytes, level, what) => {
  expect(spaceCheck('/x', bytes)).toMatchObject({ level, what });
});
