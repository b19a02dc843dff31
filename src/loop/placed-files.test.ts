import { describe, expect, test } from 'vitest';
import { IN } from '../../test/support/plan-play.ts';
import { testPolicy } from '../../test/support/policy.ts';
import type { Agent } from '../agent/agent.ts';
import type { Policy } from '../core/policy.ts';
import { nothingToDo, placedFiles, postSkill, skillOf } from './placed-files.ts';
import type { Ports } from './ports.ts';

const portsOf = (
  loop: Partial<Policy['loop']>,
  texts: Record<string, string> = {},
  looksForSkills?: true,
) => {
  const policy = testPolicy();
  return {
    settings: { policy: () => ({ ...policy, loop: { ...policy.loop, ...loop } }) } as Ports['settings'],
    readText: async (path: string) => texts[path] ?? null,
    agentFor: () => ({ ...(looksForSkills && { looksForSkills }) }) as Agent,
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

describe('a post action without anything to do', () => {
  const nothing = async (loop: Partial<Policy['loop']>, texts: Record<string, string> = {}) => {
    const ports = portsOf(loop, texts);
    return nothingToDo(ports.settings.policy(), await postSkill(ports));
  };

  test.each<[string, Partial<Policy['loop']>, Record<string, string>, string]>([
    [
      'has no SKILL.md',
      { skills: '/s', postAction },
      {},
      '"review" is missing: there is no /s/review/SKILL.md',
    ],
    [
      'has an empty SKILL.md',
      { skills: '/s', postAction },
      { '/s/review/SKILL.md': '\n' },
      '"review" is missing',
    ],
    ['is in no folder', { skills: null, postAction }, {}, '"review" is not known: loop.skills is not set'],
    ['was switched off', { skills: '/s', postAction: null }, {}, 'loop.post_action is off'],
  ])('its skill %s', async (_, loop, texts, says) => {
    expect(await nothing(loop, texts)).toContain(says);
  });

  test('its skill, or a prompt, is something to do', async () => {
    expect(await nothing({ skills: '/s', postAction }, { '/s/review/SKILL.md': 'review it' })).toBeNull();
    expect(await nothing({ skills: '/s', postAction: { ...postAction, prompt: 'Look.' } })).toBeNull();
  });
});

describe('an agent that looks for skills', () => {
  const KNOWN = '---\nname: review\ndescription: Reviews it.\n---\nreview it';
  const having = (text: string, looks?: true) =>
    portsOf({ skills: '/s', postAction, worktreeFiles }, { '/s/review/SKILL.md': text }, looks);

  test('finds it by itself: it is neither in the worktree nor in the prompt', async () => {
    const ports = having(KNOWN, true);
    expect(await postSkill(ports)).toMatchObject({ text: null });
    expect(await placedFiles(ports)).toEqual(worktreeFiles);
    expect(await skillOf(ports, IN.post_action().task)).toEqual({ name: 'review', folder: '/s/review' });
    expect(await skillOf(ports, IN.coding().task)).toBe(null);
  });

  test.each([
    ['a comment', KNOWN.replace('name: review', 'name: review # ours')],
    ['a text over several lines', KNOWN.replace(': Reviews it.', ':\n  Reviews it\n  twice.')],
  ])('finds it as any YAML reader does: %s', async (_, text) => {
    expect(await postSkill(having(text, true))).toMatchObject({ text: null });
  });

  test.each([
    ['has no front matter', 'review it', true],
    ['has no description', '---\nname: review\n---\nreview it', true],
    ['has another name', KNOWN.replace('name: review', 'name: other'), true],
    ['has front matter that can’t be read', '---\nname: [\n---\nreview it', true],
    ['is for an agent that does not look', KNOWN, undefined],
  ] as const)('one that %s is told in words', async (_, text, looks) => {
    const ports = having(text, looks);
    expect(await postSkill(ports)).toMatchObject({ text });
    expect(await placedFiles(ports)).toHaveLength(2);
    expect(await skillOf(ports, IN.post_action().task)).toBe(null);
  });
});
