import { readFileSync } from 'node:fs';
import { Command } from 'commander';
import { describe, expect, test } from 'vitest';
import type { Context } from '../context.ts';
import { UsageError } from '../errors.ts';
import { OPERATIONS, type OperationName } from '../operations.ts';
import { addCommands } from './commands.ts';
import { COMMAND_GROUPS } from './help.ts';
import { buildProgram } from './program.ts';

const page = readFileSync(new URL('../../docs/cli.md', import.meta.url), 'utf8');
const nowhere = () => Promise.reject(new Error('not here'));
const surface = {
  version: '0',
  open: nowhere,
  newRepository: nowhere,
  edit: nowhere,
  redact: String,
  serveMcp: nowhere,
};
const program = buildProgram(
  surface,
  () => {},
  () => {},
);

describe.each(leaves(program, '').map((leaf) => [leaf.name, leaf.command] as const))(
  '%s',
  (name, command) => {
    test('says what it does and shows an example that it would understand', () => {
      expect(command.description()).toMatch(/^[A-Z].*\.$/);
      const help: string[] = [];
      command.configureOutput({ writeOut: (text) => void help.push(text) }).outputHelp();
      const [, examples = ''] = help.join('').split('\nExamples:\n');
      const shown = examples.split('\n\n')[0]!.trimEnd().split('\n');
      expect(shown[0]).toMatch(new RegExp(`^  \\$ forge-loop ${name}( |$)`));
      for (const one of shown)
        expect(one).toMatch(new RegExp(`^  \\$ forge-loop ${name.split(' ')[0]}( |$)`));
    });

    test('names an option in its help as people give it', () => {
      for (const [, option] of command.description().matchAll(/\bwith `([^`]+)`/gi))
        expect(command.options.map(({ long }) => long)).toContain(option);
    });

    test('names no field in its help that only others than the command line have', () => {
      const { input } = OPERATIONS[name.replace(' ', '.') as OperationName] ?? { input: { shape: {} } };
      const named = [...command.description().matchAll(/`(\w+)`/g)].map(([, word = '']) => word);
      expect(named.filter((word) => word in input.shape)).toEqual([]);
    });

    test('is in docs/cli.md with all its options', () => {
      expect(page).toContain(`\`forge-loop ${name}`);
      for (const { long } of command.options) expect(page, `${name} ${long}`).toContain(long);
    });
  },
);

test.each(
  [program, ...leaves(program, '').map(({ command }) => command)].flatMap((command) =>
    [80, 60].map((columns) => [command.name(), columns, command] as const),
  ),
)('the help of %s fits into %i columns', (_name, columns, command) => {
  const help: string[] = [];
  const getOutHelpWidth = () => columns;
  command.configureOutput({ writeOut: (text) => void help.push(text), getOutHelpWidth }).outputHelp();
  const lines = help.join('').split('\n');
  expect(lines.length).toBeGreaterThan(5);
  expect(lines.filter((line) => line.length > columns)).toEqual([]);
});

test('every command is in a group of the help, and every group has some', () => {
  const help: string[] = [];
  program.configureOutput({ writeOut: (text) => void help.push(text) }).outputHelp();
  const headings = help.join('').match(/^\w.*:$/gm);
  expect(headings).toEqual(['Options:', ...Object.keys(COMMAND_GROUPS)]);
});

describe('symphony 5: run', () => {
  async function configOf(...args: string[]): Promise<unknown> {
    const opened: unknown[] = [];
    const own = new Command('forge-loop').option('--config <path>').exitOverride();
    const open = (_cwd: string, given: object) => {
      opened.push(given);
      return nowhere();
    };
    addCommands(own, { ...surface, open }, () => {});
    await own.parseAsync(args, { from: 'user' }).catch((problem: Error) => {
      if (problem.message !== 'not here') throw problem;
    });
    return opened;
  }

  test.each([
    [['run'], null],
    [['run', 'night.md'], 'night.md'],
    [['run', '--config', 'night.md'], 'night.md'],
    [['run', 'night.md', '--config', 'night.md'], 'night.md'],
  ])('%j takes the workflow %j', async (args, config) => {
    expect(await configOf(...args)).toEqual([{ config }]);
  });

  test('takes one workflow, not two', async () => {
    await expect(configOf('run', 'a.md', '--config', 'b.md')).rejects.toThrow(
      'Two files are given: a.md and b.md.',
    );
  });
});

test.each([
  [['restore'], 'restore: give a backup file or --empty.', 'restore --help'],
  [['cost', '--by', 'foo'], "invalid --by 'foo': use issue, role, model, day, round or turn", 'cost --help'],
])('%j is a mistake of usage, and its help is named', async (args, message, help) => {
  const told: [string, string | null][] = [];
  const context = { close: async () => {}, refuseInTurn: async () => {} } as unknown as Context;
  const note = (text: string, hint: string | null): void => void told.push([text, hint]);
  const own = buildProgram({ ...surface, open: async () => context }, note, () => {});
  await own.parseAsync(args, { from: 'user' }).catch((error) => {
    if (error instanceof UsageError) note(error.message, error.hint);
  });
  expect(told).toEqual([[message, `\`forge-loop ${help}\` shows what it takes.`]]);
});

function leaves(command: Command, prefix: string): { name: string; command: Command }[] {
  return command.commands.flatMap((sub) => {
    const name = `${prefix}${sub.name()}`;
    return sub.commands.length > 0 ? leaves(sub, `${name} `) : [{ name, command: sub }];
  });
}
