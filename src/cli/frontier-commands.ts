/** `frontier`: the stated direction, which orders issues and informs coders. */
import type { Command } from 'commander';
import { perform } from '../operations.ts';
import { textFrom } from './arguments.ts';
import type { SessionParts } from './commands.ts';
import { EXIT } from './exit.ts';
import { below } from './help.ts';
import { inEditor } from './in-editor.ts';

interface Parts extends SessionParts {
  /** Opens a file in the operator's editor. */
  edit(path: string): Promise<void>;
}

const texts = () => import('./frontier-text.ts');

export function addFrontierCommands(
  program: Command,
  { describe, operation, says, session, edit }: Parts,
): void {
  const frontier = program
    .command('frontier')
    .description('State where the project is heading: it orders issues and informs coders.');

  describe(frontier, 'show', says('frontier.show'), ['frontier show', 'frontier show --json']).action(
    operation('frontier.show', () => ({})),
  );
  describe(frontier, 'check', 'Check .forge/frontier.yaml: what can not be used, line by line.', [
    'frontier check',
  ])
    .addHelpText('after', below('Exit codes: 0 nothing is wrong, 3 warnings only, 1 errors.'))
    .action(
      session(async ({ context, terminal }) => {
        const shown = await perform(context, 'frontier.show', {});
        terminal.print(
          terminal.json ? JSON.stringify(shown, null, 2) : (await texts()).checkedText(shown, terminal),
        );
        if (shown.problems.some(({ level }) => level === 'error')) return EXIT.failed;
        return shown.problems.length > 0 ? EXIT.needsPerson : EXIT.done;
      }),
    );
  describe(frontier, 'edit', says('frontier.edit'), ['frontier edit', 'frontier edit --file frontier.yaml'])
    .option('--file <path>', 'the new text, instead of $EDITOR; - is standard input')
    .action(
      session(async ({ context, terminal }, _args, { file }) => {
        const store = (text: string, path: string) => perform(context, 'frontier.edit', { text, file: path });
        const stored =
          typeof file === 'string'
            ? await store(textFrom({ bodyFile: file }), file)
            : await inEditor((await perform(context, 'frontier.show', {})).text, {
                name: 'frontier.yaml',
                edit,
                store,
                again: (path) => `forge-loop frontier edit --file ${path}`,
              });
        terminal.print(
          terminal.json ? JSON.stringify(stored, null, 2) : (await texts()).frontierText(stored, terminal),
        );
        return EXIT.done;
      }),
    );
}
