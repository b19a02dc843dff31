/** `pull`: what people say about a change, and what CI found. */
import type { Command } from 'commander';
import { UsageError } from '../errors.ts';
import { pullNumber, textFrom, wholeNumber } from './arguments.ts';
import type { CommandParts } from './commands.ts';

export function addPullCommands(program: Command, { describe, operation, says }: CommandParts): void {
  const pull = program
    .command('pull')
    .description('Look at pull requests, review them, report what CI found.');
  const PULL = 'its number';

  describe(pull, 'list', says('pull.list'), ['pull list', 'pull list --all'])
    .option('-a, --all', 'merged and closed ones too')
    .action(operation('pull.list', (_args, { all }) => ({ all: all === true })));
  describe(pull, 'show', says('pull.show'), ['pull show 3'])
    .argument('<pull>', PULL, pullNumber)
    .action(operation('pull.show', ([number]) => ({ pull: number })));
  describe(pull, 'comment', says('pull.comment'), [
    'pull comment 3 --body "Use the existing parser."',
    'pull comment 3 --file src/a.ts --line 12 --body-file why.md',
  ])
    .argument('<pull>', PULL, pullNumber)
    .option('--body <text>', 'the text')
    .option('--body-file <path>', 'the same from a file; - is standard input')
    .option('--file <path>', 'the file of the change it is about')
    .option('--line <n>', 'the line of that file', wholeNumber)
    .action(
      operation('pull.comment', ([number], { file, line, ...rest }) => ({
        pull: number,
        body: textFrom(rest),
        file,
        line,
      })),
    );
  describe(pull, 'review', says('pull.review'), [
    'pull review 3 --approve',
    'pull review 3 --request-changes --body "ESC must close it too."',
  ])
    .argument('<pull>', PULL, pullNumber)
    .option('--approve', 'approve the head as it is now')
    .option('--request-changes', 'request changes')
    .option('--body <text>', 'the text')
    .option('--body-file <path>', 'the same from a file; - is standard input')
    .option('--file <path>', 'the file of the change it is about')
    .option('--line <n>', 'the line of that file', wholeNumber)
    .action(
      operation('pull.review', ([number], { approve, requestChanges, file, line, ...rest }) => {
        if ((approve === true) === (requestChanges === true))
          throw new UsageError('A review needs a verdict.', 'Give --approve or --request-changes.');
        const verdict = approve ? 'approve' : 'request_changes';
        return { pull: number, verdict, body: textFrom(rest), file, line };
      }),
    );
  describe(pull, 'check', says('pull.check'), [
    'pull check 3 --name build --state green',
    'pull check 3 --name build --state red --log-file build.log',
  ])
    .argument('<pull>', PULL, pullNumber)
    .requiredOption('--name <name>', 'the name of the check, as merge.required_checks has it')
    .requiredOption('--state <state>', 'pending, green or red')
    .option('--log-file <path>', 'its output; - is standard input')
    .option('--job <name>', 'which job failed')
    .option('--step <name>', 'the step that failed')
    .option('--link <url>', 'a link to the full output')
    .action(
      operation('pull.check', ([number], { logFile, name, state, job, step, link }) => ({
        pull: number,
        ...{ name, state, job, step, link },
        ...(logFile === undefined ? {} : { log: textFrom({ bodyFile: logFile }) }),
      })),
    );
}
