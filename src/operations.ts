/**
 * Everything that can be asked of the loop, as one table: name, what it does, whether it writes, the schema of its
 * input, the handler. CLI, HTTP and MCP are projections of it.
 */

import type { output, ZodType } from 'zod';
import type { Context } from './context.ts';
import { REASONS, type Reason } from './core/machine.ts';
import { AGENT_KINDS } from './core/policy.ts';
import { UsageError } from './errors.ts';
import { backup, restore } from './operations/backup.ts';
import { boot } from './operations/boot.ts';
import { brief } from './operations/brief.ts';
import { config } from './operations/config.ts';
import { cost } from './operations/cost.ts';
import { doctor } from './operations/doctor.ts';
import { ACCESS_OF, access } from './operations/doctor-access.ts';
import { attack } from './operations/doctor-attack.ts';
import { tryGate } from './operations/doctor-gate.ts';
import { decideFinding, listFindings, writeFinding } from './operations/findings.ts';
import { gc } from './operations/gc.ts';
import { init } from './operations/init.ts';
import { problemOf, z } from './operations/input.ts';
import { importIssues } from './operations/issue-import.ts';
import {
  closeIssue,
  commentIssue,
  listIssues,
  newIssue,
  readyIssue,
  showIssue,
} from './operations/issues.ts';
import { lintIssue } from './operations/lint.ts';
import { events, pause, resume, stop } from './operations/loop.ts';
import { startEach } from './operations/loop-each.ts';
import { listLoops, readMilestone, showLoop } from './operations/loop-status.ts';
import { cancelLoop, restartLoop, startLoop, sweepLoops } from './operations/loops.ts';
import { testNotify } from './operations/notify.ts';
import { approvePlan, draftPlan, editPlan } from './operations/plan-drafts.ts';
import { lintPlanFile, newPlan } from './operations/plans.ts';
import { listPulls, reportCheck, sayOnPull, showPull } from './operations/pulls.ts';
import { recover } from './operations/recover.ts';
import { restartTask } from './operations/restart.ts';
import { retryAll } from './operations/retry-all.ts';
import { refresh } from './operations/runtime.ts';
import { listPlans, showPlan } from './operations/stored-plans.ts';
import { ask, listTasks, retryTask, showTask } from './operations/tasks.ts';
import { uninstall } from './operations/uninstall.ts';
import { snapshot } from './view.ts';
import { preview, why } from './why.ts';

const nothing = z.object({});
const issue = z.number().int().positive();
const oneIssue = z.object({ issue });
/** A task's id, the beginning of it, or an issue's number. */
const reference = z.union([z.string().trim().min(1), z.number().int().positive().transform(String)]);
const task = z.object({ task: reference });
const maybeTask = z.object({ task: reference.optional() });
const startOptions = {
  mode: z.enum(['loop', 'session', 'here']).default('loop'),
  pullRequest: z.boolean().default(false),
  model: z.string().trim().min(1).optional(),
  auditorModel: z.string().trim().min(1).optional(),
  maxIterations: z.number().int().min(0).optional(),
  maxTurns: z.number().int().positive().optional(),
  budgetUsd: z.number().positive().optional(),
};
/** What the work may cost is the operator's to say. */
const COSTS = ['model', 'auditorModel', 'maxIterations', 'maxTurns', 'budgetUsd'];
const plan = z.object({ plan: z.string().trim().min(1) });
const loop = z.object({ loop: z.string().trim().min(1) });
/** A place in a change. */
const place = { file: z.string().trim().min(1).optional(), line: z.number().int().positive().optional() };

export { ACCESS_OF };

