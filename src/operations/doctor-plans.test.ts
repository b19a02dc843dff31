import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openedRepository } from '../../test/support/opened-repository.ts';
import { testPolicy } from '../../test/support/policy.ts';
import type { Policy } from '../core/policy.ts';
import { planNeeds } from './doctor-plans.ts';

const here = openedRepository();
const said = async (change: Partial<Policy['loop']>): Promise<string[]> => {
  const policy = testPolicy();
  const checks = await planNeeds(here.context, { ...policy, loop: { ...policy.loop, ...change } });
  return checks.map(({ level, what }) => `${level} ${what.replaceAll(here.root, '.')}`);
};
const review = { skill: 'review', prompt: null, model: null };

test('files for worktrees are there, and not tracked', async () => {
  expect(await said({})).toEqual([]);
  for (const name of ['mcp.json', 'tracked']) writeFileSync(join(here.root, name), '{}');
  here.git('add', 'tracked');
  here.git('commit', '-q', '-m', 'tracked');
  const from = join(here.root, 'mcp.json');
  expect(await said({ worktreeFiles: [{ path: '.mcp.json', from }] })).toEqual([]);
  expect(
    await said({
      worktreeFiles: [
        { path: 'tracked', from },
        { path: '.mcp.json', from: join(here.root, 'gone') },
      ],
    }),
  ).toEqual([
    'fail loop.worktree_files: tracked is tracked by git',
    'fail loop.worktree_files: .mcp.json: ./gone is missing',
  ]);
});

test('a skill is in the folder of skills', async () => {
  expect(await said({ postAction: review })).toEqual([
    'fail loop.post_action.skill is review, but loop.skills is not set',
  ]);
  const skills = join(here.root, 'skills');
  expect(await said({ postAction: review, skills })).toEqual([
    'fail the skill review has no ./skills/review/SKILL.md',
  ]);
  mkdirSync(join(skills, 'review'), { recursive: true });
  writeFileSync(join(skills, 'review', 'SKILL.md'), 'review it');
  expect(await said({ postAction: review, skills })).toEqual([]);
});
