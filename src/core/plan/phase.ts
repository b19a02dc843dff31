/**
 * The phases of a plan inside `running`, as a table: coding and auditing, milestone by milestone, then the whole. A step
 * that is not in the table does not exist: what comes late, twice or for another phase changes nothing.
 */

export const PHASES = ['coding', 'auditing', 'final_auditing', 'final_audit_fix', 'post_action'] as const;
export type Phase = (typeof PHASES)[number];

/** `coded`: the coder's turn has finished and the gate is green. `acted`: the post action is over, however it went. */
export const STEPS = ['coded', 'audit_clean', 'audit_dirty', 'acted'] as const;
export type Step = (typeof STEPS)[number];

interface At {
  phase: Phase;
  /** Which milestone is worked on, from 0. */
  milestone: number;
  /** How many there are; a plan without milestones is one piece of work. */
  milestones: number;
  /** Whether something runs after the last audit. */
  postAction: boolean;
}

/** Where a plan goes from here; `delivered` is the end of its phases. */
export interface Next {
  phase: Phase | 'delivered';
  milestone: number;
}

type Row = Partial<Record<Step, (at: At) => Next>>;

const stay =
  (phase: Phase) =>
  ({ milestone }: At) => ({ phase, milestone });

/** An audit of a plan without milestones is its last one. */
const TABLE: Record<Phase, Row> = {
  coding: { coded: stay('auditing') },
  auditing: {
    audit_clean: (at) => {
      if (at.milestones === 0) return audited(at);
      if (at.milestone + 1 < at.milestones) return { phase: 'coding', milestone: at.milestone + 1 };
      return stay('final_auditing')(at);
    },
    audit_dirty: stay('coding'),
  },
  final_auditing: { audit_clean: audited, audit_dirty: stay('final_audit_fix') },
  final_audit_fix: { coded: stay('final_auditing') },
  post_action: { acted: ({ milestone }) => ({ phase: 'delivered', milestone }) },
};

function audited({ milestone, postAction }: At): Next {
  return { phase: postAction ? 'post_action' : 'delivered', milestone };
}

/** Null where the step means nothing in this phase. */
export const nextPhase = (at: At, step: Step): Next | null => TABLE[at.phase][step]?.(at) ?? null;

/** Every way that a plan of this kind can take; `next` is the coding of the next milestone. */
export function phaseEdges(plan: Pick<At, 'milestones' | 'postAction'>): PhaseWay[] {
  const ways = new Map<string, PhaseWay>();
  const reached: { phase: Phase; milestone: number }[] = [{ phase: 'coding', milestone: 0 }];
  for (const { phase: from, milestone } of reached)
    for (const step of STEPS) {
      const next = nextPhase({ ...plan, phase: from, milestone }, step);
      if (!next) continue;
      const { phase } = next;
      const to = next.milestone === milestone ? phase : 'next';
      ways.set(`${from} ${to}`, { from, to });
      const isKnown = reached.some((one) => one.phase === phase && one.milestone === next.milestone);
      if (phase !== 'delivered' && !isKnown) reached.push({ phase, milestone: next.milestone });
    }
  return [...ways.values()];
}

interface PhaseWay {
  from: Phase;
  to: Phase | 'next' | 'delivered';
}

/** A task whose plan has not come to the end of its phases. Beyond them it is judged and merged as any other. */
export const isInPhases = <T extends { state: string; plan?: { phase: Phase | 'delivered' } }>(
  task: T,
): task is T & { plan: NonNullable<T['plan']> & { phase: Phase } } =>
  ['queued', 'dispatched', 'running'].includes(task.state) &&
  task.plan !== undefined &&
  task.plan.phase !== 'delivered';

export const isAudit = (phase: string): boolean => phase === 'auditing' || phase === 'final_auditing';
export const isCoding = (phase: string): boolean => phase === 'coding' || phase === 'final_audit_fix';
