/** Lists of features that can't be started say where they are wrong, and start nothing. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openedRepository } from '../../test/support/opened-repository.ts';
import { perform } from '../operations.ts';

const here = openedRepository();

test.each<[string, string[], string]>([
  [
    'a circle',
    [
      'features:',
      '  - name: b',
      '    goal: x',
      '  - { name: a, goal: x, after: [c] }',
      '  - { name: c, goal: x, after: [a] }',
    ],
    ':4: these wait for each other: a → c → a',
  ],
  [
    'one that is not listed',
    ['# of a', 'features:', '  - name: a', '    goal: x', '    after: [zz]'],
    ':3: "a" waits for "zz", which is not listed',
  ],
  [
    'a name twice',
    ['features:', '  - { name: a, goal: x }', '  - { name: a, goal: y }'],
    ':3: "a" is listed twice',
  ],
  [
    'nothing to do',
    ['features:', '  - name: ab', '    goal: x', '  - name: a'],
    ':4: "a" has neither a plan nor a goal',
  ],
  [
    'an unknown key',
    ['features:', '  - name: a', '    goal: x', '  - name: b', '    gaol: x'],
    ':4: features.1: Unrecognized key: "gaol"',
  ],
  [
    'a value of another kind',
    ['features:', '  - name: a', '    goal: x', '    after: b'],
    ':4: features.0.after: ',
  ],
  ['no YAML', ['features: [', '  - x'], ':'],
  [
    'a plan that is not there',
    ['features:', '  - name: a', '    plan: gone.md'],
    ':2: the plan of "a" can\'t be read: no such file or directory',
  ],
])('%s', async (_what, lines, says) => {
  const file = join(here.root, 'features.yaml');
  writeFileSync(file, `${lines.join('\n')}\n`);
  await expect(perform(here.context, 'loop.start_each', { file })).rejects.toThrow(`${file}${says}`);
  expect(await perform(here.context, 'loop.list', { all: true })).toEqual([]);
});

test('a list that is not there', async () => {
  const file = join(here.root, 'gone.yaml');
  await expect(perform(here.context, 'loop.start_each', { file })).rejects.toThrow(
    `${file} can't be read: no such file or directory`,
  );
});
