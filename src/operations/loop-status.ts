/** Plans as people look at them: how far each has come, what it found, what it cost, and whether it can go on. */
import type { Context } from '../context.ts';
import type { Finding } from '../core/change/findings.ts';
import { type OutcomeClass, REASONS } from '../core/machine.ts';
import { isRest } from '../core/money/cost.ts';
import { openBugs } from '../core/plan/audit.ts';
import { policyFor } from '../core/plan/limits.ts';
import type { Amendment, Milestone } from '../core/plan/progress.ts';
import { planTasks } from '../core/plan/start.ts';
import {
  type LoopStatus,
  loopStatus,
  phaseCounts,
  type Restartability,
  restartability,
} from '../core/plan/status.ts';
import type { Role } from '../core/role.ts';
import { isEnded, type Task } from '../core/task.ts';
import { placeText } from '../core/words/plan-text.ts';
import { UserError } from '../errors.ts';
import { workspaceKey } from '../loop/workspace-key.ts';
import { type Store, taskLease, type UsageDelta } from '../store/store.ts';
import { ownedKeys, type TaskView, taskViews } from '../view.ts';
import type { WorkspaceProbe } from '../workspace/workspace.ts';
import { findLoop } from './loops.ts';
import { lostWorktree } from './restart.ts';

export interface LoopView {
  name: string;
  task: TaskView;
  status: LoopStatus;
  /** The class of its reason; null while it is at work, and when it is completed. */
  outcome: OutcomeClass | null;
  mode: string;
  delivers: 'branch' | 'pull';
  startedBy: string;
  phase: string;
  /** In words. */
  place: string;
  milestone: number;
  milestones: { total: number; done: number };
  iteration: number;
  /** Null: no limit. */
  maxIterations: number | null;
  /** Null: no limit of its own. */
  budgetUsd: number | null;
  audits: number;
  /** Of the coder, in all milestones. */
  turns: number;
  findings: { bugs: number; warnings: number };
  /** Of each role with each model. */
  cost: CostLine[];
  /** What the last audit came to, in a line. */
  auditVerdict: string | null;
  completionSummary: string | null;
}

export interface LoopDetail extends LoopView {
  plan: (Milestone & { number: number })[];
  /** What of an issue's text was left out of its plan. */
  warnings: string[];
  amendments: (Amendment & { audit: number })[];
  lastAudit: string | null;
  open: Finding[];
  /** How often each way between two phases was taken, such as `coding→auditing`. */
  phases: Record<string, number>;
  /** As `cost`, of each session. */
  usage: UsageLine[];
  /** Why what the post action changed is not on the branch; null where that did not happen. */
  tookBack: string | null;
  /** Why the post action was not begun; null where it was, or where there is none. */
  notActed: string | null;
  /** What it was started with, where that is in force. */
  sandbox: string | null;
  /** For `--mode here`, at the end: why the operator's checkout was not switched; null when it was. */
  checkout: { problem: string | null } | null;
  restart: Restartability & { says: string };
}

interface Amounts {
  messages: number;
  input: number;
  output: number;
  reasoning: number;
  cacheRead: number;
  cacheWrite: number;
  /** Null when nothing of it is known. */
  costUsd: number | null;
}

/** Of one session, in one role, with one model. */
export interface UsageLine extends Amounts {
  role: Role;
  sessionId: string;
  model: string;
}

export interface CostLine extends Amounts {
  role: Role;
  model: string;
  sessions: number;
}

export async function listLoops(context: Context, input: { all: boolean }): Promise<LoopView[]> {
  const store = await context.reading();
  if (!store) return [];
  const loops = planTasks((await store.tasks()).map(({ task }) => task));
  const shown = input.all ? loops : loops.filter((task, at) => !isEnded(task) || at >= loops.length - RECENT);
  return Promise.all(shown.map((task) => loopView(context, store, task)));
}

const RECENT = 10;

export async function showLoop(context: Context, input: { loop: string }): Promise<LoopDetail> {
  const store = await context.reading();
  const task = await findLoop(store, input.loop);
  const plan = task.plan!;
  const { sandbox } = policyFor(task, (await context.settings()).settings.policy);
  const ledger = await store!.findings(task.id);
  return {
    ...(await loopView(context, store!, task)),
    plan: plan.milestones.map((one, index) => ({ ...one, number: index + 1 })),
    warnings: plan.warnings ?? [],
    amendments: plan.amendments,
    lastAudit: plan.lastAudit,
    open: ledger.filter(({ status }) => status === 'open'),
    phases: phaseCounts(await store!.events({ task: task.id, type: 'phase_entered' })),
    usage: usageLines(await store!.usage({ task: task.id })),
    tookBack: plan.tookBack ?? null,
    notActed: plan.notActed ?? null,
    sandbox: sandbox.isOwn ? sandbox.kind : null,
    checkout: plan.checkout ?? null,
    restart: await restartOf(context, store!, task),
  };
}

