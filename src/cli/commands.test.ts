import { readFileSync } from 'node:fs';
import { Command } from 'commander';
import { describe, expect, test } from 'vitest';
import { addCommands } from './commands.ts';

const page = readFileSync(new URL('../../docs/cli.md', import.meta.url), 'utf8');
const program = new Command('forge-loop');
const nowhere = () => Promise.reject(new Error('not here'));
addCommands(
  program,
  { version: '0', open: nowhere, newRepository: nowhere, edit: nowhere, redact: String },
  () => {},
);

describe.each(leaves(program, '').map((leaf) => [leaf.name, leaf.command] as const))(
  '%s',
  (name, command) => {
    test('says what it does and shows an example that it would understand', () => {
      expect(command.description()).toMatch(/^[A-Z].*\.$/);
      const help: string[] = [];
      command.configureOutput({ writeOut: (text) => void help.push(text) }).outputHelp();
      expect(help.join('')).toMatch(new RegExp(`\\nExamples:\\n(  \\$ forge-loop ${name}.*\\n?)+`));
    });

    test('names an option in its help as people give it', () => {
      for (const [, option] of command.description().matchAll(/\bwith `([^`]+)`/g))
        expect(command.options.map(({ long }) => long)).toContain(option);
    });

    test('is in docs/cli.md with all its options', () => {
      expect(page).toContain(`\`forge-loop ${name}`);
      for (const { long } of command.options) expect(page, `${name} ${long}`).toContain(long);
    });
  },
);

function leaves(command: Command, prefix: string): { name: string; command: Command }[] {
  return command.commands.flatMap((sub) => {
    const name = `${prefix}${sub.name()}`;
    return sub.commands.length > 0 ? leaves(sub, `${name} `) : [{ name, command: sub }];
  });
}
