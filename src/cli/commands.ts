/** Every command: its arguments, its options, an example or two, and the operation it stands for. */
import { realpathSync } from 'node:fs';
import { Argument, type Command, Option } from 'commander';
import type { Context } from '../context.ts';
import type { Redact } from '../core/access/redact.ts';
import { COST_GROUPS } from '../core/money/cost.ts';
import { ROLES } from '../core/role.ts';
import { UsageError, UserError } from '../errors.ts';
import type { Git } from '../git/git.ts';
import { ACCESS_OF, OPERATIONS, type OperationName, perform, type Result } from '../operations.ts';
import { collect, collectIssues, issueNumber, issueOrLoop, textFrom, wholeNumber } from './arguments.ts';
import { completionScript, SHELLS, type Shell } from './completion.ts';
import { EXIT } from './exit.ts';
import { addFrontierCommands } from './frontier-commands.ts';
import { below } from './help.ts';
import { addLoopCommands } from './loop-commands.ts';
import { helpHint } from './mistakes.ts';
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
  /** Serves MCP on standard input and output until its client goes. */
  serveMcp(open: () => Promise<Context>, warn: (text: string) => void): Promise<void>;
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

/** For commands that are more than one operation. */
export interface SessionParts extends CommandParts {
  session(
    work: (session: Session, args: string[], options: Options) => Promise<number>,
  ): (...given: unknown[]) => Promise<void>;
}

/** The file as an argument of `run`, or as the option that every command has. */
function workflowOf([workflow]: string[], { config }: Options): unknown {
  if (workflow === undefined || config === undefined || workflow === config) return workflow ?? config;
  throw new UserError(
    `Two files are given: ${workflow} and ${String(config)}.`,
    'Give one, as the argument or with --config.',
  );
}

