/** A token that comes from elsewhere, and is asked for again. */
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { findToken } from './token.ts';

let bin: string;
beforeEach(() => {
  bin = mkdtempSync(join(tmpdir(), 'forge-token-'));
});
afterEach(() => rmSync(bin, { recursive: true, force: true }));

/** The GitHub CLI, as far as it is asked here. */
const says = (script: string): void => {
  const gh = join(bin, 'gh');
  writeFileSync(gh, `#!/bin/sh\n${script}\n`);
  chmodSync(gh, 0o755);
};
const find = () => findToken({ given: null, env: { PATH: `${bin}:/usr/bin:/bin` }, host: 'github.com' });

it('is asked of the GitHub CLI, and again when it is not accepted any more', async () => {
  says('echo one');
  const { read } = await find();
  says('echo two');
  expect([await read(), await read(true), await read()]).toEqual(['one', 'two', 'two']);
});

it('that is nowhere is a mistake at the start, and waited for once there was one', async () => {
  says('exit 1');
  await expect(find()).rejects.toMatchObject({
    name: 'UserError',
    message: expect.stringContaining('no token for github.com'),
  });
  says('echo one');
  const { read } = await find();
  says('exit 1');
  await expect(read(true)).rejects.toMatchObject({
    name: 'ForgeUnavailable',
    message: expect.stringContaining('no token for github.com'),
    isRefusal: true,
    hint: expect.stringContaining('gh auth login'),
  });
  says('echo two');
  expect(await read(true)).toBe('two');
});
