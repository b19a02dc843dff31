/**
 * Everything that can be asked of the loop, as one table: name, what it does, whether it writes, the schema of its
 * input, the handler. CLI, HTTP and MCP are projections of it.
 *
 * Schemas and handlers load when an operation is called, so that the table itself costs nothing.
 */

import type { z } from 'zod';
import type { Context } from './context.ts';
import { AGENT_KINDS } from './core/policy.ts';
import { UsageError } from './errors.ts';

export const OPERATIONS = {
  status: read('Tasks, slots, runners: the loop as it is now.', nothing, async (context) =>
    (await import('./view.ts')).snapshot(context),
  ),
  why: read(
    'Why nothing happens: one line per open issue, naming what it rests on.',
    (z) => z.object({ issue: issue(z).nullable().default(null) }),
    async (context, input) => (await import('./why.ts')).why(context, input.issue),
  ),

  'task.list': read(
    'Tasks in flight; with `all`, ended ones too.',
    (z) => z.object({ all: z.boolean().default(false) }),
    async (context, input) => (await import('./operations/tasks.ts')).listTasks(context, input),
  ),
  'task.show': read('One task: turns, findings, spend, what is pending.', task, async (context, input) =>
    (await import('./operations/tasks.ts')).showTask(context, input),
  ),
  'task.cancel': write(
    'End a task; its worktree is kept and `restart` goes on with it.',
    task,
    async (context, input) => (await import('./operations/tasks.ts')).ask(context, input.task, 'cancel'),
  ),
  'task.abandon': write('Give a task up for good; its worktree is kept.', task, async (context, input) =>
    (await import('./operations/tasks.ts')).ask(context, input.task, 'abandon'),
  ),
  'task.approve': write(
    'Approve the head of a task in place of the critic, or agree to its proposed specification.',
    task,
    async (context, input) => (await import('./operations/tasks.ts')).ask(context, input.task, 'approve'),
  ),
  'task.retry': write(
    'Start a new attempt at an issue, without its cooldown.',
    task,
    async (context, input) => (await import('./operations/tasks.ts')).retryTask(context, input),
  ),
  'task.restart': write(
    'Go on with an abandoned task: same row, same worktree, a fresh session.',
    (z) => z.object({ task: reference(z), force: z.boolean().default(false) }),
    async (context, input) => (await import('./operations/restart.ts')).restartTask(context, input),
  ),

  'issue.new': write(
    'Write an issue.',
    (z) =>
      z.object({
        title: z.string().trim().min(1),
        body: z.string().default(''),
        labels: z.array(z.string().trim().min(1)).default([]),
        priority: z.number().int().min(1).max(4).optional(),
        blockedBy: z.array(issue(z)).default([]),
        ready: z.boolean().default(false),
      }),
    async (context, input) => (await import('./operations/issues.ts')).newIssue(context, input),
  ),
  'issue.list': read(
    'Open issues; with `all`, closed ones too.',
    (z) => z.object({ all: z.boolean().default(false) }),
    async (context, input) => (await import('./operations/issues.ts')).listIssues(context, input),
  ),
  'issue.show': read('One issue with its comments.', oneIssue, async (context, input) =>
    (await import('./operations/issues.ts')).showIssue(context, input),
  ),
  'issue.lint': read(
    'What readiness says about an issue, and why: each rule with its points.',
    (z) => z.object({ issue: issue(z).optional(), text: z.string().optional() }),
    async (context, input) => (await import('./operations/lint.ts')).lintIssue(context, input),
  ),
  'issue.ready': write(
    'Let the loop work on an issue; its text as it is now is the contract.',
    oneIssue,
    async (context, input) => (await import('./operations/issues.ts')).readyIssue(context, input),
  ),
  'issue.close': write('Close an issue; a task at work on it ends.', oneIssue, async (context, input) =>
    (await import('./operations/issues.ts')).closeIssue(context, input),
  ),
  'issue.comment': write(
    'Comment on an issue.',
    (z) => z.object({ issue: issue(z), text: z.string() }),
    async (context, input) => (await import('./operations/issues.ts')).commentIssue(context, input),
  ),

  'pull.list': read(
    'Open pull requests; with `all`, merged and closed ones too.',
    (z) => z.object({ all: z.boolean().default(false) }),
    async (context, input) => (await import('./operations/pulls.ts')).listPulls(context, input),
  ),
  'pull.show': read(
    'One pull request: checks, remarks, approvals.',
    (z) => z.object({ pull: issue(z) }),
    async (context, input) => (await import('./operations/pulls.ts')).showPull(context, input),
  ),
  'pull.comment': write(
    'Say something about a pull request; the coder is told.',
    (z) => z.object({ pull: issue(z), body: z.string(), ...place(z) }),
    async (context, input) =>
      (await import('./operations/pulls.ts')).sayOnPull(context, { ...input, verdict: 'comment' }),
  ),
  'pull.review': write(
    'Approve the head of a pull request, or ask for changes to it.',
    (z) =>
      z.object({
        pull: issue(z),
        verdict: z.enum(['approve', 'request_changes']),
        body: z.string().default(''),
        ...place(z),
      }),
    async (context, input) => (await import('./operations/pulls.ts')).sayOnPull(context, input),
  ),
  'pull.check': write(
    'Report what CI found at the head of a pull request.',
    (z) =>
      z.object({
        pull: issue(z),
        name: z.string().trim().min(1),
        state: z.enum(['pending', 'green', 'red']),
        job: z.string().optional(),
        step: z.string().optional(),
        link: z.string().optional(),
        log: z.string().optional(),
      }),
    async (context, input) => (await import('./operations/pulls.ts')).reportCheck(context, input),
  ),

  'findings.list': read(
    'The findings ledger: of all tasks or of one, all findings or only open ones.',
    (z) => z.object({ task: reference(z).optional(), open: z.boolean().default(false) }),
    async (context, input) => (await import('./operations/findings.ts')).listFindings(context, input),
  ),
  'findings.wontfix': write(
    'Decide that a finding stays as it is; the task goes on without it.',
    (z) => z.object({ finding: z.string().trim().min(1), why: z.string().trim().min(1) }),
    async (context, input) =>
      (await import('./operations/findings.ts')).decideFinding(context, input, 'wontfix'),
  ),
  'findings.reopen': write(
    'Take up a finding again that was resolved or left as it is.',
    (z) => z.object({ finding: z.string().trim().min(1), why: z.string().trim().min(1).optional() }),
    async (context, input) =>
      (await import('./operations/findings.ts')).decideFinding(context, input, 'open'),
  ),

  cost: read(
    'What was spent, by issue, role, model or day, and what came of it.',
    (z) =>
      z.object({
        by: z.enum(['issue', 'role', 'model', 'day']).default('issue'),
        since: z.string().optional(),
      }),
    async (context, input) => (await import('./operations/cost.ts')).cost(context, input),
  ),
  events: read(
    'What happened, in order.',
    (z) =>
      z.object({
        task: reference(z).optional(),
        type: z.string().optional(),
        last: z.number().int().min(0).optional(),
        after: z.number().int().min(0).optional(),
      }),
    async (context, input) => (await import('./operations/loop.ts')).events(context, input),
  ),
  boot: read(
    'The context one needs after a reset: direction, tasks in flight, stale leases, last events.',
    (z) => z.object({ last: z.number().int().min(0).default(10) }),
    async (context, input) => (await import('./operations/boot.ts')).boot(context, input),
  ),
  recover: write('Take over what dead runners left, now.', nothing, async (context) =>
    (await import('./operations/recover.ts')).recover(context),
  ),
  doctor: read(
    'Check tools, config, repository, agents, database, leases, leftovers, disk.',
    (z) => z.object({ agents: z.boolean().default(false) }),
    async (context, input) => (await import('./operations/doctor.ts')).doctor(context, input),
  ),
  brief: read(
    "The coder's prompt for an issue, as it would be rendered now.",
    oneIssue,
    async (context, input) => (await import('./operations/brief.ts')).brief(context, input),
  ),
  config: read('The settings in force and where each comes from.', nothing, async (context) =>
    (await import('./operations/config.ts')).config(context),
  ),
  pause: write('Start nothing new: the whole loop, or one task.', maybeTask, async (context, input) =>
    (await import('./operations/loop.ts')).pause(context, input),
  ),
  resume: write('Go on: the whole loop, or one held task.', maybeTask, async (context, input) =>
    (await import('./operations/loop.ts')).resume(context, input),
  ),
  stop: write(
    'Stop the runner: when its turns have ended, or now.',
    (z) => z.object({ now: z.boolean().default(false) }),
    async (context, input) => (await import('./operations/loop.ts')).stop(context, input),
  ),
  init: write(
    'Write WORKFLOW.md and .forge/ into this repository.',
    (z) =>
      z.object({
        agent: z.enum(AGENT_KINDS).default('command'),
        command: z.string().trim().min(1).optional(),
        script: z.string().trim().min(1).optional(),
        gate: z.array(z.string().trim().min(1)).optional(),
        tracker: z.enum(['local', 'github']).optional(),
        createLabels: z.boolean().default(false),
      }),
    async (context, input) => (await import('./operations/init.ts')).init(context, input),
  ),
};

