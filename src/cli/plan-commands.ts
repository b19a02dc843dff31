/** `plan`: plans, before anything works on them. */
import type { Command } from 'commander';
import { issueNumber, textFrom } from './arguments.ts';
import type { SessionParts } from './commands.ts';
import { EXIT } from './exit.ts';
import { below } from './help.ts';

interface Parts extends SessionParts {
  /** Opens a file in the operator's editor. */
  edit(path: string): Promise<void>;
}

const PLAN = 'its name, or its id or the beginning of it';

export function addPlanCommands(program: Command, { describe, operation, says, session, edit }: Parts): void {
  const plan = program.command('plan').description('Write plans, check and approve them.');

  describe(plan, 'new', says('plan.new'), [
    'plan new',
    'plan new auth-refactor',
    'plan new auth-refactor --output docs/auth.md',
  ])
    .argument('[name]', 'what it is about, in one to three words', 'plan')
    .option('--output <file>', 'a new file (default: the name and .md)')
    .action(operation('plan.new', ([name], { output }) => ({ name, output })));
  describe(plan, 'lint', says('plan.lint'), ['plan lint plan.md', 'plan lint plan.md --json'])
    .argument('<file>', 'the plan; - is standard input')
    .addHelpText('after', below('Exit codes: 0 nothing is missing, 3 warnings only, 1 errors.'))
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

  describe(plan, 'draft', says('plan.draft'), ['plan draft 7'])
    .argument('<issue>', 'number', issueNumber)
    .action(operation('plan.draft', ([issue]) => ({ issue })));
  describe(plan, 'list', says('plan.list'), ['plan list', 'plan list --archived'])
    .option('--archived', 'also replaced ones')
    .action(operation('plan.list', (_, { archived }) => ({ archived: archived === true })));
  describe(plan, 'show', says('plan.show'), ['plan show auth-refactor', 'plan show 3f2a91c0 --json'])
    .argument('<plan>', PLAN)
    .action(operation('plan.show', ([name]) => ({ plan: name })));
  describe(plan, 'edit', says('plan.edit'), [
    'plan edit auth-refactor',
    'plan edit auth-refactor --file better.md',
  ])
    .argument('<plan>', PLAN)
    .option('--file <path>', 'the new text, instead of $EDITOR; - is standard input')
    .action(
      session(async ({ context, terminal }, [name = ''], { file }) => {
        const { editPlan } = await import('./plan-edit.ts');
        const edited = await editPlan(context, name, { file: file as string | undefined, edit });
        terminal.print(
          terminal.json
            ? JSON.stringify(edited, null, 2)
            : (await import('./text.ts')).TEXT['plan.edit'](edited, terminal),
        );
        return EXIT.done;
      }),
    );
  describe(plan, 'approve', says('plan.approve'), [
    'plan approve auth-refactor',
    'plan approve auth-refactor --start',
  ])
    .argument('<plan>', PLAN)
    .option('--start', 'also start it, as `loop start --plan` does')
    .action(operation('plan.approve', ([name], { start }) => ({ plan: name, start: start === true })));
}
