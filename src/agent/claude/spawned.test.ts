import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openDialogue } from '../../process/dialogue.ts';
import { asSpawned } from './spawned.ts';

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'forge-spawned-'));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

const MIB = 1024 * 1024;

test.each([
  ['a line without end', `head -c ${256 * MIB} /dev/zero`, { code: null, isWhole: false }],
  [
    'lines that end',
    `for n in 1 2 3; do head -c ${30 * MIB} /dev/zero; echo; done`,
    { code: 0, isWhole: true },
  ],
])('of a child that says %s', async (_, script, { code, isWhole }) => {
  const child = openDialogue({
    ...{ argv: ['/bin/sh', '-c', script], cwd: dir, env: { PATH: process.env.PATH ?? '' } },
    ...{ logPath: join(dir, 'log'), onHeld: async () => {} },
  });
  const { stdout } = asSpawned(Promise.resolve(child));
  let heard = 0;
  for await (const chunk of stdout) heard += (chunk as Buffer).length;
  expect((await child.exited).code).toBe(code);
  await child.end();
  if (isWhole) expect(heard).toBe(90 * MIB + 3);
  else expect(heard).toBeLessThan(128 * MIB);
});
