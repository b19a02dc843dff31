/** Plans, for people. */
import type { LintProblem } from '../core/plan/lint.ts';
import type { PlanSource, StoredPlan } from '../core/plan/stored.ts';
import type { Paint } from '../core/words/paint.ts';
import { clock } from '../core/words/wall-time.ts';
import { count } from '../core/words/words.ts';
import type { Result } from '../operations.ts';
import { table } from './layout.ts';
import type { Terminal } from './terminal.ts';

export const newPlanText = ({ path }: Result<'plan.new'>): string =>
  `Wrote ${path}. Fill it in, then check it with \`forge-loop plan lint\`.`;

/** Each problem begins as compilers have it, so that editors find the place. */
export function lintedPlanText(
  { file, title, milestones, problems }: Result<'plan.lint'>,
  { paint }: Terminal,
): string {
  const errors = problems.filter(({ severity }) => severity === 'error').length;
  const holds = title === null ? '' : `${paint.bold(title)}: ${count(milestones.length, 'milestone')}, `;
  const sum =
    problems.length === 0
      ? paint.green('nothing is missing')
      : `${count(errors, 'error')}, ${count(problems.length - errors, 'warning')}`;
  return [...problems.flatMap((one) => problemLines(file, one, paint)), `${holds}${sum}`].join('\n');
}

/** Of a text without a file, the place is its line alone. */
export function problemLines(
  file: string | null,
  { severity, line, problem, advice }: LintProblem,
  paint: Paint,
): string[] {
  const colour = { error: paint.red, warning: paint.yellow }[severity];
  const at = file === null ? (line === null ? null : `line ${line}`) : placeIn(file, line);
  return [`${at === null ? '' : `${at}: `}${colour(severity)}: ${problem}`, `  ${paint.cyan('→')} ${advice}`];
}

const placeIn = (file: string, line: number | null): string => (line === null ? file : `${file}:${line}`);

/** Where a stored plan is from. */
export function sourceText({ source }: { source: PlanSource }): string {
  switch (source.kind) {
    case 'captured':
      return `captured from the ${source.role} of task ${source.task}, turn ${source.turn}`;
    case 'draft':
      return `drafted from #${source.issue}`;
    case 'edited':
      return `edited from ${source.from}`;
    case 'file':
      return `from ${source.file}`;
    default:
      return source satisfies never;
  }
}

const coloured = (status: StoredPlan['status'], paint: Paint): string =>
  ({ captured: paint.cyan, draft: paint.yellow, approved: paint.green, archived: paint.dim })[status](status);

export function plansText(plans: Result<'plan.list'>, { paint, columns }: Terminal): string {
  if (plans.length === 0)
    return 'No plans are kept. `forge-loop plan draft <issue>` lets one be written, `plan new` begins a file.';
  const header = ['PLAN', 'ID', 'STATUS', 'MILESTONES', 'FROM', 'STARTED AS'].map(paint.dim);
  const rows = plans.map((plan) => [
    paint.bold(plan.name),
    plan.id,
    coloured(plan.status, paint),
    `${plan.milestones.length}`,
    sourceText(plan),
    plan.loops.join(', ') || '-',
  ]);
  return table([header, ...rows], columns);
}

/** What is known about it first, then its text alone, as a file would have it. */
export function planText(plan: Result<'plan.show'>, { paint }: Terminal): string {
  const { id, name, title, status, by, changedAt, loops, problems, text } = plan;
  return [
    paint.bold(`${title} (${name}, ${id})`),
    `${coloured(status, paint)} since ${clock(changedAt)}, by ${by}; ${sourceText(plan)}`,
    ...(loops.length > 0 ? [`Started as ${loops.join(', ')}.`] : []),
    ...problems.flatMap((one) => problemLines(name, one, paint)),
    '',
    text,
  ].join('\n');
}

export function editedPlanText({ name, id, replaces }: Result<'plan.edit'>): string {
  if (replaces === null) return `Nothing changed: the plan ${name} (${id}) has this text.`;
  return [
    `Stored the plan ${name} (${id}) as a draft; the text before (${replaces}) is archived.`,
    `Approve it with \`forge-loop plan approve ${id}\`.`,
  ].join('\n');
}
