/** `plan`: plan files, before anything works on them. */
import type { Command } from 'commander';
import { textFrom } from './arguments.ts';
import type { CommandParts } from './commands.ts';
import { EXIT } from './exit.ts';

export function addPlanCommands(program: Command, { describe, operation, says }: CommandParts): void {
  const plan = program.command('plan').description('Write plans and check them.');

  describe(plan, 'new', says('plan.new'), [
    'plan new',
    'plan new auth-refactor',
    'plan new auth-refactor --output docs/auth.md',
  ])
    .argument('[name]', 'what it is about, in one to three words', 'plan')
    .option('--output <file>', 'a file that is not there yet; default: the name and .md')
    .action(operation('plan.new', ([name], { output }) => ({ name, output })));
  describe(plan, 'lint', says('plan.lint'), ['plan lint plan.md', 'plan lint plan.md --json'])
    .argument('<file>', 'the plan; - is standard input')
    .addHelpText('after', '\nExit codes: 0 nothing is missing, 3 warnings only, 1 errors.')
    .action(
      operation(
        'plan.lint',
        ([file]) => ({ file, text: textFrom({ bodyFile: file }) }),
        ({ problems }) => {
          if (problems.some(({ severity }) => severity === 'error')) return EXIT.failed;
          return problems.length > 0 ? EXIT.needsPerson : EXIT.done;
        },
      ),
    );
}