export function addCommands(program: Command, surface: Surface, exit: (code: number) => void): void {
  /** Opens the repository for one command, and closes it again. */
  const session =
    (
      work: (session: Session, args: string[], options: Options) => Promise<number>,
      configOf: (args: string[], options: Options) => unknown = (_args, { config }) => config,
    ) =>
    async (...given: unknown[]): Promise<void> => {
      const command = given.at(-1) as Command;
      const options = command.optsWithGlobals<Options>();
      const terminal = openTerminal({
        json: options.json === true,
        color: options.color === false ? false : undefined,
        redact: surface.redact,
      });
      const cwd = (options.directory as string | undefined) ?? process.cwd();
      const args = command.processedArgs as string[];
      const config = (configOf(args, options) as string | undefined) ?? null;
      const context = await surface.open(cwd, { config });
      try {
        exit(await work({ context, terminal }, args, options));
      } catch (error) {
        if (!(error instanceof UsageError) || error.hint !== null) throw error;
        throw new UsageError(error.message, helpHint(command), { cause: error });
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
        below(`Examples:\n${examples.map((example) => `  $ forge-loop ${example}`).join('\n')}`),
      );
  // An input is an option here.
  const says = (name: OperationName): string =>
    OPERATIONS[name].description.replace(
      /\b(with) `(\w+)`/gi,
      (_, word: string, field: string) =>
        `${word} \`--${field.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}\``,
    );

  /** On the whole screen where somebody sees it; else line by line. */
  const watch = async (own: Session): Promise<number> => {
    const { terminal, context } = own;
    const screen = terminal.json ? null : terminal.fullScreen();
    if (screen === null) return (await import('./status.ts')).watchStatus(own);
    const { showScreen } = await import('./screen/screen.ts');
    return showScreen({ context, terminal, screen, edit: surface.edit });
  };

  describe(program, 'init', says('init'), [
    'init',
    'init --yes --command "my-agent --headless" --gate "npm test"',
    'init --create-labels',
    'init --mcp',
  ])
    .option('-y, --yes', 'ask nothing')
    .option(
      '--agent <kind>',
      'claude, codex, opencode, acp, command (any program) or scripted (default: command)',
    )
    .option('--command <command>', 'the shell command that runs your agent')
    .option('--script <path>', 'the script of a scripted agent')
    .option('--gate <command>', 'a command that must pass, instead of those it proposes; repeatable', collect)
    .option('--no-try', 'write the proposed gate without running it on trunk first')
    .option('--tracker <kind>', 'local or github (default: github if origin is there)')
    .option(
      '--trunk <branch>',
      'where work lands (default: the default branch of origin, else the current one)',
    )
    .option('--create-labels', 'create the labels of the loop on GitHub')
    .option('--mcp', 'register the MCP server with the installed ones of Claude, Codex and OpenCode')
    .action(
      session(async (own, _args, options) => {
        const { initialise } = await import('./init.ts');
        return initialise(own, options);
      }),
    );

  describe(program, 'run', 'Work on ready issues until they are merged.', [
    'run',
    'run --until-idle',
    'run night.md',
    'run --issue 7',
    'run --max-issues 3',
    'run --dry-run',
  ])
    .argument('[workflow]', 'use this file instead of WORKFLOW.md, as with --config')
    .addOption(
      new Option('--once', 'take up what is ready, go as far as possible, then end').conflicts('untilIdle'),
    )
    .option('--until-idle', 'end when nothing is left to do')
    .option('--port <port>', 'serve the HTTP API on this port (default: `server.port`)', wholeNumber)
    .option(
      '--issue <issue>',
      'work on this issue only, then exit (repeatable); tasks already open continue too',
      collectIssues,
    )
    .option('--max-issues <n>', 'start at most n issues, then end', wholeNumber)
    .addOption(
      new Option('--dry-run', 'only say what would start, in order, and why the others would not').conflicts([
        'once',
        'untilIdle',
      ]),
    )
    .addHelpText(
      'after',
      below(
        'Exit codes: 0 done, 1 failed, 3 something waits for you, 4 an issue was abandoned or declined in this run.',
      ),
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
      }, workflowOf),
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
    .option('--all', 'also every task that has ended')
    .option('-w, --watch', 'watch and steer on the whole screen; into a pipe, print it whenever it changes')
    .action(
      session(async (own, _args, options) => {
        const { showStatus } = await import('./status.ts');
        return options.watch ? watch(own) : showStatus(own, options.all === true);
      }),
    );

  describe(
    program,
    'watch',
    'Watch the loop and steer it, on the whole screen. The same as `status --watch`.',
    ['watch'],
  ).action(session(watch));

  describe(program, 'why', says('why'), ['why', 'why 7', 'why checkout'])
    .argument('[issue or loop]', "only this one: an issue's number, a loop's name", issueOrLoop)
    .action(operation('why', ([only]) => ({ ...(only as unknown as object) })));

  describe(program, 'morning', says('morning'), ['morning', 'morning --since 7d'])
    .option('--since <time>', '7d, 12h, today, or a date', '12h')
    .action(operation('morning', (_args, { since }) => ({ since })));

  describe(program, 'dashboard', 'Serve the dashboard and the HTTP API, without working on anything.', [
    'dashboard',
    'dashboard --port 9000',
  ])
    .option('--port <port>', 'default: `server.port`, else 8088', wholeNumber)
    .action(
      session(async (own, _args, options) => {
        const { serveDashboard } = await import('./dashboard.ts');
        return serveDashboard(own, (options.port as number | undefined) ?? null);
      }),
    );

  const task = program.command('task').description('Look at tasks and steer them.');
  describe(task, 'list', says('task.list'), ['task list --all', 'task list --ended --search csv --limit 20'])
    .option('-a, --all', 'ended tasks too')
    .option('--ended', 'only ended tasks, the latest first')
    .option('--search <words>', 'only those whose name, title or reason has all of these words')
    .option('--limit <n>', 'at most n tasks', wholeNumber)
    .action(
      operation('task.list', (_args, { all, ended, search, limit }) => ({
        all: all === true,
        ended: ended === true,
        search,
        limit,
      })),
    );
  describe(task, 'show', says('task.show'), ['task show 7', 'task show 3f2a91c0 --network'])
    .argument('<task>', TASK)
    .option('--network', 'which hosts its turns and commands reached, and which were refused')
    .action(operation('task.show', ([id], { network }) => ({ task: id, network: network === true })));
  describe(task, 'export', says('task.export'), ['task export 7', 'task export 7 --output bug.json'])
    .argument('<task>', TASK)
    .option('--output <file>', 'a new file; packed unless it ends in .json; - prints it')
    .action(
      session(async (own, [id], options) => {
        const { writeExport } = await import('./task-export.ts');
        return writeExport(own, id!, options.output as string | undefined);
      }),
    );
  describe(task, 'change', says('task.change'), ['task change 7', 'task change 7 src/slug.ts'])
    .argument('<task>', TASK)
    .argument('[file]', 'the patch of this file')
    .action(operation('task.change', ([id, file]) => ({ task: id, file })));
  describe(task, 'log', says('task.log'), ['task log 7', 'task log 7 coder-1-3f2a91c0.log --after 0'])
    .argument('<task>', TASK)
    .argument('[log]', 'its name (default: the newest)')
    .option('--after <bytes>', 'from this byte on (default: the end)', wholeNumber)
    .action(operation('task.log', ([id, log], { after }) => ({ task: id, log, after })));
  for (const verb of ['cancel', 'abandon'] as const) {
    const name = `task.${verb}` as const;
    describe(task, verb, says(name), [`task ${verb} 7`, `task ${verb} 3f2a91c0`])
      .argument('<task>', TASK)
      .action(operation(name, ([id]) => ({ task: id })));
  }
  describe(task, 'approve', says('task.approve'), ['task approve 7', 'task approve 7 --head 4f1c2ab91e'])
    .argument('<task>', TASK)
    .option('--head <sha>', 'approve only this head')
    .action(operation('task.approve', ([id], { head }) => ({ task: id, head })));
  describe(task, 'tell', says('task.tell'), ['task tell 7 "Keep the old name as an alias."'])
    .argument('<task>', TASK)
    .argument('<text>', 'what to tell its coder')
    .action(operation('task.tell', ([id, text]) => ({ task: id, text })));
  describe(program, 'attach', says('attach'), ['attach 7', 'attach 7 --now', 'attach 7 --keep-paused'])
    .argument('<task>', TASK)
    .option('--now', 'stop a turn that runs, instead of waiting for its end')
    .option('--keep-paused', 'keep the task paused when you exit; `resume` continues it')
    .action(
      operation('attach', ([id], { now, keepPaused }) => ({
        task: id,
        now: now === true,
        keepPaused: keepPaused === true,
      })),
    );
  const retry = operation('task.retry', ([id]) => ({ task: id }));
  describe(task, 'retry', says('task.retry'), [
    'task retry 7',
    'task retry 3f2a91c0',
    'task retry --reason provider_limit',
  ])
    .argument('[task]', TASK)
    .option('--reason <reason>', 'every issue whose last attempt ended for this reason, instead of one')
    .option('-y, --yes', 'with --reason: do not ask')
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
    'issue new --title "Fix sum" --body "sum([]) is 0" --priority 1',
  ])
    .requiredOption('--title <title>', 'one line')
    .option('--body <text>', 'what to do, and how to tell it is done')
    .option('--body-file <path>', 'the same from a file; - is standard input')
    .option('--ready', 'let the loop work on it at once')
    .option('--label <label>', 'repeatable', collect)
    .option('--priority <1-4>', '1 goes first', wholeNumber)
    .option('--blocked-by <issue>', 'waits until that one is closed; repeatable', collectIssues)
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
    .option('--file <path>', 'a draft, its first line the title; - is standard input')
    .addHelpText('after', below('Exit codes: 0 ready, 3 unsure (somebody has to read it), 1 declined.'))
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
  addFrontierCommands(program, { describe, operation, says, session, edit: surface.edit });
  addPullCommands(program, { describe, operation, says });
  addLoopCommands(program, { describe, operation, says, session });

  const findings = program.command('findings').description('Look at the findings ledger and decide.');
  const listing = ['findings list', 'findings --open --task 7'];
  describe(findings, 'list', says('findings.list'), listing, true)
    .option('--task <task>', TASK)
    .option('--open', 'only open ones')
    .option('--file <path>', 'only those in this file, or below this folder')
    .option('--pattern <regexp>', 'only those whose file or text matches, ignoring case')
    .action(
      operation('findings.list', (_args, { task, open, file, pattern }) => ({
        task,
        file,
        pattern,
        open: open === true,
      })),
    );
  describe(findings, 'write', says('findings.write'), [
    'findings write "no check of input" --task tidy-cli --file cli.ts',
    'findings write "unclear name" --task 7 --severity warning',
  ])
    .argument('<description>', 'what is wrong')
    .requiredOption('--task <task>', TASK)
    .option('--severity <severity>', 'bug (blocks the merge) or warning', 'bug')
    .option('--file <path>', 'where it is')
    .option('--line <n>', 'where in the file', Number)
    .option('--scenario <text>', 'how to see it')
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

  describe(program, 'cost', says('cost'), ['cost', 'cost --by day --since 7d', 'cost --by turn --json'])
    .addOption(new Option('--by <what>', 'what to add up').choices(COST_GROUPS).default('issue'))
    .option('--since <time>', '7d, 12h, today or a date (default: the beginning)')
    .action(operation('cost', (_args, { by, since }) => ({ by, ...(since === undefined ? {} : { since }) })));

  describe(program, 'report', says('report'), [
    'report',
    'report --since 12h --html > night.html',
    'report 7 --md',
  ])
    .argument('[task]', TASK)
    .option('--since <time>', '7d, 12h, today, or a date; default: 24h, or all of the one task')
    .option('--html', 'as a page for a browser or a mail')
    .option('--md', 'as Markdown')
    .action(
      session(async ({ context, terminal }, [task], { since, html, md }) => {
        const made = await perform(context, 'report', { task, since });
        if (terminal.json) terminal.print(JSON.stringify(made, null, 2));
        else if (html) terminal.print((await import('./report/html.ts')).reportHtml(made));
        else if (md) terminal.print((await import('./report/markdown.ts')).reportMarkdown(made));
        else terminal.print((await import('./text.ts')).TEXT.report(made, terminal));
        return EXIT.done;
      }),
    );

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
  describe(program, 'logs', says('logs'), ['logs 7', 'logs 7 --follow', 'logs 7 --role coder --turn 2'])
    .argument('<task>', TASK)
    .option('-f, --follow', 'keep printing what is new, until Ctrl-C')
    .addOption(new Option('--role <role>', 'only turns of this role').choices(ROLES))
    .option('--turn <n>', 'only turns of this number', wholeNumber)
    .option('-n, --last <n>', 'only the newest n turns', wholeNumber)
    .action(
      session(async (own, [task], { role, turn, last, follow }) => {
        const { showLogs } = await import('./logs.ts');
        return showLogs(own, { task: task!, role, turn, last }, follow === true);
      }),
    );
  describe(program, 'replay', says('replay'), [
    'replay 7',
    'replay 7 --at 12',
    'replay 7 --at verdict_recorded',
    'replay forge-loop-3f2a91c0.json.gz',
    'replay --verify',
  ])
    .argument('[task]', `${TASK}; or a file that \`task export\` made`)
    .option('--at <step>', 'only this step: its number, `e` and the number of an event, or a type of event')
    .option('--verify', 'fold the events again and compare with every row; with a task, with its own')
    .action(
      session(async (own, [given], options) => {
        const { showReplay } = await import('./replay.ts');
        return showReplay(own, given, {
          at: options.at as string | undefined,
          verify: options.verify === true,
        });
      }),
    );
  describe(program, 'boot', says('boot'), ['boot'])
    .option('-n, --last <n>', 'how many events', wholeNumber)
    .action(operation('boot', (_args, { last }) => (last === undefined ? {} : { last })));
  describe(program, 'refresh', says('refresh'), ['refresh']).action(operation('refresh', () => ({})));
  describe(program, 'recover', says('recover'), ['recover']).action(operation('recover', () => ({})));
  describe(program, 'gc', says('gc'), ['gc --dry-run', 'gc'])
    .option('--dry-run', 'only show what would go')
    .action(operation('gc', (_args, { dryRun }) => ({ dryRun: dryRun === true })));
  describe(program, 'prune', 'Show what `gc` would remove; with `--yes`, remove it.', [
    'prune',
    'prune --yes',
  ])
    .option('-y, --yes', 'remove it; without this nothing is removed')
    .action(operation('gc', (_args, { yes }) => ({ dryRun: yes !== true })));
  describe(program, 'doctor', says('doctor'), [
    'doctor',
    'doctor --gate',
    'doctor --agents',
    'doctor --access coder',
    'doctor --attack',
  ])
    .option('--gate', 'also run the gate on trunk, as the loop does before the first turn')
    .option('--agents', 'also run a one-word turn of the agent of each role, which costs a little')
    .addOption(
      new Option(
        '--access <who>',
        'only show what a role, the gate, the hooks or the deploy can see and reach',
      ).choices(ACCESS_OF),
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
  const mcp = program.command('mcp').description('Serve other agents.');
  describe(
    mcp,
    'serve',
    'Serve MCP on standard input and output: what reads, and what `server.mcp.allow` grants.',
    ['mcp serve', 'mcp serve -C ../project'],
  ).action(async (_given: Options, command: Command) => {
    const { config = null, directory, color } = command.optsWithGlobals<Options>();
    const { note } = openTerminal({
      json: false,
      color: color === false ? false : undefined,
      redact: surface.redact,
    });
    const cwd = (directory as string | undefined) ?? process.cwd();
    await surface.serveMcp(() => surface.open(cwd, { config: config as string | null }), note);
  });
  describe(program, 'completion', 'Print completions for a shell.', [
    'completion bash >> ~/.bash_completion',
    'completion fish > ~/.config/fish/completions/forge-loop.fish',
  ])
    .addArgument(new Argument('<shell>', 'bash, zsh or fish').choices(SHELLS))
    .action((shell: Shell) => void process.stdout.write(completionScript(program, shell)));
  const service = program.command('service').description('Run the loop as a systemd service of your user.');
  describe(service, 'install', says('service.install'), ['service install']).action(
    operation('service.install', () => ({ program: realpathSync(process.argv[1]!) })),
  );
  describe(service, 'remove', says('service.remove'), ['service remove']).action(
    operation('service.remove', () => ({})),
  );

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
    .argument('<file>', 'a new file')
    .action(operation('backup', ([file]) => ({ file })));
  describe(program, 'restore', says('restore'), [
    'restore ../forge-backup.db',
    'restore .forge/forge.db',
    'restore --empty',
  ])
    .argument('[file]', 'a backup, or `.forge/forge.db` itself, taken as it is')
    .option('--empty', 'start over with an empty database')
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
    .argument('[task]', `${TASK}; default: the whole loop`)
    .action(operation('pause', ([id]) => maybeTask(id)));
  describe(program, 'resume', says('resume'), ['resume', 'resume 7', 'resume --all'])
    .argument('[task]', `${TASK}; default: the whole loop`)
    .option('--all', 'the loop, and every held task it can release')
    .action(operation('resume', ([id], { all }) => ({ ...maybeTask(id), all: all === true })));
  describe(program, 'stop', says('stop'), ['stop', 'stop --now'])
    .option('--now', 'stop turns in flight; they are resumed by the next run')
    .action(operation('stop', (_args, { now }) => ({ now: now === true })));
}

const FINDING = 'finding id, e.g. 7.2';
const TASK = 'an issue number (its latest attempt), a loop’s name, a task id, or the beginning of one';
