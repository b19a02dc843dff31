import { expect, test } from 'vitest';
import { testPolicy } from '../../test/support/policy.ts';
import type { Policy } from '../core/policy.ts';
import { placedFiles, postSkill } from './placed-files.ts';
import type { Ports } from './ports.ts';

const portsOf = (loop: Partial<Policy['loop']>, texts: Record<string, string> = {}) => {
  const policy = testPolicy();
  return {
    settings: { policy: () => ({ ...policy, loop: { ...policy.loop, ...loop } }) } as Ports['settings'],
    readText: async (path: string) => texts[path] ?? null,
  };
};
const postAction = { skill: 'review', prompt: null, model: null };
const worktreeFiles = [{ path: '.mcp.json', from: '/home/ada/mcp.json' }];

test('the skill of the post action lies beside the files that are named', async () => {
  const ports = portsOf(
    { skills: '/home/ada/skills', postAction, worktreeFiles },
    { '/home/ada/skills/review/SKILL.md': 'review it' },
  );
  expect(await postSkill(ports)).toMatchObject({ name: 'review', text: 'review it' });
  expect(await placedFiles(ports)).toEqual([
    ...worktreeFiles,
    { path: '.forge/skills/review', from: '/home/ada/skills/review' },
  ]);
});

test.each([
  ['one that is not there', { skills: '/home/ada/skills', postAction }],
  ['no folder of skills', { skills: null, postAction }],
  ['no post action', { skills: '/home/ada/skills', postAction: null }],
])('%s is none', async (_, loop) => {
  expect(await postSkill(portsOf(loop))).toBe(null);
  expect(await placedFiles(portsOf(loop))).toEqual([]);
});
