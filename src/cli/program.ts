/** The command line: parse, call one operation, print. */
import { Command, CommanderError } from 'commander';
import type { Redact } from '../core/access/redact.ts';
import { visible } from '../core/words/visible.ts';
import { ConfigError, type ConfigProblem, UsageError, UserError } from '../errors.ts';
import { addCommands, type Surface } from './commands.ts';
import { EXIT } from './exit.ts';
import { below, group, LEAST_COLUMNS } from './help.ts';
import { systemRefusal, usageMistake } from './mistakes.ts';
import { openTerminal, outliveReaders } from './terminal.ts';

type Report = (message: string, hint: string | null, problems?: readonly ConfigProblem[]) => void;

export async function runCli(argv: readonly string[], surface: Surface): Promise<number> {
  outliveReaders();
  const json = argv.includes('--json');
  const report: Report = (message, hint, problems = []): void => {
    const color = argv.includes('--no-color') ? false : undefined;
    const { note, paint } = openTerminal({ json, color, redact: surface.redact });
    if (json)
      note(JSON.stringify({ error: { message, hint, ...(problems.length > 0 ? { problems } : {}) } }));
    else
      note(
        [`${paint.red('error:')} ${message}`, ...(hint ? [`${paint.cyan('hint:')} ${hint}`] : [])].join('\n'),
      );
  };
  let code: number = EXIT.done;
  const program = buildProgram(surface, report, (exit) => {
    code = exit;
  });
  try {
    await program.parseAsync([...argv]);
  } catch (error) {
    code = exitCodeOf(error, report, surface.redact);
  }
  await flush();
  return code;
}

/** Commander writes its own words for mistakes of usage; everything else is told here. */
function exitCodeOf(error: unknown, report: Report, redact: Redact): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usage;
  if (error instanceof UserError) {
    report(error.message, error.hint, error instanceof ConfigError ? error.problems : []);
    return error instanceof UsageError ? EXIT.usage : EXIT.failed;
  }
  const refused = systemRefusal(error);
  if (refused) {
    report(refused.message, refused.hint);
    return EXIT.failed;
  }
  const { message, stack } = error instanceof Error ? error : { message: String(error), stack: undefined };
  const isOurs = error instanceof Error && OURS.has(error.name);
  report(message, isOurs ? null : 'This may be a bug. FORGE_DEBUG=1 shows where it happened.');
  if (process.env.FORGE_DEBUG && stack) process.stderr.write(`${visible(redact(stack))}\n`);
  return EXIT.failed;
}

const OURS = new Set([
  'StoreUnavailable',
  'ForgeUnavailable',
  'GitFailed',
  'LeaseLost',
  'VersionConflict',
  'WorkspaceRefused',
]);

export function buildProgram(surface: Surface, report: Report, exit: (code: number) => void): Command {
  const program = new Command('forge-loop')
    .description('Turns well-specified issues into verified, reviewed and merged code, unattended.')
    .version(surface.version, '-V, --version', 'print the version')
    .option('--json', 'print machine-readable JSON')
    .option('-C, --directory <dir>', 'work on the repository around this directory')
    .option('--config <path>', 'use this file instead of WORKFLOW.md')
    .option('--no-color', 'print without colours (also: NO_COLOR=1)')
    .configureHelp({ minWidthToWrap: LEAST_COLUMNS })
    .helpOption('-h, --help', 'show help')
    .showHelpAfterError(false)
    .exitOverride()
    .addHelpText('after', below(EXIT_CODES));
  addCommands(program, surface, exit);
  group(program);
  settle(program, report);
  return program;
}

/** Subcommands that were added ready-made take no settings over by themselves, and each has a help of its own. */
function settle(command: Command, report: Report): void {
  command.configureOutput({
    outputError: (text) => {
      const { message, hint } = usageMistake(text, command);
      report(message, hint);
    },
  });
  if (command.commands.length > 0) command.helpCommand('help [command]', 'show the help of a command');
  for (const sub of command.commands) {
    sub.copyInheritedSettings(command);
    settle(sub, report);
  }
}

const EXIT_CODES =
  'Exit codes: 0 done, 1 failed, 2 wrong usage, 3 something waits for a person, 4 an issue was abandoned or declined in this run.';

/** A pipe may not have taken everything when the process would end. */
function flush(): Promise<void> {
  return new Promise((resolve) => {
    if (process.stdout.destroyed || process.stdout.writableLength === 0) resolve();
    else process.stdout.write('', () => resolve());
  });
}