async function loopView(context: Context, store: Store, task: Task): Promise<LoopView> {
  const plan = task.plan!;
  const { loop, budget } = policyFor(task, (await context.settings()).settings.policy);
  const [view] = await taskViews(context, store, [task]);
  const ledger = await store.findings(task.id);
  const advice = ledger.filter(({ status, severity }) => status === 'open' && severity === 'sev3');
  return {
    name: plan.name,
    task: view!,
    status: loopStatus(task),
    outcome: task.reason && REASONS[task.reason].outcome,
    mode: plan.mode,
    delivers: plan.delivers,
    startedBy: plan.startedBy,
    phase: plan.phase,
    place: placeText(plan),
    milestone: plan.milestone + 1,
    milestones: {
      total: plan.milestones.length,
      done: plan.milestones.filter(({ done }) => done !== null).length,
    },
    iteration: plan.iterations + 1,
    maxIterations: loop.maxIterations === 0 ? null : loop.maxIterations,
    budgetUsd: budget.usd,
    audits: plan.audits,
    turns: task.turns,
    findings: { bugs: openBugs(ledger, 'all').length, warnings: advice.length },
    cost: costLines(usageLines(await store.usage({ task: task.id }))),
    auditVerdict: plan.lastAudit === null ? null : plan.lastAudit.split('\n', 1)[0]!.replace(/:$/, ''),
    completionSummary: plan.completionSummary,
  };
}

/** What a live session has told so far is among the rows: nothing is counted twice. */
function usageLines(usage: readonly UsageDelta[]): UsageLine[] {
  const lines = new Map<string, UsageLine>();
  for (const one of usage) {
    const { role, sessionId, model } = one;
    const key = [role, sessionId, model].join('\0');
    const messages = isRest(one) ? 0 : 1;
    lines.set(key, { role, sessionId, model, ...sum(lines.get(key), { ...one, messages }) });
  }
  return [...lines.values()];
}

function costLines(usage: readonly UsageLine[]): CostLine[] {
  const lines = new Map<string, CostLine>();
  for (const one of usage) {
    const { role, model } = one;
    const key = [role, model].join('\0');
    const before = lines.get(key);
    lines.set(key, { role, model, sessions: (before?.sessions ?? 0) + 1, ...sum(before, one) });
  }
  return [...lines.values()];
}

const sum = (before: Amounts | undefined, one: Amounts): Amounts => ({
  messages: (before?.messages ?? 0) + one.messages,
  input: (before?.input ?? 0) + one.input,
  output: (before?.output ?? 0) + one.output,
  reasoning: (before?.reasoning ?? 0) + one.reasoning,
  cacheRead: (before?.cacheRead ?? 0) + one.cacheRead,
  cacheWrite: (before?.cacheWrite ?? 0) + one.cacheWrite,
  costUsd: one.costUsd === null ? (before?.costUsd ?? null) : (before?.costUsd ?? 0) + one.costUsd,
});

async function restartOf(context: Context, store: Store, task: Task): Promise<LoopDetail['restart']> {
  const isOwned = (await ownedKeys(context, store)).has(taskLease(task.id));
  const { workspaces } = await context.tools();
  const probe = task.workspace === null ? null : await workspaces.probe(workspaceKey(task));
  const worktree = !probe || probe.intact ? 'usable' : !probe.exists && probe.saved ? 'missing' : 'lost';
  const can = restartability(task, { isOwned, worktree });
  return { ...can, says: restartText(can.blocked, task, probe) };
}

function restartText(blocked: Restartability['blocked'], task: Task, probe: WorkspaceProbe | null): string {
  const command = `forge-loop loop restart ${task.plan!.name}`;
  switch (blocked) {
    case null:
      return `\`${command}\` continues it`;
    case 'completed':
      return 'it is completed and cannot be restarted';
    case 'missing_worktree':
      return `its worktree is gone; \`${command} --recreate-worktree\` recreates it from its branch`;
    case 'lost_worktree':
      return lostWorktree(task, probe).join(' ');
    case 'active':
      return `it is queued or at work; \`${command} --force\` cancels it first`;
    default:
      return blocked satisfies never;
  }
}

export async function readMilestone(
  context: Context,
  input: { loop: string; milestone?: number | undefined },
): Promise<Milestone & { number: number; of: number }> {
  const task = await findLoop(await context.reading(), input.loop);
  const { milestones, milestone } = task.plan!;
  const index = (input.milestone ?? milestone + 1) - 1;
  const found = milestones[index];
  if (!found) {
    throw new UserError(
      milestones.length === 0
        ? `${task.plan!.name} has no milestones.`
        : `${task.plan!.name} has ${milestones.length} milestones, and no ${index + 1}.`,
    );
  }
  return { ...found, number: index + 1, of: milestones.length };
}
