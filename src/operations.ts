/**
 * Everything that can be asked of the loop, as one table: name, what it does, whether it writes, the schema of its
 * input, the handler. CLI, HTTP and MCP are projections of it.
 */

import type { output, ZodType } from 'zod';
import type { Context } from './context.ts';
import { REASONS, type Reason } from './core/machine.ts';
import { COST_GROUPS } from './core/money/cost.ts';
import { OWN_SANDBOXES } from './core/plan/limits.ts';
import { AGENT_KINDS } from './core/policy.ts';
import { ROLES } from './core/role.ts';
import { UsageError } from './errors.ts';
import { attachToTask } from './operations/attach.ts';
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
import { editFrontier, showFrontier } from './operations/frontier.ts';
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
import { readLogs } from './operations/logs.ts';
import { events, pause, resume, stop } from './operations/loop.ts';
import { startEach } from './operations/loop-each.ts';
import { listLoops, readMilestone, showLoop } from './operations/loop-status.ts';
import { cancelLoop, restartLoop, startLoop, sweepLoops } from './operations/loops.ts';
import { morning } from './operations/morning.ts';
import { testNotify } from './operations/notify.ts';
import { approvePlan, draftPlan, editPlan } from './operations/plan-drafts.ts';
import { lintPlanFile, newPlan } from './operations/plans.ts';
import { listPulls, reportCheck, sayOnPull, showPull } from './operations/pulls.ts';
import { recover } from './operations/recover.ts';
import { replayFile, replayTask } from './operations/replay.ts';
import { report } from './operations/report.ts';
import { restartTask } from './operations/restart.ts';
import { retryAll } from './operations/retry-all.ts';
import { refresh } from './operations/runtime.ts';
import { listPlans, showPlan } from './operations/stored-plans.ts';
import { installService, removeService } from './operations/systemd-unit.ts';
import { showChange } from './operations/task-change.ts';
import { exportTask } from './operations/task-export.ts';
import { readLog } from './operations/task-log.ts';
import { ask, listTasks, retryTask, showTask, tell } from './operations/tasks.ts';
import { uninstall } from './operations/uninstall.ts';
import { verifyRows } from './operations/verify.ts';
import { snapshot } from './view.ts';
import { preview, why } from './why.ts';

const nothing = z.object({});
const issue = z.number().int().positive();
const oneIssue = z.object({ issue });
/** A task's id, the beginning of it, or an issue's number. */
const reference = z.union([z.string().trim().min(1), z.number().int().positive().transform(String)]);
const task = z.object({ task: reference });
/** The number of a step, `e` and the number of an event, or a type of event. */
const step = z.union([z.string().trim().min(1), z.number().int().positive().transform(String)]);
const maybeTask = z.object({ task: reference.optional() });
const startOptions = {
  mode: z.enum(['loop', 'session', 'here']).default('loop'),
  pullRequest: z.boolean().default(false),
  model: z.string().trim().min(1).optional(),
  auditorModel: z.string().trim().min(1).optional(),
  maxIterations: z.number().int().min(0).optional(),
  maxTurns: z.number().int().positive().optional(),
  budgetUsd: z.number().positive().optional(),
  sandbox: z.enum(OWN_SANDBOXES).optional(),
};
/** What the work may cost, and what confines it, is the operator's to say. */
const OPERATORS = ['model', 'auditorModel', 'maxIterations', 'maxTurns', 'budgetUsd', 'sandbox'];
const plan = z.object({ plan: z.string().trim().min(1) });
const loop = z.object({ loop: z.string().trim().min(1) });
/** A place in a change. */
const place = { file: z.string().trim().min(1).optional(), line: z.number().int().positive().optional() };

export { ACCESS_OF };

