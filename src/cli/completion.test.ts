import { execFileSync } from 'node:child_process';
import { Command } from 'commander';
import { describe, expect, test } from 'vitest';
import { addCommands } from './commands.ts';
import { completionScript, SHELLS } from './completion.ts';

const nowhere = () => Promise.reject(new Error('not here'));
const program = new Command('forge-loop').option('--json', 'print JSON');
addCommands(
  program,
  { version: '0', open: nowhere, newRepository: nowhere, edit: nowhere, redact: String, serveMcp: nowhere },
  () => {},
);

test.each(SHELLS)('%s has every command and its options', (shell) => {
  const script = completionScript(program, shell);
  for (const word of ['init', 'task', 'restart', 'until-idle', 'body-file', 'prune', 'json'])
    expect(script, word).toContain(word);
});

describe('in bash itself', () => {
  const completed = (...words: string[]): string[] =>
    execFileSync('bash', [
      '-c',
      `${completionScript(program, 'bash')}\nCOMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _forge_loop; printf '%s\\n' "\${COMPREPLY[@]}"`,
      'bash',
      ...words,
    ])
      .toString()
      .trim()
      .split('\n');

  test.each([
    [['forge-loop', 'sta'], ['status']],
    [
      ['forge-loop', 'task', 're'],
      ['retry', 'restart'],
    ],
    [['forge-loop', 'run', '--m'], ['--max-issues']],
    [['forge-loop', '--json', 'issue', 'im'], ['import']],
    [['forge-loop', 'task', 'restart', '--f'], ['--force']],
    [['forge-loop', 'completion', '--js'], ['--json']],
  ])('%j is completed to %j', (words, found) => {
    expect(completed(...words)).toEqual(found);
  });
});
