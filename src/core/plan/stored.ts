/**
 * Plans that are kept until somebody starts them: said by an agent, drafted from an issue, edited, or started from a file.
 * A text is kept once, under an id made of it; another text is another plan, and the one it replaces is archived.
 */

import { type EventData, event, type LoopEvent, type NewEvent } from '../event.ts';
import { type Role, roleRow } from '../role.ts';
import type { Task } from '../task.ts';
import { digestOf } from '../text/digest.ts';
import { slugOf } from '../text/slug.ts';
import { type Plan, parsePlan } from './plan.ts';

export type PlanSource =
  /** An agent's answer held it. */
  | { kind: 'captured'; task: string; role: Role; turn: number }
  | { kind: 'draft'; issue: number; task: string }
  /** `from`: the plan that it replaces. */
  | { kind: 'edited'; from: string }
  | { kind: 'file'; file: string };

/** Drafts wait for a person's approval; archived ones are there to be read. */
export type PlanStatus = 'captured' | 'draft' | 'approved' | 'archived';

export interface StoredPlan {
  /** The beginning of its hash. */
  id: string;
  name: string;
  title: string;
  /** As a file: with its markers, and nothing around them. */
  text: string;
  hash: string;
  source: PlanSource;
  status: PlanStatus;
  /** Who wrote it, or approved or archived it since. */
  by: string;
  createdAt: number;
  changedAt: number;
}

export const planId = (plan: Pick<Plan, 'text'>): string => hashOf(plan).slice(0, 8);

const hashOf = ({ text }: Pick<Plan, 'text'>): string => digestOf(text.trim(), 64);

export function storing(
  plan: Plan,
  about: Pick<StoredPlan, 'source' | 'status' | 'by'>,
): EventData['plan_stored'] {
  return {
    id: planId(plan),
    name: plan.name ?? slugOf(plan.title),
    title: plan.title,
    text: `<!-- forge-plan:start -->\n${plan.text}\n<!-- forge-plan:end -->\n`,
    hash: hashOf(plan),
    ...about,
  };
}

/** The one plan that an agent's finished answer holds, if it does. A planner's is a draft. */
export function captured(
  { id: task }: Pick<Task, 'id'>,
  { role, turn }: { role: Role; turn: number },
  { text }: { text: string },
): NewEvent[] {
  const parsed = parsePlan(text);
  if (roleRow(role).prompt === 'plan_draft' || !parsed.ok) return [];
  const source = { kind: 'captured', task, role, turn } as const;
  return [event('plan_stored', storing(parsed.plan, { source, status: 'captured', by: role }))];
}

/** What an event makes of the plan it names; null where there is none, the same where it says nothing new. */
export function afterPlanEvent(before: StoredPlan | null, happened: LoopEvent): StoredPlan | null {
  const changedAt = happened.at;
  switch (happened.type) {
    case 'plan_stored': {
      const { data } = happened;
      if (!before) return { ...data, createdAt: happened.at, changedAt };
      // What an agent repeats is no news; a person's word, or a new draft, is.
      const isNews = data.status === 'approved' || (before.status === 'archived' && data.status === 'draft');
      return isNews && before.status !== data.status ? { ...before, ...data, changedAt } : before;
    }
    case 'plan_approved':
      return before && { ...before, status: 'approved', by: happened.data.by, changedAt };
    case 'plan_archived':
      return before && { ...before, status: 'archived', by: happened.data.by, changedAt };
    default:
      return before;
  }
}

/** Which plan an event is about; null for the others. */
export function planOfEvent(happened: LoopEvent): string | null {
  switch (happened.type) {
    case 'plan_stored':
      return happened.data.id;
    case 'plan_approved':
    case 'plan_archived':
      return happened.data.plan;
    default:
      return null;
  }
}
