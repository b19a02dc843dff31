/**
 * A plan drafted from an issue: a task whose only work is one planner's answer. It has a slot like any other, and no
 * workspace: the planner reads a throwaway copy of trunk. What it writes is kept for a person to approve.
 */
import { act, type Decision, type Facts, transition } from '../decision.ts';
import { abandon, finish } from '../ending.ts';
import { type Contract, type EventData, event, type NewEvent } from '../event.ts';
import type { Outcome } from '../outcome.ts';
import type { Policy } from '../policy.ts';
import type { Task } from '../task.ts';
import { askAnew, nextTry, startTurn } from '../turn.ts';
import { lintPlan } from './lint.ts';
import { type Plan, parsePlan } from './plan.ts';
import type { PlanProgress } from './progress.ts';
import { placed } from './start.ts';
import { storing } from './stored.ts';

/** A task that drafts a plan, and the issue it is drafted from. */
type Drafting = Task & { plan: PlanProgress & { draftOf: number } };

export const isDraft = (task: Task): task is Drafting => task.plan?.draftOf !== undefined;

export function draftEvents({
  issue,
  contract,
  by,
}: {
  issue: number;
  contract: Contract;
  by: string;
}): NewEvent[] {
  const name = `draft-${issue}`;
  const created: EventData['task_created'] = {
    kind: 'plan',
    issue: null,
    attempt: 1,
    slug: name,
    branch: `loop/${name}`,
    contract,
    plan: {
      name,
      mode: 'draft',
      draftOf: issue,
      delivers: 'branch',
      recovery: 'auto',
      startedBy: by,
      models: {},
      objective: '',
      shared: '',
      milestones: [],
    },
  };
  return [
    event('task_created', created),
    event('worker_state_transition', {
      from: 'none',
      to: 'queued',
      reason: null,
      why: `a plan of issue #${issue} was asked for by ${by}`,
      sessionId: null,
      turn: 0,
      headSha: null,
    }),
    event('request_made', { kind: 'draft', by }),
  ];
}

/** What follows for it once it has a slot. */
export function draft(task: Drafting, facts: Facts, policy: Policy, now: number): Decision {
  const { drafted } = task.plan;
  if (drafted) return finish(task, { to: 'completed', why: draftedText(drafted) }, facts, policy, now);
  const { last, session, unusable, failed, stalled, problem, failure } = task.roles.planner;
  if (last?.code === 'sandbox_failed')
    return finish(task, abandon('sandbox_failed', last.message), facts, policy, now);
  const next = nextTry(task, 'planner', facts, policy, now);
  if (next.kind === 'later')
    return act(
      [transition(task, 'queued', 'the planner is asked again later'), ...next.events],
      next.actions,
    );
  if (next.kind === 'spent') {
    const isUnusable = next.by === 'unusable';
    const why = isUnusable ? `the planner wrote no usable plan: ${problem}` : failure?.message;
    return finish(task, abandon(isUnusable ? 'spec_rejected' : next.reason, why), facts, policy, now);
  }
  const turn = unusable + failed + stalled + 1;
  // It has read the project: it is only asked to mend what it wrote.
  const goesOn = session !== null && last?.status === 'finished';
  if (!goesOn) return askAnew(task, 'planner', turn, facts, policy);
  const asking = { turn, session, prompt: 'plan_draft_again' as const, priorFailure: problem };
  return startTurn(task, 'planner', asking, facts, policy);
}

const draftedText = ({ id, name }: { id: string; name: string }): string =>
  `the plan ${name} (${id}) is drafted; a person approves it`;

type TurnOutcome = Extract<Outcome, { kind: 'turn' }>;

/** What a planner's answer means: a draft to keep, or what is wrong with it. */
export function recordDraft(task: Task, { structured, text }: TurnOutcome): NewEvent[] {
  if (!isDraft(task) || task.plan.drafted) return [];
  const read = readDraft(textOf(structured) ?? text);
  if (typeof read === 'string') return [event('answer_unusable', { role: 'planner', problem: read })];
  const source = { kind: 'draft', issue: task.plan.draftOf, task: task.id } as const;
  return [event('plan_stored', storing(read, { source, status: 'draft', by: 'planner' }))];
}

function readDraft(text: string): Plan | string {
  const errors = lintPlan(text).filter(({ severity }) => severity === 'error');
  if (errors.length > 0) return errors.map((one) => `${placed(one)}. ${one.advice}`).join('\n');
  const parsed = parsePlan(text);
  return parsed.ok ? parsed.plan : placed(parsed.problem);
}

function textOf(structured: unknown): string | null {
  const { plan } = (structured ?? {}) as { plan?: unknown };
  return typeof plan === 'string' ? plan : null;
}