export const OPERATIONS = {
  status: read(
    'Show tasks, slots and runners: the tasks in flight and the newest that have ended.',
    z.object({ live: z.boolean().default(false), all: z.boolean().default(false) }),
    snapshot,
  ),
  morning: read(
    'Show what needs you, what merged and what did not, and what it cost.',
    z.object({ since: z.string().default('12h') }),
    morning,
  ),
  why: read(
    'Say what each open issue and loop is waiting for, or what one is.',
    z.object({ issue: issue.nullable().default(null), loop: z.string().trim().min(1).optional() }),
    why,
  ),
  'run.preview': read(
    'Show what a run would start now, in order, and why the others would not. Changes nothing.',
    z.object({ only: z.array(issue).optional(), most: z.number().int().min(0).optional() }),
    preview,
  ),

  'task.list': read(
    'List tasks in flight; with `all`, also ended ones; with `ended`, only those, latest first.',
    z.object({
      all: z.boolean().default(false),
      ended: z.boolean().default(false),
      search: z.string().trim().min(1).optional(),
      limit: z.number().int().min(1).optional(),
      skip: z.number().int().min(0).default(0),
    }),
    listTasks,
  ),
  'task.show': read(
    'Show one task: turns and their cost, findings, what is pending; with `network`, its connections.',
    z.object({ task: reference, network: z.boolean().default(false) }),
    showTask,
  ),
  'task.export': read(
    'Export a task as one file that replays elsewhere, without secrets, for a bug report.',
    task,
    exportTask,
  ),
  'task.change': read(
    'Show the files a task changes, and the patch of one of them.',
    z.object({ task: reference, file: z.string().min(1).optional() }),
    showChange,
  ),
  'task.log': read(
    'List the logs of a task, and print a part of one of them.',
    z.object({
      task: reference,
      log: z.string().min(1).optional(),
      after: z.number().int().min(0).optional(),
    }),
    readLog,
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
    'Approve the head of a task in place of the critic, or its proposed specification; with `head`, only if that is still its head.',
    task.extend({ head: z.string().trim().min(7).optional() }),
    (context, input) => ask(context, input.task, 'approve', input.head),
  ),
  'task.tell': write(
    'Tell the coder of a task something, with its next prompt. Approves and ends nothing.',
    z.object({ task: reference, text: z.string().trim().min(1).max(20_000) }),
    tell,
  ),
  attach: write(
    "Open a task's session in the agent's own program, in its worktree; the loop continues when you exit.",
    task.extend({ now: z.boolean().default(false), keepPaused: z.boolean().default(false) }),
    attachToTask,
  ),
  'task.retry': write('Start a new attempt at an issue, without its cooldown.', task, retryTask),
  'task.retry_all': write(
    'Start a new attempt at every issue whose last attempt ended for this reason.',
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
    OPERATORS,
  ),
  'loop.start_each': write(
    'Start one loop for each feature of a list, dependencies first.',
    z.object({ file: z.string().min(1), ...startOptions }),
    startEach,
    OPERATORS,
  ),
  'loop.list': read(
    'List active and recent loops; with `all`, every loop.',
    z.object({ all: z.boolean().default(false) }),
    listLoops,
  ),
  'loop.show': read(
    'Show a loop: milestones, phases, findings, cost, whether it can be restarted.',
    loop,
    showLoop,
  ),
  'loop.milestone': read(
    'Show the text and result of a milestone; without a number, of the current one.',
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
    'Remove the worktrees of completed loops, and the refs of ended ones; branches stay.',
    nothing,
    sweepLoops,
  ),

  'issue.new': write(
    'Create an issue.',
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
    'Create an issue from each file.',
    z.object({
      files: z.array(z.object({ file: z.string(), text: z.string() })).min(1),
      ready: z.boolean().default(false),
    }),
    importIssues,
  ),
  'issue.list': read(
    'List open issues; with `all`, also closed ones.',
    z.object({ all: z.boolean().default(false) }),
    listIssues,
  ),
  'issue.show': read('Show an issue with its comments.', oneIssue, showIssue),
  'issue.lint': read(
    'Check whether an issue is ready: each rule with its points.',
    z.object({ issue: issue.optional(), text: z.string().optional() }),
    lintIssue,
  ),
  'issue.ready': write(
    'Let the loop work on an issue; its current text is the contract.',
    oneIssue,
    readyIssue,
  ),
  'issue.close': write('Close an issue; a task at work on it ends.', oneIssue, closeIssue),
  'issue.comment': write('Comment on an issue.', z.object({ issue: issue, text: z.string() }), commentIssue),

  'plan.new': write(
    'Write the skeleton of a plan; never overwrites a file.',
    z.object({ name: z.string().trim().min(1), output: z.string().min(1).optional() }),
    newPlan,
  ),
  'plan.lint': read(
    'Check a plan: what is missing, line by line.',
    z.object({ file: z.string().min(1), text: z.string() }),
    lintPlanFile,
  ),
  'frontier.show': read(
    'Show the stated direction (.forge/frontier.yaml), and what of it can not be used.',
    nothing,
    showFrontier,
  ),
  'frontier.edit': write(
    'Replace the text of .forge/frontier.yaml; one with an error is refused.',
    z.object({ text: z.string(), file: z.string().min(1).default('.forge/frontier.yaml') }),
    editFrontier,
  ),
  'plan.draft': write(
    'Let a planner write a plan from an issue; it reads trunk, and a person approves what it writes.',
    oneIssue,
    draftPlan,
  ),
  'plan.list': read(
    'List stored plans; with `archived`, also replaced ones.',
    z.object({ archived: z.boolean().default(false) }),
    listPlans,
  ),
  'plan.show': read('Show a plan: its origin, what is missing, its text.', plan, showPlan),
  'plan.edit': write(
    'Replace the text of a plan; the new text needs approval, the old one is archived.',
    plan.extend({ text: z.string(), file: z.string().min(1) }),
    editPlan,
  ),
  'plan.approve': write(
    'Approve the current text of a plan; with `start`, start it.',
    plan.extend({ start: z.boolean().default(false) }),
    approvePlan,
  ),

  'pull.list': read(
    'List open pull requests; with `all`, also merged and closed ones.',
    z.object({ all: z.boolean().default(false) }),
    listPulls,
  ),
  'pull.show': read('Show a pull request: checks, remarks, approvals.', z.object({ pull: issue }), showPull),
  'pull.comment': write(
    'Comment on a pull request; the coder is told.',
    z.object({ pull: issue, body: z.string(), ...place }),
    (context, input) => sayOnPull(context, { ...input, verdict: 'comment' }),
  ),
  'pull.review': write(
    'Approve the head of a pull request, or request changes.',
    z.object({
      pull: issue,
      verdict: z.enum(['approve', 'request_changes']),
      body: z.string().default(''),
      ...place,
    }),
    sayOnPull,
  ),
  'pull.check': write(
    'Record a CI result for the head of a pull request.',
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
    'List findings of all tasks or one: all or open ones, by file or pattern.',
    z.object({
      task: reference.optional(),
      open: z.boolean().default(false),
      file: z.string().trim().min(1).optional(),
      pattern: z.string().min(1).optional(),
    }),
    listFindings,
  ),
  'findings.write': write(
    'Add a finding, to a line of the change or as a whole; the coder is told with its next prompt.',
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
    'Mark a finding of an audit, or of a person, as fixed.',
    z.object({ finding: z.string().trim().min(1), why: z.string().trim().min(1).optional() }),
    (context, input) => decideFinding(context, input, 'resolved'),
  ),
  'findings.wontfix': write(
    'Accept a finding as it is; the task continues without a fix.',
    z.object({ finding: z.string().trim().min(1), why: z.string().trim().min(1) }),
    (context, input) => decideFinding(context, input, 'wontfix'),
  ),
  'findings.reopen': write(
    'Reopen a finding that was resolved or left as it is.',
    z.object({ finding: z.string().trim().min(1), why: z.string().trim().min(1).optional() }),
    (context, input) => decideFinding(context, input, 'open'),
  ),

  cost: read(
    'Show what was spent, by issue, role, model, day, round or turn.',
    z.object({
      by: z.enum(COST_GROUPS).default('issue'),
      since: z.string().optional(),
    }),
    cost,
  ),
  report: read(
    'Write one page about the night or one task: what merged, what did not and why, what it cost.',
    z.object({ task: reference.optional(), since: z.string().optional() }),
    report,
  ),
  events: read(
    'List what happened, in order.',
    z.object({
      task: reference.optional(),
      type: z.string().optional(),
      last: z.number().int().min(0).optional(),
      after: z.number().int().min(0).optional(),
      limit: z.number().int().min(1).optional(),
    }),
    events,
  ),
  logs: read(
    'Show what the agents of a task said and did, turn by turn: text, tool calls, output.',
    z.object({
      task: reference,
      role: z.enum(ROLES).optional(),
      turn: z.number().int().positive().optional(),
      last: z.number().int().positive().optional(),
      after: z.number().int().min(0).describe('an offset: only what is new in the newest turn').optional(),
    }),
    readLogs,
  ),
  replay: read(
    'Replay a task, event by event; with `at`, one step: the prompt, the result and the diff at that point.',
    z.object({ task: reference, at: step.optional() }),
    replayTask,
  ),
  'replay.file': read(
    'Replay a file that `task export` made.',
    z.object({ file: z.string().min(1), at: step.optional() }),
    replayFile,
  ),
  'replay.verify': read(
    'Fold the events again and compare with the rows of all tasks, or of one.',
    maybeTask,
    verifyRows,
  ),
  refresh: write('Make every runner look at the forge now.', nothing, refresh),
  boot: read(
    'Show what you need after a reset: direction, tasks in flight, stale leases, last events.',
    z.object({ last: z.number().int().min(0).default(10) }),
    boot,
  ),
  recover: write('Take over now what dead runners left.', nothing, recover),
  gc: write(
    'Remove homes, sessions and logs of tasks that ended long ago (`keep`), and unused throwaway trees.',
    z.object({ dryRun: z.boolean().default(false) }),
    gc,
  ),
  doctor: read(
    'Check tools, config, repository, agents, database, leases, leftovers, disk.',
    z.object({ agents: z.boolean().default(false) }),
    doctor,
    // It costs money.
    ['agents'],
  ),
  access: read(
    'Show what a role, the gate or a hook can see and reach, from inside its sandbox.',
    z.object({ who: z.enum(ACCESS_OF) }),
    access,
  ),
  attack: write('Run hostile scripts in the sandbox against a made-up operator.', nothing, attack),
  'gate.try': write('Run the gate on trunk, as the loop does before the first turn.', nothing, tryGate),
  backup: write(
    'Copy the database to a new file, even while a runner works, and check the copy.',
    z.object({ file: z.string().min(1) }),
    backup,
  ),
  restore: write(
    'Replace the database with a backup, or start over; the old one is kept beside it.',
    z.object({ file: z.string().min(1).optional(), empty: z.boolean().default(false) }),
    restore,
  ),
  uninstall: write(
    'Show what the loop keeps for this repository; with `yes`, remove it.',
    z.object({ yes: z.boolean().default(false) }),
    uninstall,
  ),
  'service.install': write(
    'Write a systemd user unit that runs the loop of this repository.',
    z.object({ program: z.string().min(1) }),
    installService,
  ),
  'service.remove': write('Remove the systemd unit; disable it first.', nothing, removeService),
  'notify.test': write(
    'Send a sample to every channel, or to one, and report the result.',
    z.object({ channel: z.string().trim().min(1).optional() }),
    testNotify,
  ),
  brief: read("Show the coder's prompt for an issue, as rendered now.", oneIssue, brief),
  config: read('Show the settings in force and where each comes from.', nothing, config),
  pause: write('Pause the loop or one task: start nothing new.', maybeTask, pause),
  resume: write(
    'Resume the loop or one held task; with `--all`, the loop and every task it can release.',
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
      setup: z.array(z.string()).optional(),
      leftOut: z
        .array(z.object({ command: z.string(), why: z.string(), output: z.array(z.string()) }))
        .optional(),
      from: z.array(z.string()).optional(),
      tracker: z.enum(['local', 'github']).optional(),
      trunk: z.string().trim().min(1).optional(),
      createLabels: z.boolean().default(false),
      mcp: z.boolean().default(false),
    }),
    init,
  ),
};

export type OperationName = keyof typeof OPERATIONS;

/** They name files of whoever types them, set up a repository or remove the loop from it, or are hostile on purpose. */
const FOR_TERMINALS: ReadonlySet<OperationName> = new Set([
  'attach',
  'init',
  'backup',
  'restore',
  'attack',
  'service.install',
  'service.remove',
  'plan.new',
  'loop.start_each',
  'replay.file',
  'uninstall',
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
  /** Fields of the input that only the command line offers: they cost money, or undo what confines the work. */
  operatorOnly: readonly string[];
  handle(context: Context, input: output<S>): Promise<R>;
}

function read<S extends ZodType, R>(
  description: string,
  input: S,
  handle: (context: Context, input: output<S>) => Promise<R>,
  operatorOnly: readonly string[] = [],
): Operation<S, R> {
  return { description, access: 'read', input, operatorOnly, handle };
}

function write<S extends ZodType, R>(
  description: string,
  input: S,
  handle: (context: Context, input: output<S>) => Promise<R>,
  operatorOnly: readonly string[] = [],
): Operation<S, R> {
  return { description, access: 'write', input, operatorOnly, handle };
}
