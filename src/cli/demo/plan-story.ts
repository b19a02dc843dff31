/** The story of a plan: one milestone is found dirty, one is amended, the whole is audited, and something runs after it. */
import type { Action } from '../../core/action.ts';
import type { LoopEvent } from '../../core/event.ts';
import { isAudit } from '../../core/plan/phase.ts';
import { planTasks } from '../../core/plan/start.ts';
import { isEnded, type Task } from '../../core/task.ts';
import type { LoopDetail } from '../../operations/loop-status.ts';
import { perform } from '../../operations.ts';
import { loopText } from '../loop-text.ts';
import type { BoardRow } from './board.ts';
import { differences } from './course.ts';
import { PLAN_NAME, PLAN_SCRIPT, PLAN_TEXT, PLAN_TOLD } from './plan.ts';
import { type PlanCourse, planCourse } from './plan-course.ts';
import { type Played, type Story, whereToLook } from './story.ts';

export interface PlanReport extends Played {
  ok: boolean;
  course: PlanCourse;
  /** In which points it differs from what was told. */
  differed: string[];
  loop: LoopDetail;
}

export const PLAN_STORY: Story<PlanReport> = {
  title: 'forge-loop demo: a plan of three milestones',
  column: 'MILESTONE',
  scriptFor: () => PLAN_SCRIPT,
  settings: `
loop:
  post_action:
    enabled: true
    prompt: Run the tests once more, and sum up what came of the plan.
`,
  async begin(context) {
    await perform(context, 'loop.start', {
      text: PLAN_TEXT,
      file: 'plan.md',
      mode: 'loop',
      pullRequest: false,
    });
  },
  async board(store, before, now) {
    const [task] = planTasks((await store.tasks()).map((stored) => stored.task));
    if (!task) return [];
    const [pending] = await store.pendingActions(task.id);
    const events = await store.events({ task: task.id });
    return boardOf(task, pending?.action ?? null, events, before, now);
  },
  async report(context, played) {
    const loop = await perform(context, 'loop.show', { loop: PLAN_NAME });
    const course = await planCourse(context, loop);
    const differed = differences(PLAN_TOLD, course);
    return { ok: !played.late && differed.length === 0, ...played, course, differed, loop };
  },
  text(report, scratch, terminal) {
    const { paint } = terminal;
    const took = `${(report.durationMs / 1000).toFixed(1)} s`;
    return [
      loopText(report.loop, terminal),
      '',
      ...report.differed.map((point) => paint.red(`not as told: ${point}`)),
      ...(report.ok
        ? [
            `${paint.green('The plan went as expected')}, in ${took}.`,
            'Only the model was a script, so the costs are made up.',
          ]
        : [
            paint.red(`The plan did not go as expected (${report.late ? `cut short after ${took}` : took}).`),
          ]),
      '',
      ...whereToLook(
        report,
        scratch,
        paint,
        [`loop status ${PLAN_NAME}`, `loop milestone ${PLAN_NAME} 3`, 'events'],
        'demo --plan',
      ),
    ].join('\n');
  },
};

type Planned = Task & { plan: NonNullable<Task['plan']> };

/** A row for each milestone, and one for what concerns the whole. */
function boardOf(
  task: Planned,
  action: Action | null,
  events: readonly LoopEvent[],
  before: readonly BoardRow[],
  now: number,
): BoardRow[] {
  const { plan } = task;
  const isWhole = !isEnded(task) && plan.phase !== 'coding' && plan.phase !== 'auditing';
  const entered = events.flatMap((one) => (one.type === 'phase_entered' ? [one] : []));
  const completed = events.flatMap((one) => (one.type === 'milestone_completed' ? [one] : []));
  const rows = plan.milestones.map((milestone, at): BoardRow => {
    const from = at === 0 ? task.createdAt : entered.find(({ data }) => data.milestone === at)?.at;
    const to = completed.find(({ data }) => data.milestone === at)?.at ?? now;
    const isHere = plan.milestone === at && milestone.done === null && !isWhole;
    const row = {
      number: `${at + 1}.`,
      title: milestone.title,
      turns: milestone.done || isHere ? milestone.attempts + 1 : null,
      elapsedMs: from === undefined ? null : to - from,
    };
    if (milestone.done) return { ...row, state: 'done', doing: milestone.done.done };
    if (!isHere) return { ...row, state: 'to come', doing: '' };
    return { ...row, state: stateOf(task), doing: doingOf(task, action) ?? before[at]?.doing ?? '' };
  });
  const wholeFrom = entered.find(({ data }) => data.phase === 'final_auditing')?.at;
  return [
    ...rows,
    {
      number: '',
      title: 'The whole',
      state: isEnded(task) ? 'done' : isWhole ? stateOf(task) : 'to come',
      turns: null,
      doing: isEnded(task)
        ? task.why
        : isWhole
          ? (doingOf(task, action) ?? before[rows.length]?.doing ?? '')
          : '',
      elapsedMs: wholeFrom === undefined ? null : (task.endedAt ?? now) - wholeFrom,
    },
  ];
}

const stateOf = ({ state, plan }: Planned): string => (state === 'running' ? plan.phase : state);

/** Null between two actions: it is about to go on with something. */
function doingOf({ plan }: Planned, action: Action | null): string | null {
  switch (action?.kind) {
    case 'turn':
      if (isAudit(plan.phase)) return 'the auditor is reading';
      if (plan.phase === 'post_action') return 'summing up';
      return plan.milestones[plan.milestone]?.attempts ? 'fixing what the audit found' : 'writing code';
    case 'gate':
      return 'gate';
    case 'prepare_workspace':
      return 'preparing its work tree';
    case 'checkpoint':
    case 'seal':
      return 'saving its work';
    default:
      return null;
  }
}