export type OperationName = keyof typeof OPERATIONS;
export type Result<N extends OperationName> = Awaited<ReturnType<(typeof OPERATIONS)[N]['handle']>>;

/** Parses the input, then calls the handler. A mistake in the input is a UsageError that names the field. */
export async function perform<N extends OperationName>(
  context: Context,
  name: N,
  input: Record<string, unknown> = {},
): Promise<Result<N>> {
  const { z } = await import('./operations/input.ts');
  const operation = OPERATIONS[name] as unknown as Operation<z.ZodType, Result<N>>;
  const parsed = operation.input(z).safeParse(input);
  if (parsed.success) return operation.handle(context, parsed.data);
  const { problemOf } = await import('./operations/input.ts');
  throw new UsageError(`${name.replace('.', ' ')}: ${problemOf(parsed.error.issues[0]!)}.`);
}

type Zod = typeof import('./operations/input.ts').z;

interface Operation<S extends z.ZodType, R> {
  description: string;
  access: 'read' | 'write';
  input(z: Zod): S;
  handle(context: Context, input: z.output<S>): Promise<R>;
}

type Handler<S extends z.ZodType, R> = (context: Context, input: z.output<S>) => Promise<R>;

function read<S extends z.ZodType, R>(
  description: string,
  input: (z: Zod) => S,
  handle: Handler<S, R>,
): Operation<S, R> {
  return { description, access: 'read', input, handle };
}

function write<S extends z.ZodType, R>(
  description: string,
  input: (z: Zod) => S,
  handle: Handler<S, R>,
): Operation<S, R> {
  return { description, access: 'write', input, handle };
}

function nothing(z: Zod) {
  return z.object({});
}

/** A task's id, the beginning of it, or an issue's number. */
function reference(z: Zod) {
  return z.union([z.string().trim().min(1), z.number().int().positive().transform(String)]);
}

function issue(z: Zod) {
  return z.number().int().positive();
}

/** A place in a change. */
function place(z: Zod) {
  return { file: z.string().trim().min(1).optional(), line: z.number().int().positive().optional() };
}

function task(z: Zod) {
  return z.object({ task: reference(z) });
}

function maybeTask(z: Zod) {
  return z.object({ task: reference(z).optional() });
}

function oneIssue(z: Zod) {
  return z.object({ issue: issue(z) });
}
