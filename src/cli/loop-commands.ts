/** The commands for plans. */
import type { Command } from 'commander';
import { UsageError } from '../errors.ts';
import { amount, textFrom, wholeNumber } from './arguments.ts';
import type { SessionParts } from './commands.ts';

type Options = Record<string, unknown>;

const LOOP = 'its name, a part of it that no other has, or the id of its task';

export function addLoopCommands(
  program: Command,
  { describe, operation, says, session }: SessionParts,
): void {
  const loop = program.command('loop').description('Start plans and steer them.');
  const common = ({ mode, model, auditorModel, pullRequest, ...limits }: Options): Options => ({
    mode,
    model,
    auditorModel,
    maxIterations: limits.maxIterations,
    maxTurns: limits.maxTurns,
    budgetUsd: limits.budgetUsd,
    sandbox: limits.sandbox,
    pullRequest: pullRequest === true,
  });
  const startOne = operation('loop.start', ([file], options) => ({
    ...(file !== undefined && { text: textFrom({ bodyFile: file }), file }),
    plan: options.plan,
    goal: options.goal,
    name: options.name,
    ...common(options),
  }));
  const startAll = operation('loop.start_each', (_args, options) => ({
    file: options.each,
    ...common(options),
  }));
  describe(loop, 'start', says('loop.start'), [
    'loop start plan.md',
    'loop start plan.md --name checkout --pull-request',
    'loop start --goal "Make the parser stream its input"',
    'loop start --each features.yaml',
    'loop start --plan auth-refactor',
    'loop start',
  ])
    .argument(
      '[file]',
      'a plan; - is standard input. Without it, --plan and --goal: the last plan captured or approved and not started',
    )
    .option('--plan <plan>', 'an approved plan, by name or id')
    .option('--goal <text>', 'the goal, beside a plan or instead of one')
    .option('--name <name>', 'its name and that of its branch (default: the name in the plan)')
    .option('--pull-request', 'deliver a pull request instead of a branch')
    .option('--each <file>', 'one loop for each feature of a YAML list')
    .option(
      '--mode <mode>',
      'loop; session: one coder session, no audit; here: as session, from your clean checkout, which is then switched to its branch',
      'loop',
    )
    .option('--model <model>', "in place of the coder's model")
    .option('--auditor-model <model>', "in place of the auditor's model")
    .option('--max-iterations <n>', 'in place of loop.max_iterations; 0: no limit', wholeNumber)
    .option('--max-turns <n>', 'in place of agent.max_turns, for each milestone', wholeNumber)
    .option('--budget-usd <usd>', 'in place of budget.usd', amount)
    .option('--sandbox <kind>', 'required, bwrap, container or srt; never less than sandbox in WORKFLOW.md')
    .action(async (...given: unknown[]) => {
      const command = given.at(-1) as Command;
      const { each, ...others } = command.opts<Options>();
      const notForSeveral = [
        ...(command.args.length > 0 ? ['a plan file'] : []),
        ...['goal', 'plan', 'name'].filter((one) => others[one] !== undefined).map((one) => `--${one}`),
        ...(others.mode === 'here' ? ['--mode here'] : []),
      ];
      if (each !== undefined && notForSeveral.length > 0)
        throw new UsageError(`loop start: --each can't be used with ${notForSeveral.join(', ')}.`);
      return each === undefined ? startOne(...given) : startAll(...given);
    });
  describe(loop, 'status', 'Loops and how far they have come; with a name, one of them in full.', [
    'loop status',
    'loop status checkout',
    'loop status --watch',
  ])
    .argument('[loop]', LOOP)
    .option('-a, --all', 'every loop')
    .option('-w, --watch', 'redraw on every change, until Ctrl-C')
    .action(
      session(async (own, [name], { all, watch }) => {
        const { showLoopStatus } = await import('./loop-text.ts');
        return showLoopStatus(own, { name, all: all === true, watch: watch === true });
      }),
    );
  describe(loop, 'milestone', says('loop.milestone'), [
    'loop milestone checkout',
    'loop milestone checkout 2',
  ])
    .argument('<loop>', LOOP)
    .argument('[number]', 'from 1', wholeNumber)
    .action(operation('loop.milestone', ([name, number]) => ({ loop: name, milestone: number })));
  describe(loop, 'cancel', says('loop.cancel'), [
    'loop cancel checkout',
    'loop cancel checkout --cleanup-worktree',
  ])
    .argument('<loop>', LOOP)
    .option('--cleanup-worktree', 'remove its worktree, too; its branch stays')
    .action(
      operation('loop.cancel', ([name], { cleanupWorktree }) => ({
        loop: name,
        cleanupWorktree: cleanupWorktree === true,
      })),
    );
  describe(loop, 'restart', says('loop.restart'), ['loop restart checkout', 'loop restart checkout --force'])
    .argument('<loop>', LOOP)
    .option('--force', 'cancel it first if a runner works on it')
    .option('--recreate-worktree', 'recreate a missing worktree from its branch')
    .action(
      operation('loop.restart', ([name], { force, recreateWorktree }) => ({
        loop: name,
        force: force === true,
        recreateWorktree: recreateWorktree === true,
      })),
    );
  describe(loop, 'sweep', says('loop.sweep'), ['loop sweep']).action(operation('loop.sweep', () => ({})));
}
