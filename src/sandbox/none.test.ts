import { expect, test } from 'vitest';
import { noSandbox } from './none.ts';

const access = {
  readRoots: [],
  writeRoots: [],
  network: 'none',
  tools: 'work',
  sandbox: 'none',
} as const;

test('no sandbox changes nothing', async () => {
  const command = { argv: ['make', 'test'], env: { PATH: '/bin' }, cwd: '/' };
  const { argv, env, problem, dispose } = await noSandbox().confine(command, access);
  expect({ argv, env }).toEqual({ argv: ['make', 'test'], env: { PATH: '/bin' } });
  expect(problem({ code: 1 })).toBeNull();
  await dispose();
});

test.each(['required', 'bwrap', 'container', 'srt'] as const)(
  'no sandbox is none where one is asked for: %s',
  async (wanted) => {
    expect(await noSandbox('bwrap is not installed').choose({ kind: wanted, image: null })).toEqual({
      kind: null,
      why: 'bwrap is not installed',
    });
  },
);

test.each(['auto', 'none'] as const)('no sandbox will do where it may: %s', async (wanted) => {
  expect(await noSandbox().choose({ kind: wanted, image: null })).toEqual({
    kind: 'none',
    why: null,
    unlimited: null,
  });
});
