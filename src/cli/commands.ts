/** Every command: its arguments, its options, an example or two, and the operation it stands for. */
import { Argument, type Command, Option } from 'commander';
import type { Context } from '../context.ts';
import type { Redact } from '../core/redact.ts';
import { UsageError } from '../errors.ts';
import type { Git } from '../git/git.ts';
import { ACCESS_OF, OPERATIONS, type OperationName, perform, type Result } from '../operations.ts';
import { collect, collectIssues, issueNumber, textFrom, wholeNumber } from './arguments.ts';
import { completionScript, SHELLS, type Shell } from './completion.ts';
import { EXIT } from './exit.ts';
import { addLoopCommands } from './loop-commands.ts';
import { addPlanCommands } from './plan-commands.ts';
import { addPullCommands } from './pull-commands.ts';
import { openTerminal, type Terminal } from './terminal.ts';

/** What the command line is given by whoever composes it. */
export interface Surface {
  version: string;
  open(cwd: string, given: { config?: string | null }): Promise<Context>;
  /** An empty repository in a folder that is there, with an identity of its own. */
  newRepository(folder: string, identity: { name: string; email: string }): Promise<Git>;
  /** Opens a file in the operator's editor; returns when they are done. */
  edit(path: string): Promise<void>;
  /** Of whatever is printed. */
  redact: Redact;
}

export interface Session {
  context: Context;
  terminal: Terminal;
}

type Options = Record<string, unknown>;

/** How commands of every group are made. */
export interface CommandParts {
  describe(parent: Command, usage: string, text: string, examples: readonly string[]): Command;
  operation<N extends OperationName>(
    name: N,
    input: (args: string[], options: Options) => Options,
    exitCode?: (result: Result<N>) => number,
  ): (...given: unknown[]) => Promise<void>;
  says(name: OperationName): string;
}

