/** How a plan, or a goal, becomes a task: what is written down when a person starts one, and what it is called. */
import { type EventData, event, type NewEvent } from '../event.ts';
import type { Readiness } from '../issue/readiness.ts';
import { textHash } from '../issue/text-hash.ts';
import type { Task } from '../task.ts';
import { slugOf } from '../text/slug.ts';
import { oneLine } from '../words/fence.ts';
import { holdsPlan, type Plan, type PlanProblem, parsePlan } from './plan.ts';
import type { PlanBirth } from './progress.ts';
import { planId } from './stored.ts';

export interface Start
  extends Pick<PlanBirth, 'mode' | 'delivers' | 'startedBy' | 'models' | 'limits' | 'group' | 'from'> {
  /** Null for a goal alone. */
  plan: Plan | null;
  /** What it is for, beside the plan or instead of one. */
  goal: string | null;
  name: string;
}

export function startedEvents(start: Start): NewEvent[] {
  const { plan, goal, name, mode, delivers, startedBy, models, limits, group, from } = start;
  const contract = contractOfPlan(start);
  const created: EventData['task_created'] = {
    kind: plan === null ? 'goal' : 'plan',
    issue: null,
    attempt: 1,
    slug: name,
    branch: `loop/${name}`,
    contract,
    plan: {
      name,
      mode,
      delivers,
      recovery: 'manual',
      startedBy,
      models,
      ...(limits && { limits }),
      ...(group && { group }),
      ...(from && { from }),
      ...(plan && { planId: planId(plan) }),
      ...(mode === 'loop' ? inMilestones(plan, goal) : inOnePiece(contract.body)),
    },
  };
  return [
    event('task_created', created),
    event('worker_state_transition', {
      from: 'none',
      to: 'queued',
      reason: null,
      why: `started by ${startedBy}`,
      sessionId: null,
      turn: 0,
      headSha: null,
    }),
    event('request_made', { kind: 'start', by: startedBy }),
  ];
}

type Parts = Pick<PlanBirth, 'objective' | 'shared' | 'milestones'>;

const inMilestones = (plan: Plan | null, goal: string | null): Parts => ({
  objective: [goal, plan?.objective].filter(Boolean).join('\n\n'),
  shared: plan?.shared ?? '',
  milestones: (plan?.milestones ?? []).map(({ title, text }) => ({ title, text })),
});

const inOnePiece = (objective: string): Parts => ({ objective, shared: '', milestones: [] });

export function contractOfPlan({
  plan,
  goal,
}: Pick<Start, 'plan' | 'goal'>): EventData['task_created']['contract'] {
  const title = plan?.title ?? oneLine(goal ?? '').slice(0, 60);
  const body = [goal, plan?.text].filter(Boolean).join('\n\n');
  return { title, body, hash: textHash({ title, body }), criteria: [] };
}

/** What it is called: as asked for, as the plan says, or by its title; a number makes it one of its own. */
export function freeName(wanted: string, taken: (name: string) => boolean): string {
  const name = slugOf(wanted);
  if (!taken(name)) return name;
  for (let n = 2; ; n += 1) if (!taken(`${name}-${n}`)) return `${name}-${n}`;
}

/** The loops among them: one that drafts a plan works through none. */
export const planTasks = (tasks: readonly Task[]): (Task & { plan: NonNullable<Task['plan']> })[] =>
  tasks.filter(
    (task): task is Task & { plan: NonNullable<Task['plan']> } =>
      task.plan !== undefined && task.plan.mode !== 'draft',
  );

/** Of an issue's body: a plan that can be read is ready, one that can't is told why. Null where there is none. */
export function planReadiness(body: string): Pick<Readiness, 'decision' | 'problem' | 'questions'> | null {
  if (!holdsPlan(body)) return null;
  const parsed = parsePlan(body, { markers: 'optional' });
  if (parsed.ok) return { decision: 'ready', problem: '', questions: [] };
  const { advice } = parsed.problem;
  return {
    decision: 'declined',
    problem: `its plan can't be read (${placed(parsed.problem)})`,
    questions: [advice],
  };
}

export const placed = ({ line, problem }: PlanProblem): string =>
  line === null ? problem : `line ${line}: ${problem}`;
