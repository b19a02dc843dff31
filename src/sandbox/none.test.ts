import { expect, test } from 'vitest';
import { noSandbox } from './none.ts';

test('no sandbox is always available and changes nothing', async () => {
  const sandbox = noSandbox();
  expect(await sandbox.unavailable()).toBeNull();
  const grants = { readRoots: [], writeRoots: [], networkDomains: [] };
  const { argv, env, dispose } = await sandbox.confine(['make', 'test'], { PATH: '/bin' }, grants);
  expect({ argv, env }).toEqual({ argv: ['make', 'test'], env: { PATH: '/bin' } });
  await dispose();
});
