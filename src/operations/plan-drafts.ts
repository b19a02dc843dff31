/** Plans before they are started: drafted from an issue by a runner, edited and approved by people. */
import type { Context } from '../context.ts';
import { event } from '../core/event.ts';
import { contractOf } from '../core/issue/criteria.ts';
import { draftEvents, isDraft } from '../core/plan/draft.ts';
import { lintPlan } from '../core/plan/lint.ts';
import { parsePlan } from '../core/plan/plan.ts';
import { placed } from '../core/plan/start.ts';
import { planId, storing } from '../core/plan/stored.ts';
import { isEnded } from '../core/task.ts';
import { count } from '../core/words/words.ts';
import { UserError } from '../errors.ts';
import { isRunnerAlive } from '../view.ts';
import { type Started, starting, startLoop } from './loops.ts';
import { findPlan, type PlanView, planView, requireCurrent } from './stored-plans.ts';

interface Drafting {
  task: string;
  issue: number;
  /** One was being drafted already from this text. */
  already: boolean;
  runnerAlive: boolean;
}

/** Queues a task for the planner; a runner takes it up like any other. */
export async function draftPlan(context: Context, { issue: number }: { issue: number }): Promise<Drafting> {
  const issue = await (await context.forge()).issue(number);
  if (!issue)
    throw new UserError(`There is no issue #${number}.`, '`forge-loop issue list` shows the open ones.');
  if (issue.state === 'closed')
    throw new UserError(`Issue #${number} is closed.`, `Reopen it first: forge-loop issue ready ${number}`);
  const contract = contractOf(issue);
  const by = await context.operator();
  const { newId, store } = await context.ports();
  const begun = await starting(context, store, async (lease) => {
    const drafting = (await store.tasks({ live: true }))
      .map(({ task }) => task)
      .find(
        (task) =>
          isDraft(task) &&
          !isEnded(task) &&
          task.plan.draftOf === number &&
          task.contract.hash === contract.hash,
      );
    const events = draftEvents({ issue: number, contract, by });
    const claim = {
      lease,
      taskId: newId().slice(0, 8),
      issue: null,
      events,
      actions: [],
      at: context.now(),
    };
    return { task: (drafting ?? (await store.claim(claim))!.task).id, already: drafting !== undefined };
  });
  // Asked when our own lease is gone: whoever has one is taken for a runner.
  return { ...begun, issue: number, runnerAlive: await isRunnerAlive(store, context) };
}

interface Edited extends PlanView {
  /** The plan that it replaces, which is archived; null when the text is the same. */
  replaces: string | null;
}

/** The new text waits for approval, whatever the old one was. */
export async function editPlan(
  context: Context,
  input: { plan: string; text: string; file: string },
): Promise<Edited> {
  const { text, file } = input;
  const errors = lintPlan(text).filter(({ severity }) => severity === 'error');
  const parsed = parsePlan(text);
  if (errors.length > 0 || !parsed.ok) {
    const said = errors.map((one) => `${file}: ${placed(one)}`).join('\n');
    throw new UserError(
      `The plan was not stored, for ${count(errors.length, 'error')}:\n${said}`,
      errors[0]?.advice ?? null,
    );
  }
  const by = await context.operator();
  const { store } = await context.ports();
  return starting(context, store, async () => {
    const old = requireCurrent(await findPlan(store, input.plan));
    const id = planId(parsed.plan);
    if (id !== old.id) {
      const source = { kind: 'edited', from: old.id } as const;
      await store.record({
        events: [
          event('plan_stored', storing(parsed.plan, { source, status: 'draft', by })),
          event('plan_archived', { plan: old.id, by }),
        ],
        at: context.now(),
      });
    }
    const stored = await findPlan(store, id);
    const tasks = (await store.tasks()).map(({ task }) => task);
    return { ...planView(stored, tasks), replaces: id === old.id ? null : old.id };
  });
}

interface Approved {
  plan: PlanView;
  /** Somebody had approved it before. */
  already: boolean;
  started: Started | null;
}

export async function approvePlan(
  context: Context,
  input: { plan: string; start: boolean },
): Promise<Approved> {
  const by = await context.operator();
  const { store } = await context.ports();
  const { id, already } = await starting(context, store, async () => {
    const old = requireCurrent(await findPlan(store, input.plan));
    const already = old.status === 'approved';
    if (!already)
      await store.record({ events: [event('plan_approved', { plan: old.id, by })], at: context.now() });
    return { id: old.id, already };
  });
  const started = input.start
    ? await startLoop(context, { plan: id, mode: 'loop', pullRequest: false })
    : null;
  const tasks = (await store.tasks()).map(({ task }) => task);
  return { plan: planView(await findPlan(store, id), tasks), already, started };
}
