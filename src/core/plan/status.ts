/** What one says of a plan's task from outside: its status, whether it can be restarted, how its phases went. */
import type { LoopEvent } from '../event.ts';
import type { Reason } from '../machine.ts';
import { isEnded, type Task } from '../task.ts';
import { PHASES, type Phase } from './phase.ts';

export type LoopStatus = 'running' | 'completed' | 'cancelled' | 'stalled' | 'errored';

const CANCELLED: readonly Reason[] = ['cancelled', 'operator_abandon'];

/** Each reason is of exactly one status. */
export function statusOfReason(reason: Reason): LoopStatus {
  if (CANCELLED.includes(reason)) return 'cancelled';
  return reason === 'stall_timeout' ? 'stalled' : 'errored';
}

export function loopStatus({ state, reason }: Pick<Task, 'state' | 'reason'>): LoopStatus {
  if (state === 'completed' || state === 'merged') return 'completed';
  return state === 'abandoned' ? statusOfReason(reason ?? 'cancelled') : 'running';
}

export interface Restartability {
  restartable: boolean;
  needsForce: boolean;
  /** Why not, or why only so. */
  blocked: 'completed' | 'missing_worktree' | 'lost_worktree' | 'active' | null;
}

interface Around {
  /** A runner is at work on it. */
  isOwned: boolean;
  /** `usable`: there, or never made. `missing`: it can be made anew from its branch. `lost`: it can't be used, nor made anew. */
  worktree: 'usable' | 'missing' | 'lost';
}

export function restartability(task: Task, { isOwned, worktree }: Around): Restartability {
  if (loopStatus(task) === 'completed')
    return { restartable: false, needsForce: false, blocked: 'completed' };
  if (worktree !== 'usable')
    return { restartable: false, needsForce: false, blocked: `${worktree}_worktree` };
  const isActive = !isEnded(task) && (isOwned || task.state === 'queued');
  return { restartable: true, needsForce: isActive, blocked: isActive ? 'active' : null };
}

/** `next`: the next milestone is coded; from `auditing` to `coding` one goes back. */
type PhaseEdge = `${Phase}→${Phase | 'delivered' | 'next'}`;

/** How often each way between two phases was taken. */
export function phaseCounts(events: readonly LoopEvent[]): Partial<Record<PhaseEdge, number>> {
  const counts: Partial<Record<PhaseEdge, number>> = {};
  let at: { phase: Phase; milestone: number } = { phase: 'coding', milestone: 0 };
  for (const one of events) {
    if (one.type !== 'phase_entered') continue;
    const { phase, milestone } = one.data;
    const edge: PhaseEdge = `${at.phase}→${milestone === at.milestone ? phase : 'next'}`;
    counts[edge] = (counts[edge] ?? 0) + 1;
    at = { phase: PHASES.find((known) => known === phase) ?? at.phase, milestone };
  }
  return counts;
}
