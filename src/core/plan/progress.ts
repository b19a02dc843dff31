/** What a task keeps of its plan: the milestones as they were cut, how far it has come, what its audits said. */
import type { Checkpoint, CoderSummary } from '../event.ts';
import type { Role } from '../role.ts';
import type { PlanLimits } from './limits.ts';
import type { Phase } from './phase.ts';

/** `here`: as `session`, from the operator's checkout, which is switched to its branch at the end. `draft`: its only work is to write a plan. */
export type PlanMode = 'loop' | 'session' | 'here' | 'draft';

/** What an auditor says of a part that is done. */
export interface AuditSummary {
  done: string;
  deviations: string[];
  followUps: string[];
}

export interface Milestone {
  title: string;
  text: string;
  /** Passes of the coder that its audits found wanting. */
  attempts: number;
  /** Null until an audit found it clean. */
  done: (AuditSummary & { commit: string | null }) | null;
  /** What its coder said of its choices, for the auditor. */
  decisions: CoderSummary | null;
}

/** A milestone that is still to come, worded anew by an auditor. */
export interface Amendment {
  /** From 0. */
  milestone: number;
  text: string;
  rationale: string;
}

/** How the task was asked for. */
export interface PlanBirth {
  name: string;
  mode: PlanMode;
  delivers: 'branch' | 'pull';
  /** `manual`: no runner goes on with it by itself after the one that had it. */
  recovery: 'auto' | 'manual';
  startedBy: string;
  /** For `here`: what was checked out when it was started. */
  from?: { sha: string; branch: string | null };
  /** In place of the models of the settings. */
  models: Partial<Record<Role, string>>;
  /** In place of the limits of the settings. */
  limits?: PlanLimits;
  /** It is one of several that were started together: which of them come before it, and how many may be at work. */
  group?: { id: string; most: number | null; after: string[] };
  /** Of its text, by which it is known among the stored plans; absent for a goal alone. */
  planId?: string;
  /** The issue that a plan is drafted from. */
  draftOf?: number;
  /** What of the plan is about all milestones. */
  objective: string;
  shared: string;
  milestones: { title: string; text: string }[];
  /** What of an issue's text was left out of its plan, and where; a person who starts a plan is told at once. */
  warnings?: string[];
}

export interface PlanProgress extends Omit<PlanBirth, 'milestones'> {
  milestones: Milestone[];
  phase: Phase | 'delivered';
  /** Which milestone is worked on, from 0. */
  milestone: number;
  /** The coder's turns before this milestone. */
  turnsBefore: number;
  /** Audits that found something, since it was started or restarted. */
  iterations: number;
  /** Audits in all. */
  audits: number;
  /** What came of the audit of this phase; null until it has answered. */
  audit: { tree: string; isClean: boolean; summary: AuditSummary | null } | null;
  /** The last audits in a row that gave no usable result; absent where the last one gave one. */
  missingAudits?: number;
  /** The last audit, in words; it outlives its phase. */
  lastAudit: string | null;
  /** What its coder said of the fixes after the final audit; absent where nothing was said. */
  fixed?: CoderSummary;
  /** What was found clean before the post action began. */
  audited?: Checkpoint;
  amendments: (Amendment & { audit: number })[];
  /** The plan that it was to draft. */
  drafted?: { id: string; name: string };
  /** Why what the post action changed is not on the branch; absent where it is, or where nothing was changed. */
  tookBack?: string;
  /** Why the post action was not begun; absent where it was. */
  notActed?: string;
  /** For `here`, at the end: why the operator's checkout was not switched; null when it was. */
  checkout?: { problem: string | null };
  /** The last message of the post action, as it was. */
  completionSummary: string | null;
}

export const bornPlan = (birth: PlanBirth): PlanProgress => ({
  ...birth,
  milestones: birth.milestones.map((one) => ({
    ...one,
    attempts: 0,
    done: null,
    decisions: null,
  })),
  phase: 'coding',
  milestone: 0,
  turnsBefore: 0,
  iterations: 0,
  audits: 0,
  audit: null,
  lastAudit: null,
  amendments: [],
  completionSummary: null,
});

/** A restart goes on at the phase and milestone it has come to; an audit that was under way is made again. */
export const restartedPlan = (plan: PlanProgress): PlanProgress => ({
  ...plan,
  turnsBefore: 0,
  iterations: 0,
  audit: null,
  missingAudits: 0,
});

export const changedMilestone = (
  plan: PlanProgress,
  index: number,
  change: (milestone: Milestone) => Partial<Milestone>,
): Milestone[] => plan.milestones.map((one, at) => (at === index ? { ...one, ...change(one) } : one));

export const currentMilestone = ({ milestones, milestone }: PlanProgress): Milestone | null =>
  milestones[milestone] ?? null;

/** What the milestone at hand is measured from: the last one that changed something, or what the work started from. */
export const lastSealed = ({ milestones }: PlanProgress, baseSha: string | null): string =>
  milestones.flatMap(({ done }) => done?.commit ?? []).at(-1) ?? baseSha ?? '';
