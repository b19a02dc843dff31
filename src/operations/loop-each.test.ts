/** Lists of features that can't be started say where they are wrong, and start nothing. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { moved, openedRepository } from '../../test/support/opened-repository.ts';
import type { Terminal } from '../cli/terminal.ts';
import { TEXT } from '../cli/text.ts';
import { perform } from '../operations.ts';
import { findLoop } from './loops.ts';

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
  [
    'two that ask for the same',
    ['features:', '  - { name: a, goal: Do it }', '  - name: b', '    goal: " Do it"', '    after: [a]'],
    ':3: "b" has the same plan and goal as "a": it would be one loop',
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

test('of a plan that can’t be read, the message names its file as seen from here', async () => {
  mkdirSync(join(here.root, 'plans'));
  writeFileSync(join(here.root, 'plans', 'bad.md'), 'Why.\n<!-- forge-plan:start -->\n');
  const file = join(here.root, 'features.yaml');
  writeFileSync(file, 'features: [{ name: a, plan: plans/bad.md }]\n');
  await expect(perform(here.context, 'loop.start_each', { file })).rejects.toThrow(
    `${join(here.root, 'plans/bad.md')}:2: the plan has no end`,
  );
});

test('a message about YAML is one line, without the place twice', async () => {
  const file = join(here.root, 'features.yaml');
  writeFileSync(file, 'features:\n  - name: a\n   goal: x\n');
  await expect(perform(here.context, 'loop.start_each', { file })).rejects.toThrow(
    /:3: Sequence item without - indicator$/,
  );
});

test('what of a plan is left out, and what is missing in it, is said', async () => {
  mkdirSync(join(here.root, 'plans'), { recursive: true });
  const plan =
    '<!-- forge-plan:start -->\nWhy.\n<!-- forge-section -->\n\n<!-- forge-section -->\n## A\nDo it.\n';
  writeFileSync(join(here.root, 'plans', 'a.md'), `${plan}<!-- forge-plan:end -->\n`);
  const file = join(here.root, 'features.yaml');
  writeFileSync(file, 'features: [{ name: a, plan: plans/a.md }, { name: b, goal: x }]\n');
  const started = await perform(here.context, 'loop.start_each', { file });
  const at = join(here.root, 'plans/a.md');
  expect(started.warnings).toEqual([
    `${at}:3: this milestone is empty, and is skipped`,
    expect.stringContaining(`${at}:5: milestone 1 has no `),
  ]);
  expect(TEXT['loop.start_each'](started, {} as Terminal)).toContain(`warning: ${started.warnings[0]}\n`);
});

test('`why` names what a feature waits for, before a runner has seen it', async () => {
  const file = join(here.root, 'features.yaml');
  writeFileSync(file, 'features: [{ name: docs, goal: x, after: [lexer] }, { name: lexer, goal: y }]\n');
  await perform(here.context, 'loop.start_each', { file });
  const { issues } = await perform(here.context, 'why');
  expect(issues.map(({ name, why }) => [name, why])).toEqual([
    ['lexer', 'queued: ready; the runner takes the next step'],
    ['docs', 'queued: waits for the loop lexer'],
  ]);
});

describe('a list that is started again', () => {
  const file = () => join(here.root, 'features.yaml');
  const start = async (...lines: string[]) => {
    writeFileSync(file(), `${lines.join('\n')}\n`);
    const started = await perform(here.context, 'loop.start_each', { file: file() });
    return started.loops.map(({ name, already, after }) => [name, already ? 'before' : 'now', ...after]);
  };
  const LEXER = '  - { name: lexer, goal: Cut text. }';
  const PARSER = '  - { name: parser, goal: Read words., after: [lexer] }';
  const TWO = ['concurrency: 1', 'features:', LEXER, PARSER];
  const completes = async (name: string) => {
    const store = await here.context.writing();
    const { id } = await findLoop(store, name);
    const course = [
      moved('queued', 'dispatched'),
      moved('dispatched', 'running'),
      moved('running', 'completed'),
    ];
    await here.commit((await store.task(id))!, ...course);
  };
  const whys = async () =>
    Object.fromEntries((await perform(here.context, 'why')).issues.map(({ name, why }) => [name, why]));
  const READY = 'queued: ready; the runner takes the next step';

  test('goes on: what waited for one that was given up waits for the one that is started in its place', async () => {
    await start(...TWO);
    await perform(here.context, 'loop.cancel', { loop: 'lexer' });
    expect(await whys()).toEqual({
      parser:
        'queued: waits for the loop lexer, which ended without completing (cancelled): `forge-loop loop restart lexer` continues it',
    });
    const again = [
      ['lexer-2', 'now'],
      ['parser', 'before', 'lexer-2'],
    ];
    expect(await start(...TWO)).toEqual(again);
    expect(await whys()).toEqual({ 'lexer-2': READY, parser: 'queued: waits for the loop lexer-2' });
    again[0]![1] = 'before';
    expect(await start(...TWO)).toEqual(again);
    await completes('lexer-2');
    expect(await whys()).toEqual({ parser: READY });
  });

  test('starts nothing twice that it has completed, until all of it has ended', async () => {
    await start(...TWO);
    await completes('lexer');
    expect(await start(...TWO)).toEqual([
      ['lexer', 'before'],
      ['parser', 'before', 'lexer'],
    ]);
    await completes('parser');
    expect(await start(...TWO)).toEqual([
      ['lexer-2', 'now'],
      ['parser-2', 'now', 'lexer-2'],
    ]);
  });

  test('with one more: it counts among those of before', async () => {
    await start(...TWO);
    expect(await start(...TWO, '  - { name: docs, goal: Describe it. }')).toEqual([
      ['lexer', 'before'],
      ['parser', 'before', 'lexer'],
      ['docs', 'now'],
    ]);
    expect(await whys()).toMatchObject({
      lexer: READY,
      docs: 'queued: waits for a place: 1 of its features may be at work',
    });
  });

  test.each<[string, string[], string]>([
    [
      'other features before it',
      ['concurrency: 1', 'features:', LEXER, '  - { name: parser, goal: Read words. }'],
      ':4: "parser" was started before and waits for lexer: here it waits for nothing',
    ],
    [
      'one that was not listed',
      [...TWO.slice(0, 3), '  - { name: docs, goal: z }', PARSER.replace('[lexer]', '[lexer, docs]')],
      ':5: "parser" was started before and waits for lexer: here it waits for lexer, docs',
    ],
    [
      'another concurrency',
      ['concurrency: 2', ...TWO.slice(1)],
      ':3: "lexer" was started before with another concurrency (1, here 2)',
    ],
    [
      'no concurrency',
      TWO.slice(1),
      ':2: "lexer" was started before with another concurrency (1, here none)',
    ],
  ])('with %s is refused, and starts nothing', async (_what, lines, says) => {
    await start(...TWO);
    await expect(start(...lines)).rejects.toThrow(`${file()}${says}`);
    await expect(start(...lines)).rejects.toHaveProperty('hint', expect.stringContaining('loop cancel'));
    expect(await perform(here.context, 'loop.list', { all: true })).toHaveLength(2);
  });

  test('may name one that was started alone, or with others, where it need not count among these', async () => {
    await perform(here.context, 'loop.start', { goal: 'Cut text.', name: 'lexer' });
    await expect(start(...TWO)).rejects.toThrow(
      '"lexer" was started before with another concurrency (none, here 1)',
    );
    expect(await start(...TWO.slice(1))).toEqual([
      ['lexer', 'before'],
      ['parser', 'now', 'lexer'],
    ]);
  });

  test('takes none that counts among another list', async () => {
    await start('concurrency: 1', 'features:', LEXER);
    await start('concurrency: 1', 'features:', '  - { name: docs, goal: Describe it. }');
    await expect(
      start('concurrency: 1', 'features:', LEXER, '  - { name: docs, goal: Describe it. }'),
    ).rejects.toThrow(':4: "docs" was started before with another list');
  });
});