export const OPERATIONS = {
  status: read('Tasks, slots, runners: the loop as it is now.', nothing, snapshot),
  why: read(
    'Why nothing happens: one line per open issue, with what it waits for.',
    z.object({ issue: issue.nullable().default(null) }),
    (context, input) => why(context, input.issue),
  ),
  'run.preview': read(
    'What a run would take up now, in order, and why not the others. Changes nothing.',
    z.object({ only: z.array(issue).optional(), most: z.number().int().min(0).optional() }),
    preview,
  ),

  'task.list': read(
    'Tasks in flight; with `all`, ended ones too.',
    z.object({ all: z.boolean().default(false) }),
    listTasks,
  ),
  'task.show': read(
    'One task: turns, findings, spend, what is pending; with `network`, where it went.',
    z.object({ task: reference, network: z.boolean().default(false) }),
    showTask,
  ),
  'task.cancel': write(
    'End a task; its worktree is kept and `restart` continues it.',
    task,
    (context, input) => ask(context, input.task, 'cancel'),
  ),
  'task.abandon': write('Give a task up for good; its worktree is kept.', task, (context, input) =>
    ask(context, input.task, 'abandon'),
  ),
  'task.approve': write(
    'Approve the head of a task in place of the critic, or agree to its proposed specification.',
    task,
    (context, input) => ask(context, input.task, 'approve'),
  ),
  'task.retry': write('Start a new attempt at an issue, without its cooldown.', task, retryTask),
  'task.retry_all': write(
    'Start a new attempt at every issue whose last one ended for this reason.',
    z.object({ reason: z.enum(Object.keys(REASONS) as [Reason]), preview: z.boolean().default(false) }),
    retryAll,
  ),
  'task.restart': write(
    'Continue an abandoned task: same row, same worktree, a fresh session.',
    z.object({ task: reference, force: z.boolean().default(false) }),
    restartTask,
  ),

  'loop.start': write(
    'Start a plan, or a goal: milestone by milestone, each coded, verified and audited.',
    z.object({
      text: z.string().optional(),
      file: z.string().optional(),
      plan: z.string().trim().min(1).optional(),
      goal: z.string().trim().min(1).optional(),
      name: z.string().trim().min(1).optional(),
      ...startOptions,
    }),
    startLoop,
    COSTS,
  ),
  'loop.start_each': write(
    'Start one loop for each feature of a list; those that others wait for come first.',
    z.object({ file: z.string().min(1), ...startOptions }),
    startEach,
    COSTS,
  ),
  'loop.list': read(
    'Active and recent loops; with `all`, every one.',
    z.object({ all: z.boolean().default(false) }),
    listLoops,
  ),
  'loop.show': read(
    'One loop: milestones, phases, findings, cost, whether it can be restarted.',
    loop,
    showLoop,
  ),
  'loop.milestone': read(
    'The text of a milestone, and what came of it; without a number, of the one at hand.',
    loop.extend({ milestone: z.number().int().positive().optional() }),
    readMilestone,
  ),
  'loop.cancel': write(
    'End a loop; its worktree stays, and `restart` continues it.',
    loop.extend({ cleanupWorktree: z.boolean().default(false) }),
    cancelLoop,
  ),
  'loop.restart': write(
    'Continue a loop that has not completed: same phase and milestone, same worktree, a fresh session.',
    loop.extend({ force: z.boolean().default(false), recreateWorktree: z.boolean().default(false) }),
    restartLoop,
  ),
  'loop.sweep': write(
    'Remove the worktrees of completed loops, and what the repository keeps of ended ones beside their branches.',
    nothing,
    sweepLoops,
  ),

  'issue.new': write(
    'Write an issue.',
    z.object({
      title: z.string().trim().min(1),
      body: z.string().default(''),
      labels: z.array(z.string().trim().min(1)).default([]),
      priority: z.number().int().min(1).max(4).optional(),
      blockedBy: z.array(issue).default([]),
      ready: z.boolean().default(false),
    }),
    newIssue,
  ),
  'issue.import': write(
    'Write an issue for each of some files.',
    z.object({
      files: z.array(z.object({ file: z.string(), text: z.string() })).min(1),
      ready: z.boolean().default(false),
    }),
    importIssues,
  ),
  'issue.list': read(
    'Open issues; with `all`, closed ones too.',
    z.object({ all: z.boolean().default(false) }),
    listIssues,
  ),
  'issue.show': read('One issue with its comments.', oneIssue, showIssue),
  'issue.lint': read(
    'What readiness says about an issue, and why: each rule with its points.',
    z.object({ issue: issue.optional(), text: z.string().optional() }),
    lintIssue,
  ),
  'issue.ready': write(
    'Let the loop work on an issue; its text as it is now is the contract.',
    oneIssue,
    readyIssue,
  ),
  'issue.close': write('Close an issue; a task at work on it ends.', oneIssue, closeIssue),
  'issue.comment': write('Comment on an issue.', z.object({ issue: issue, text: z.string() }), commentIssue),

  'plan.new': write(
    'Write the skeleton of a plan; never over another file.',
    z.object({ name: z.string().trim().min(1), output: z.string().min(1).optional() }),
    newPlan,
  ),
  'plan.lint': read(
    'What is missing in a plan, line by line.',
    z.object({ file: z.string().min(1), text: z.string() }),
    lintPlanFile,
  ),
  'plan.draft': write(
    'Let a planner write a plan from an issue; it reads trunk, and a person approves what it writes.',
    oneIssue,
    draftPlan,
  ),
  'plan.list': read(
    'Plans that are kept: drafted, captured from an answer, edited, approved; with `archived`, replaced ones too.',
    z.object({ archived: z.boolean().default(false) }),
    listPlans,
  ),
  'plan.show': read('One plan: where it is from, what is missing in it, its text.', plan, showPlan),
  'plan.edit': write(
    'Give a plan another text, which waits for approval; the old one is archived.',
    plan.extend({ text: z.string(), file: z.string().min(1) }),
    editPlan,
  ),
  'plan.approve': write(
    'Let a plan be started as it is now; with `start`, start it.',
    plan.extend({ start: z.boolean().default(false) }),
    approvePlan,
  ),

  'pull.list': read(
    'Open pull requests; with `all`, merged and closed ones too.',
    z.object({ all: z.boolean().default(false) }),
    listPulls,
  ),
  'pull.show': read('One pull request: checks, remarks, approvals.', z.object({ pull: issue }), showPull),
  'pull.comment': write(
    'Say something about a pull request; the coder is told.',
    z.object({ pull: issue, body: z.string(), ...place }),
    (context, input) => sayOnPull(context, { ...input, verdict: 'comment' }),
  ),
  'pull.review': write(
    'Approve the head of a pull request, or ask for changes to it.',
    z.object({
      pull: issue,
      verdict: z.enum(['approve', 'request_changes']),
      body: z.string().default(''),
      ...place,
    }),
    sayOnPull,
  ),
  'pull.check': write(
    'Report what CI found at the head of a pull request.',
    z.object({
      pull: issue,
      name: z.string().trim().min(1),
      state: z.enum(['pending', 'green', 'red']),
      job: z.string().optional(),
      step: z.string().optional(),
      link: z.string().optional(),
      log: z.string().optional(),
    }),
    reportCheck,
  ),

  'findings.list': read(
    'The findings ledger: of all tasks or of one, all findings or only open ones, by file or by pattern.',
    z.object({
      task: reference.optional(),
      open: z.boolean().default(false),
      file: z.string().trim().min(1).optional(),
      pattern: z.string().min(1).optional(),
    }),
    listFindings,
  ),
  'findings.write': write(
    'Add a finding to a plan’s, as its auditor would; the coder is told with its next prompt.',
    z.object({
      task: reference,
      severity: z.enum(['bug', 'warning']).default('bug'),
      description: z.string().trim().min(1),
      file: z.string().trim().min(1).nullable().default(null),
      line: z.number().int().positive().nullable().default(null),
      scenario: z.string().trim().min(1).nullable().default(null),
    }),
    writeFinding,
  ),
  'findings.resolve': write(
    'Say that a finding of an audit is fixed.',
    z.object({ finding: z.string().trim().min(1), why: z.string().trim().min(1).optional() }),
    (context, input) => decideFinding(context, input, 'resolved'),
  ),
  'findings.wontfix': write(
    'Decide that a finding stays as it is; the task continues without it.',
    z.object({ finding: z.string().trim().min(1), why: z.string().trim().min(1) }),
    (context, input) => decideFinding(context, input, 'wontfix'),
  ),
  'findings.reopen': write(
    'Take up a finding again that was resolved or left as it is.',
    z.object({ finding: z.string().trim().min(1), why: z.string().trim().min(1).optional() }),
    (context, input) => decideFinding(context, input, 'open'),
  ),

  cost: read(
    'What was spent, by issue, role, model or day, and what came of it.',
    z.object({
      by: z.enum(['issue', 'role', 'model', 'day']).default('issue'),
      since: z.string().optional(),
    }),
    cost,
  ),
  events: read(
    'What happened, in order.',
    z.object({
      task: reference.optional(),
      type: z.string().optional(),
      last: z.number().int().min(0).optional(),
      after: z.number().int().min(0).optional(),
      limit: z.number().int().min(1).optional(),
    }),
    events,
  ),
  refresh: write('Let every runner look at the forge now.', nothing, refresh),
  boot: read(
    'What you need to know after a reset: direction, tasks in flight, stale leases, last events.',
    z.object({ last: z.number().int().min(0).default(10) }),
    boot,
  ),
  recover: write('Take over what dead runners left, now.', nothing, recover),
  gc: write(
    'Remove homes, sessions and logs of tasks that ended long enough ago (`keep`), and throwaway trees nobody uses.',
    z.object({ dryRun: z.boolean().default(false) }),
    gc,
  ),
  doctor: read(
    'Check tools, config, repository, agents, database, leases, leftovers, disk.',
    z.object({ agents: z.boolean().default(false) }),
    doctor,
  ),
  access: read(
    'What a role, a gate or a hook really gets: seen from inside its sandbox.',
    z.object({ who: z.enum(ACCESS_OF) }),
    access,
  ),
  attack: write('Run hostile scripts in the sandbox against a made-up operator.', nothing, attack),
  'gate.try': write('Run the gate on trunk, as the loop does before the first turn.', nothing, tryGate),
  backup: write(
    'Copy the database into one file, also while a runner works; checked, and never over another file.',
    z.object({ file: z.string().min(1) }),
    backup,
  ),
  restore: write(
    'Replace the database with a backup, or start over; the old one is kept beside it.',
    z.object({ file: z.string().min(1).optional(), empty: z.boolean().default(false) }),
    restore,
  ),
  uninstall: write(
    'Show what the loop keeps in this repository and on this machine for it; with `yes`, remove it.',
    z.object({ yes: z.boolean().default(false) }),
    uninstall,
  ),
  'notify.test': write(
    'Send a sample to every channel, or to one, and say what came of it.',
    z.object({ channel: z.string().trim().min(1).optional() }),
    testNotify,
  ),
  brief: read("The coder's prompt for an issue, as it would be rendered now.", oneIssue, brief),
  config: read('The settings in force and where each comes from.', nothing, config),
  pause: write('Start nothing new: the whole loop, or one task.', maybeTask, pause),
  resume: write(
    'Continue: the whole loop, one held task, or with `--all` the loop and every task it can release.',
    z.object({ task: reference.optional(), all: z.boolean().default(false) }),
    resume,
  ),
  stop: write(
    'Stop the runner: when its turns have ended, or now.',
    z.object({ now: z.boolean().default(false) }),
    stop,
  ),
  init: write(
    'Write WORKFLOW.md and .forge/ into this repository.',
    z.object({
      agent: z.enum(AGENT_KINDS).default('command'),
      command: z.string().trim().min(1).optional(),
      script: z.string().trim().min(1).optional(),
      gate: z.array(z.string().trim().min(1)).optional(),
      tracker: z.enum(['local', 'github']).optional(),
      trunk: z.string().trim().min(1).optional(),
      createLabels: z.boolean().default(false),
    }),
    init,
  ),
};