export function addCommands(program: Command, surface: Surface, exit: (code: number) => void): void {
  /** Opens the repository for one command, and closes it again. */
  const session =
    (work: (session: Session, args: string[], options: Options) => Promise<number>) =>
    async (...given: unknown[]): Promise<void> => {
      const command = given.at(-1) as Command;
      const options = command.optsWithGlobals<Options>();
      const terminal = openTerminal({
        json: options.json === true,
        color: options.color === false ? false : undefined,
        redact: surface.redact,
      });
      const cwd = (options.directory as string | undefined) ?? process.cwd();
      const context = await surface.open(cwd, { config: (options.config as string | undefined) ?? null });
      try {
        exit(await work({ context, terminal }, command.processedArgs as string[], options));
      } finally {
        await context.close();
      }
    };

  /** One operation, printed as JSON or as text. */
  const operation = <N extends OperationName>(
    name: N,
    input: (args: string[], options: Options) => Options,
    exitCode: (result: Result<N>) => number = () => 0,
  ) =>
    session(async ({ context, terminal }, args, options) => {
      const result = await perform(context, name, input(args, options));
      if (terminal.json) terminal.print(JSON.stringify(result, null, 2));
      else terminal.print((await import('./text.ts')).TEXT[name](result, terminal));
      return exitCode(result);
    });

  const describe = (
    parent: Command,
    usage: string,
    text: string,
    examples: readonly string[],
    isDefault = false,
  ): Command =>
    parent
      .command(usage, { isDefault })
      .description(text)
      .addHelpText(
        'after',
        `\nExamples:\n${examples.map((example) => `  $ forge-loop ${example}`).join('\n')}`,
      );
  // An input is an option here.
  const says = (name: OperationName): string =>
    OPERATIONS[name].description.replace(/\bwith `(\w+)`/g, 'with `--$1`');

  describe(program, 'init', says('init'), [
    'init',
    'init --yes --command "my-agent --headless" --gate "npm test"',
    'init --create-labels',
  ])
    .option('-y, --yes', 'ask nothing')
    .option(
      '--agent <kind>',
      'claude, codex, opencode, acp, command (any program) or scripted; command without it',
    )
    .option('--command <command>', 'the shell command that runs your agent')
    .option('--script <path>', 'the script of a scripted agent')
    .option('--gate <command>', 'a command that must pass; may be given again', collect)
    .option('--tracker <kind>', 'local or github; without it, github where origin is there')
    .option(
      '--trunk <branch>',
      'where work lands; without it, the default branch of origin, else the one checked out',
    )
    .option('--create-labels', 'make the labels of the loop on GitHub')
    .action(
      session(async (own, _args, options) => {
        const { initialise } = await import('./init.ts');
        return initialise(own, options);
      }),
    );

  describe(program, 'run', 'Work: take up ready issues and carry them to a merge.', [
    'run',
    'run --until-idle',
    'run --issue 7',
    'run --max-issues 3',
    'run --dry-run',
  ])
    .addOption(
      new Option('--once', 'one pass: take up what is ready, go as far as it goes, end').conflicts(
        'untilIdle',
      ),
    )
    .option('--until-idle', 'end when nothing runs, waits or is due')
    .option('--port <port>', 'serve the HTTP API here meanwhile (default: `server.port`)', wholeNumber)
    .option(
      '--issue <issue>',
      'take up only this issue, then end; may be given again; tasks under way go on too',
      collectIssues,
    )
    .option('--max-issues <n>', 'take up at most n issues, then end', wholeNumber)
    .addOption(
      new Option('--dry-run', 'only say what would be taken up, in order, and why not the others').conflicts([
        'once',
        'untilIdle',
      ]),
    )
    .addHelpText(
      'after',
      '\nExit codes: 0 done, 1 failed, 3 something waits for you, 4 an issue was given up or declined in this run.',
    )
    .action(
      session(async (own, _args, options) => {
        const takes = {
          only: options.issue as number[] | undefined,
          most: options.maxIssues as number | undefined,
        };
        if (options.dryRun) {
          const { showDryRun } = await import('./dry-run.ts');
          return showDryRun(own, takes);
        }
        const { run } = await import('./run.ts');
        const hasEnd = options.untilIdle || takes.only !== undefined || takes.most !== undefined;
        const mode = options.once ? 'once' : hasEnd ? 'until_idle' : 'forever';
        return run(own, mode, { ...takes, port: (options.port as number | undefined) ?? null });
      }),
    );

  describe(program, 'demo', 'Play the whole story on a small project in a scratch folder.', [
    'demo',
    'demo --keep',
    'demo --plan',
  ])
    .option('--keep', 'keep the folder, to look at what happened')
    .option('--plan', 'a plan of three milestones, instead of five issues')
    .action(async (_given: Options, command: Command) => {
      const { keep, plan, json, color } = command.optsWithGlobals<Options>();
      const terminal = openTerminal({
        json: json === true,
        color: color === false ? false : undefined,
        redact: surface.redact,
      });
      const { playDemo } = await import('./demo.ts');
      exit(await playDemo(surface, terminal, { keep: keep === true, plan: plan === true }));
    });

  describe(program, 'status', says('status'), ['status', 'status --watch', 'status --json'])
    .option('-w, --watch', 'draw it again whenever it changes, until Ctrl-C')
    .action(
      session(async (own, _args, options) => {
        const { showStatus, watchStatus } = await import('./status.ts');
        return options.watch ? watchStatus(own) : showStatus(own);
      }),
    );

  describe(program, 'why', says('why'), ['why', 'why 7'])
    .argument('[issue]', 'only this issue', issueNumber)
    .action(operation('why', ([issue]) => ({ issue: issue ?? null })));

  const task = program.command('task').description('Look at tasks and steer them.');
  describe(task, 'list', says('task.list'), ['task list --all'])
    .option('-a, --all', 'ended tasks too')
    .action(operation('task.list', (_args, { all }) => ({ all: all === true })));
  describe(task, 'show', says('task.show'), ['task show 7', 'task show 3f2a91c0 --network'])
    .argument('<task>', TASK)
    .option('--network', 'where its turns and commands went, and where they were not let')
    .action(operation('task.show', ([id], { network }) => ({ task: id, network: network === true })));
  for (const verb of ['cancel', 'abandon', 'approve'] as const) {
    const name = `task.${verb}` as const;
    describe(task, verb, says(name), [`task ${verb} 7`, `task ${verb} 3f2a91c0`])
      .argument('<task>', TASK)
      .action(operation(name, ([id]) => ({ task: id })));
  }
  const retry = operation('task.retry', ([id]) => ({ task: id }));
  describe(task, 'retry', says('task.retry'), [
    'task retry 7',
    'task retry 3f2a91c0',
    'task retry --reason provider_limit',
  ])
    .argument('[task]', TASK)
    .option('--reason <reason>', 'every issue whose last attempt ended for this reason, instead of one')
    .option('-y, --yes', 'with --reason: ask nothing')
    .action(async (...given: unknown[]) => {
      const command = given.at(-1) as Command;
      const { reason, yes } = command.opts<{ reason?: string; yes?: boolean }>();
      if ((reason === undefined) === (command.args.length === 0))
        throw new UsageError('task retry: name one task, or give --reason.');
      if (reason === undefined) return retry(...given);
      return session(async (own) => {
        const { retryByReason } = await import('./retry-all.ts');
        return retryByReason(own, { reason, yes: yes === true });
      })(...given);
    });
  describe(task, 'restart', says('task.restart'), ['task restart 7', 'task restart 7 --force'])
    .argument('<task>', TASK)
    .option('--force', 'cancel it first when it has not ended')
    .action(operation('task.restart', ([id], { force }) => ({ task: id, force: force === true })));

  const issue = program.command('issue').description('Write issues and make them ready.');
  describe(issue, 'new', says('issue.new'), [
    'issue new --title "Add greet" --body-file greet.md --ready',
    'issue new --title "Fix the sum" --body "sum([]) must return 0" --label backend --priority 1',
  ])
    .requiredOption('--title <title>', 'one line')
    .option('--body <text>', 'what to do, and how to tell it is done')
    .option('--body-file <path>', 'the same from a file; - is standard input')
    .option('--ready', 'let the loop work on it at once')
    .option('--label <label>', 'may be given again', collect)
    .option('--priority <1-4>', '1 goes first', wholeNumber)
    .option('--blocked-by <issue>', 'waits until that one is closed; may be given again', collectIssues)
    .action(
      operation('issue.new', (_args, { title, label, priority, blockedBy, ready, ...rest }) => ({
        title,
        body: textFrom(rest),
        labels: label ?? [],
        priority,
        blockedBy: blockedBy ?? [],
        ready: ready === true,
      })),
    );
  describe(issue, 'import', says('issue.import'), ['issue import drafts/*.md', 'issue import *.md --ready'])
    .argument(
      '<files...>',
      'each has its title on its first line, or in its front matter; - is standard input',
    )
    .option('--ready', 'let the loop work on them at once')
    .action(
      operation('issue.import', ([files], { ready }) => ({
        files: [files].flat().map((file) => ({ file, text: textFrom({ bodyFile: file }) })),
        ready: ready === true,
      })),
    );
  describe(issue, 'list', says('issue.list'), ['issue list', 'issue list --all'])
    .option('-a, --all', 'closed ones too')
    .action(operation('issue.list', (_args, { all }) => ({ all: all === true })));
  for (const verb of ['show', 'ready', 'close'] as const) {
    const name = `issue.${verb}` as const;
    describe(issue, verb, says(name), [`issue ${verb} 7`])
      .argument('<issue>', 'its number', issueNumber)
      .action(operation(name, ([number]) => ({ issue: number })));
  }
  describe(issue, 'lint', says('issue.lint'), ['issue lint 7', 'issue lint --file draft.md'])
    .argument('[issue]', 'its number', issueNumber)
    .option('--file <path>', 'a text that is no issue yet, its first line the title; - is standard input')
    .addHelpText('after', '\nExit codes: 0 ready, 3 unsure (somebody has to read it), 1 declined.')
    .action(
      operation(
        'issue.lint',
        ([number], { file }) => ({
          ...(number === undefined ? {} : { issue: number }),
          ...(file === undefined ? {} : { text: textFrom({ bodyFile: file }) }),
        }),
        ({ decision }) => ({ ready: 0, unsure: 3, declined: 1 })[decision],
      ),
    );
  describe(issue, 'comment', says('issue.comment'), ['issue comment 7 --body "Use the existing parser."'])
    .argument('<issue>', 'its number', issueNumber)
    .option('--body <text>', 'the text')
    .option('--body-file <path>', 'the same from a file; - is standard input')
    .action(operation('issue.comment', ([number], options) => ({ issue: number, text: textFrom(options) })));

  addPlanCommands(program, { describe, operation, says, session, edit: surface.edit });
  addPullCommands(program, { describe, operation, says });
  addLoopCommands(program, { describe, operation, says, session });

  const findings = program.command('findings').description('Look at the findings ledger and decide.');
  const listing = ['findings list', 'findings --open --task 7'];
  describe(findings, 'list', says('findings.list'), listing, true)
    .option('--task <task>', TASK)
    .option('--open', 'only open ones')
    .option('--file <path>', 'only those in this file, or below this folder')
    .option('--pattern <regexp>', 'only those in whose file or text this is found, whatever the case')
    .action(
      operation('findings.list', (_args, { task, open, file, pattern }) => ({
        task,
        file,
        pattern,
        open: open === true,
      })),
    );
  describe(findings, 'write', says('findings.write'), [
    'findings write "crashes without input" --task tidy-cli --file src/cli.ts --line 12',
    'findings write "name it as the others" --task tidy-cli --severity warning',
  ])
    .argument('<description>', 'what is wrong')
    .requiredOption('--task <task>', TASK)
    .option('--severity <severity>', 'bug, which keeps the plan from going on, or warning', 'bug')
    .option('--file <path>', 'where it is')
    .option('--line <n>', 'where in the file', Number)
    .option('--scenario <text>', 'how it shows')
    .action(operation('findings.write', ([description], options) => ({ description, ...options })));
  describe(findings, 'resolve', says('findings.resolve'), [
    'findings resolve tidy-cli.2 --why "There is a check now."',
  ])
    .argument('<finding>', FINDING)
    .option('--why <reason>', 'kept with the finding')
    .action(operation('findings.resolve', ([finding], { why }) => ({ finding, why })));
  describe(findings, 'wontfix', says('findings.wontfix'), [
    'findings wontfix 3f2a91c0.2 --why "The API keeps this name."',
  ])
    .argument('<finding>', FINDING)
    .requiredOption('--why <reason>', 'kept with the finding, and told to the critic')
    .action(operation('findings.wontfix', ([finding], { why }) => ({ finding, why })));
  describe(findings, 'reopen', says('findings.reopen'), ['findings reopen 7.2'])
    .argument('<finding>', FINDING)
    .option('--why <reason>', 'kept with the finding, and told to the coder')
    .action(operation('findings.reopen', ([finding], { why }) => ({ finding, why })));

  describe(program, 'cost', says('cost'), ['cost', 'cost --by day --since 7d', 'cost --by role --json'])
    .option('--by <what>', 'issue, role, model or day', 'issue')
    .option('--since <time>', '7d, 12h, today, or a date; default: from the beginning')
    .action(operation('cost', (_args, { by, since }) => ({ by, ...(since === undefined ? {} : { since }) })));

  describe(program, 'events', says('events'), [
    'events --last 20',
    'events --follow --json',
    'events --task 7',
  ])
    .option('-f, --follow', 'keep printing new ones, until Ctrl-C')
    .option('--task <task>', TASK)
    .option('--type <type>', 'only this type, such as verdict_recorded')
    .option('-n, --last <n>', 'only the newest n', wholeNumber)
    .action(
      session(async (own, _args, options) => {
        const { showEvents } = await import('./events.ts');
        return showEvents(own, options);
      }),
    );
  describe(program, 'boot', says('boot'), ['boot'])
    .option('-n, --last <n>', 'how many events', wholeNumber)
    .action(operation('boot', (_args, { last }) => (last === undefined ? {} : { last })));
  describe(program, 'refresh', says('refresh'), ['refresh']).action(operation('refresh', () => ({})));
  describe(program, 'recover', says('recover'), ['recover']).action(operation('recover', () => ({})));
  describe(program, 'gc', says('gc'), ['gc --dry-run', 'gc'])
    .alias('prune')
    .option('--dry-run', 'only say what would go')
    .action(operation('gc', (_args, { dryRun }) => ({ dryRun: dryRun === true })));
  describe(program, 'doctor', says('doctor'), [
    'doctor',
    'doctor --gate',
    'doctor --agents',
    'doctor --access coder',
    'doctor --attack',
  ])
    .option('--gate', 'also run the gate on trunk, as the loop does before the first turn')
    .option('--agents', 'also let the agent of each role take a turn of one word, which costs a little')
    .addOption(
      new Option('--access <who>', 'only show what a role, the gate or the hooks really get').choices(
        ACCESS_OF,
      ),
    )
    .option('--attack', 'also run hostile scripts in the sandbox against a made-up operator')
    .action(
      session(async (own, _args, options) => {
        const { showDoctor } = await import('./doctor.ts');
        return showDoctor(own, options);
      }),
    );
  describe(program, 'uninstall', says('uninstall'), ['uninstall', 'uninstall --yes'])
    .option('-y, --yes', 'remove it; without this nothing is removed')
    .action(operation('uninstall', (_args, { yes }) => ({ yes: yes === true })));
  describe(program, 'completion', 'Print completions for a shell.', [
    'completion bash > ~/.local/share/bash-completion/completions/forge-loop',
    'completion fish > ~/.config/fish/completions/forge-loop.fish',
  ])
    .addArgument(new Argument('<shell>', 'bash, zsh or fish').choices(SHELLS))
    .action((shell: Shell) => void process.stdout.write(completionScript(program, shell)));
  const notify = program.command('notify').description('Tell people what happens.');
  describe(notify, 'test', says('notify.test'), ['notify test', 'notify test --channel phone'])
    .option('--channel <name>', 'only this one of `notify.channels`')
    .action(
      operation(
        'notify.test',
        (_args, { channel }) => ({ channel }),
        ({ failed }) => (failed > 0 ? EXIT.failed : EXIT.done),
      ),
    );

  describe(program, 'backup', says('backup'), ['backup ../forge-backup.db', 'backup "$(date +%F).db" --json'])
    .argument('<file>', 'a file that is not there yet')
    .action(operation('backup', ([file]) => ({ file })));
  describe(program, 'restore', says('restore'), [
    'restore ../forge-backup.db',
    'restore .forge/forge.db',
    'restore --empty',
  ])
    .argument('[file]', 'what `backup` made; the database itself is taken as it is')
    .option('--empty', 'start over with a database that knows nothing of earlier tasks')
    .action(
      operation('restore', ([file], { empty }) => ({
        ...(file === undefined ? {} : { file }),
        empty: empty === true,
      })),
    );
  describe(program, 'brief', says('brief'), ['brief 7'])
    .argument('<issue>', 'its number', issueNumber)
    .action(operation('brief', ([number]) => ({ issue: number })));
  describe(program, 'config', says('config'), ['config', 'config --json']).action(
    operation('config', () => ({})),
  );
  const maybeTask = (id?: string): Options => (id === undefined ? {} : { task: id });
  describe(program, 'pause', says('pause'), ['pause', 'pause 7'])
    .argument('[task]', `${TASK}; without it the whole loop`)
    .action(operation('pause', ([id]) => maybeTask(id)));
  describe(program, 'resume', says('resume'), ['resume', 'resume 7', 'resume --all'])
    .argument('[task]', `${TASK}; without it the whole loop`)
    .option('--all', 'the loop, and every held task that needs nothing else')
    .action(operation('resume', ([id], { all }) => ({ ...maybeTask(id), all: all === true })));
  describe(program, 'stop', says('stop'), ['stop', 'stop --now'])
    .option('--now', 'stop turns in flight; they are resumed by the next run')
    .action(operation('stop', (_args, { now }) => ({ now: now === true })));
}

const FINDING = 'finding id, e.g. 7.2';
const TASK = 'an issue number (its latest attempt), a loop’s name, a task id, or the beginning of one';
