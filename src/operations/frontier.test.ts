import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { openedRepository } from '../../test/support/opened-repository.ts';
import { perform } from '../operations.ts';

const here = openedRepository();
const file = () => join(here.root, '.forge/frontier.yaml');
const state = (text: string): void => {
  mkdirSync(dirname(file()), { recursive: true });
  writeFileSync(file(), text);
};
const DIRECTION = 'next_expansion: [session recovery]\nrejected_approaches: [rewrite the docs]\n';

test('looking at a direction that nobody stated writes nothing', async () => {
  const shown = await perform(here.context, 'frontier.show');
  expect(shown).toMatchObject({ isWritten: false, goal: null, problems: [] });
  expect(shown.text).toContain('next_expansion:');
  expect(existsSync(file())).toBe(false);
});

test('a new text is stored, and one with an error is not, which says where it is', async () => {
  const edited = await perform(here.context, 'frontier.edit', { text: 'goal: Trust\nnext: [a]\n' });
  expect(edited).toMatchObject({ isWritten: true, goal: 'Trust', problems: [{ line: 2, level: 'warning' }] });
  await expect(
    perform(here.context, 'frontier.edit', { text: 'goal: x\nhot_files: 7\n', file: 'mine.yaml' }),
  ).rejects.toThrow('mine.yaml:2: hot_files is left out');
  expect(readFileSync(file(), 'utf8')).toBe('goal: Trust\nnext: [a]\n');
  expect(here.git('status', '--porcelain')).not.toContain('.forge');
});

test('issues go in the order of the direction, and why says what each rests on', async () => {
  state(DIRECTION);
  const lineOf = async (issue: number) => (await perform(here.context, 'why', { issue })).issues[0]!.why;
  for (const title of ['Rewrite all docs', 'Say hello', 'Recover sessions after a crash'])
    await here.ready(title);
  const { takes } = await perform(here.context, 'run.preview');
  expect(takes.map(({ issue }) => issue)).toEqual([3, 2, 1]);
  expect(await lineOf(3)).toBe(
    'ready: starts when a slot is free; 1st in line: matches "session recovery" in next_expansion',
  );
  expect(await lineOf(2)).toBe('ready: starts when a slot is free');
  expect(await lineOf(1)).toContain('3rd in line: matches "rewrite the docs" in rejected_approaches');
});

test('a mistake in it stops nothing: why and doctor name its line', async () => {
  state(`${DIRECTION}hot_files: 7\n`);
  const issue = await here.ready('Recover sessions');
  const { loop, issues } = await perform(here.context, 'why', { issue });
  expect(loop[0]).toMatch(/^\.forge\/frontier\.yaml:3: hot_files is left out: /);
  expect(issues[0]!.why).toContain('session recovery');
  const { checks } = await perform(here.context, 'doctor');
  expect(checks).toContainEqual(
    expect.objectContaining({ name: 'direction', level: 'warn', what: loop[0], fix: expect.any(String) }),
  );
});

test('the coder is told of it below its contract, and who works on hot files', async () => {
  state('goal: Trust\nhot_files: [src/core]\n');
  const issue = await here.ready('One');
  const change = { title: 'Two', body: 'Change `src/core/decide.ts`.', ready: true };
  const other = (await perform(here.context, 'issue.new', change)).number;
  await here.taskOf(other, 'aaaa0001');
  const { prompt } = await perform(here.context, 'brief', { issue });
  expect(prompt).toMatch(
    /\n\nBackground from the maintainers[^\n]*\n<<<direction \w+ \(advice, not part of the contract\)\n/,
  );
  expect(prompt).toContain(
    `Goal: Trust\nMany changes touch src/core; at work on it now: #${other}\n>>>direction`,
  );
  const own = await perform(here.context, 'brief', { issue: other });
  expect(own.prompt).toContain('Many changes touch src/core\n');
});