export type OperationName = keyof typeof OPERATIONS;

/** They name files of whoever types them, set up a repository, or are hostile on purpose. */
const FOR_TERMINALS: ReadonlySet<OperationName> = new Set([
  'init',
  'backup',
  'restore',
  'attack',
  'plan.new',
  'loop.start_each',
] as const);

export const isForTerminal = (name: OperationName): boolean => FOR_TERMINALS.has(name);

export type Result<N extends OperationName> = Awaited<ReturnType<(typeof OPERATIONS)[N]['handle']>>;

/** Writes that only make files: an agent may ask for these in its turn. With any other it would steer the loop that runs it. */
export const FILES_ONLY: readonly OperationName[] = ['plan.new', 'init'];

/** Parses the input, then calls the handler. A mistake in the input is a UsageError that names the field. */
export async function perform<N extends OperationName>(
  context: Context,
  name: N,
  input: Record<string, unknown> = {},
): Promise<Result<N>> {
  const operation = OPERATIONS[name] as unknown as Operation<ZodType, Result<N>>;
  const command = name.replace('.', ' ');
  if (operation.access === 'write' && !FILES_ONLY.includes(name)) await context.refuseInTurn(command);
  const parsed = operation.input.safeParse(input);
  if (parsed.success) return operation.handle(context, parsed.data);
  throw new UsageError(`${command}: ${problemOf(parsed.error.issues[0]!)}.`);
}

interface Operation<S extends ZodType, R> {
  description: string;
  access: 'read' | 'write';
  input: S;
  /** Fields of the input that only the operator may give: no surface for agents offers them. */
  operatorOnly: readonly string[];
  handle(context: Context, input: output<S>): Promise<R>;
}

function read<S extends ZodType, R>(
  description: string,
  input: S,
  handle: (context: Context, input: output<S>) => Promise<R>,
): Operation<S, R> {
  return { description, access: 'read', input, operatorOnly: [], handle };
}

function write<S extends ZodType, R>(
  description: string,
  input: S,
  handle: (context: Context, input: output<S>) => Promise<R>,
  operatorOnly: readonly string[] = [],
): Operation<S, R> {
  return { description, access: 'write', input, operatorOnly, handle };
}
