/** Stored plans as people look at them, and which of them may be started. */
import type { Context } from '../context.ts';
import { type LintProblem, lintPlan } from '../core/plan/lint.ts';
import { type MilestoneText, parsePlan } from '../core/plan/plan.ts';
import { planTasks } from '../core/plan/start.ts';
import type { StoredPlan } from '../core/plan/stored.ts';
import type { Task } from '../core/task.ts';
import { UserError } from '../errors.ts';
import type { Store } from '../store/store.ts';

export interface PlanView extends Omit<StoredPlan, 'text' | 'hash' | 'createdAt' | 'changedAt'> {
  createdAt: string;
  changedAt: string;
  milestones: Pick<MilestoneText, 'title'>[];
  /** The loops that were started from it. */
  loops: string[];
}

interface PlanDetail extends PlanView {
  text: string;
  hash: string;
  problems: LintProblem[];
}

export async function listPlans(context: Context, filter: { archived: boolean }): Promise<PlanView[]> {
  const store = await context.reading();
  if (!store) return [];
  const tasks = await tasksIn(store);
  return (await store.plans(filter)).map((plan) => planView(plan, tasks));
}

export async function showPlan(context: Context, { plan: reference }: { plan: string }): Promise<PlanDetail> {
  const store = await context.reading();
  const plan = await findPlan(store, reference);
  const { text, hash } = plan;
  return { ...planView(plan, await tasksIn(store!)), text, hash, problems: lintPlan(text) };
}

export function planView({ text, hash: _, ...plan }: StoredPlan, tasks: readonly Task[]): PlanView {
  const parsed = parsePlan(text);
  return {
    ...plan,
    createdAt: new Date(plan.createdAt).toISOString(),
    changedAt: new Date(plan.changedAt).toISOString(),
    milestones: (parsed.ok ? parsed.plan.milestones : []).map(({ title }) => ({ title })),
    loops: loopsOf(plan, tasks).map((task) => task.plan.name),
  };
}

/** By its id or the beginning of it, or by a name that no other has; an archived one by its id alone. */
export async function findPlan(store: Store | null, reference: string): Promise<StoredPlan> {
  const plans = store ? await store.plans({ archived: true }) : [];
  const wanted = reference.trim().toLowerCase();
  const current = plans.filter(({ status }) => status !== 'archived');
  const byName = current.filter(({ name }) => name === wanted);
  const found = byName.length > 0 ? byName : plans.filter(({ id }) => id.startsWith(wanted));
  if (found.length === 1) return found[0]!;
  if (found.length > 1) {
    const listed = found.map(({ id, name, status }) => `${id} (${name}, ${status})`).join(', ');
    throw new UserError(`"${reference}" could be one of several plans: ${listed}.`, 'Give its id.');
  }
  const names = [...new Set(current.map(({ name }) => name))].slice(-8);
  throw new UserError(
    `There is no plan "${reference}".`,
    names.length === 0
      ? 'Let one be drafted: `forge-loop plan draft <issue>`.'
      : `Known: ${names.join(', ')}. \`forge-loop plan list --archived\` shows all.`,
  );
}

/** The one that is named, or else the last one that may be started and was not. */
export async function planToStart(context: Context, reference: string | undefined): Promise<StoredPlan> {
  const store = await context.reading();
  if (reference !== undefined) return requireStartable(await findPlan(store, reference));
  const plans = store ? await store.plans() : [];
  const tasks = store ? await tasksIn(store) : [];
  const waiting = plans
    .filter((plan) => plan.status !== 'draft' && loopsOf(plan, tasks).length === 0)
    .sort((one, other) => one.changedAt - other.changedAt);
  const last = waiting.at(-1);
  if (last) return last;
  const draft = plans.findLast(({ status }) => status === 'draft');
  throw new UserError(
    'There is no plan to start: every captured or approved plan was started before, or there is none.',
    draft
      ? `The draft ${draft.name} waits for approval: \`forge-loop plan approve ${draft.name} --start\`.`
      : 'Give a plan file or --goal, or let a plan be drafted: `forge-loop plan draft <issue>`.',
  );
}

function requireStartable(plan: StoredPlan): StoredPlan {
  const { id, name, status } = plan;
  if (status === 'draft')
    throw new UserError(
      `The plan ${name} (${id}) is a draft that nobody has approved.`,
      `Read it with \`forge-loop plan show ${id}\`, then \`forge-loop plan approve ${id} --start\`.`,
    );
  return requireCurrent(plan);
}

/** What was replaced is there to be read. */
export function requireCurrent(plan: StoredPlan): StoredPlan {
  if (plan.status !== 'archived') return plan;
  throw new UserError(
    `The plan ${plan.name} (${plan.id}) is archived: another text has replaced it.`,
    'See `forge-loop plan list`. To bring it back, save it with `forge-loop plan show` and start it as a file.',
  );
}

const tasksIn = async (store: Store): Promise<Task[]> => (await store.tasks()).map(({ task }) => task);

const loopsOf = ({ id }: Pick<StoredPlan, 'id'>, tasks: readonly Task[]) =>
  planTasks(tasks).filter(({ plan }) => plan.planId === id);
