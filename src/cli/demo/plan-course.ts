/** The course the plan of the demo took, read from what was recorded. */
import type { Context } from '../../context.ts';
import type { PromptKind } from '../../core/event.ts';
import type { LoopStatus } from '../../core/plan/status.ts';
import type { LoopDetail } from '../../operations/loop-status.ts';
import { dataOf } from './course.ts';

export interface PlanCourse {
  status: LoopStatus;
  /** By the prompt each turn began with. */
  turns: PromptKind[];
  audits: ('clean' | 'dirty')[];
  /** Milestones that an auditor worded anew. */
  amended: number[];
  /** Subjects of the commits on its branch, the oldest first. */
  commits: string[];
  /** Findings. */
  open: number;
  summary: string | null;
}

export async function planCourse(context: Context, loop: LoopDetail): Promise<PlanCourse> {
  const store = (await context.reading())!;
  const events = await store.events({ task: loop.task.id });
  const { stdout } = await context.git([
    'log',
    '--reverse',
    '--format=%s',
    `HEAD..${loop.task.branch}`,
    '--',
  ]);
  return {
    status: loop.status,
    turns: dataOf(events, 'turn_started').map(({ prompt }) => prompt),
    audits: dataOf(events, 'audit_recorded').map(({ isClean }) => (isClean ? 'clean' : 'dirty')),
    amended: loop.amendments.map(({ milestone }) => milestone + 1),
    commits: stdout.split('\n').filter(Boolean),
    open: loop.open.length,
    summary: loop.completionSummary,
  };
}
