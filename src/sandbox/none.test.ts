import { expect, test } from 'vitest';
import { noSandbox } from './none.ts';

test('no sandbox is always available and changes nothing', async () => {
  const sandbox = noSandbox();
  expect(await sandbox.unavailable()).toBeNull();
  const access = { readRoots: [], writeRoots: [], network: [], tools: 'work', credentials: 'none' } as const;
  const { argv, env, dispose } = await sandbox.confine(['make', 'test'], { PATH: '/bin' }, access);
  expect({ argv, env }).toEqual({ argv: ['make', 'test'], env: { PATH: '/bin' } });
  await dispose();
});
