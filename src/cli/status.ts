/** The snapshot as people see it: once, or drawn again whenever it changes. */
import { turnName } from '../core/role.ts';
import type { Paint } from '../core/words/paint.ts';
import { shortSha } from '../core/words/short-sha.ts';
import { skippedText } from '../core/words/skipped.ts';
import { timeOf } from '../core/words/wall-time.ts';
import { follow } from '../operations/follow.ts';
import { perform } from '../operations.ts';
import type { Snapshot, TaskView } from '../view.ts';
import type { Session } from './commands.ts';
import { cut, table, width, wrapped } from './layout.ts';
import { shortTokens, type Terminal, untilInterrupted } from './terminal.ts';

export async function showStatus({ context, terminal }: Session, all: boolean): Promise<number> {
  const now = await perform(context, 'status', { all });
  terminal.print(terminal.json ? JSON.stringify(now, null, 2) : statusText(now, terminal, all));
  return 0;
}

const LOOK_EVERY_MS = 1000;

export async function watchStatus({ context, terminal }: Session): Promise<number> {
  const isDrawn = terminal.isTty && !terminal.json;
  const show = isDrawn ? terminal.redraw : terminal.print;
  let shown = '';
  for await (const now of follow(() => perform(context, 'status'), LOOK_EVERY_MS, untilInterrupted())) {
    const text = terminal.json ? JSON.stringify(now) : statusText(now, terminal);
    const screen = isDrawn ? fitting(text, process.stdout) : text;
    if (screen !== shown) show(screen);
    shown = screen;
  }
  return 0;
}

/** Never higher than the screen: what is on top is what one looks for, and drawing it again would scroll it away. */
export function fitting(text: string, { rows, columns }: { rows?: number; columns?: number }): string {
  const lines = wrapped(text, columns ?? null, 2)
    .split('\n')
    .map((line) => (columns ? cut(line, columns) : line));
  // The cursor stands on a line of its own.
  const room = (rows || Number.POSITIVE_INFINITY) - 1;
  if (lines.length <= room) return lines.join('\n');
  const shown = lines.slice(0, Math.max(1, room - 1));
  const more = `… ${lines.length - shown.length} more: forge-loop status`;
  return [...shown, columns ? cut(more, columns) : more].join('\n');
}

const ENDED_SHOWN = 10;

export function statusText(now: Snapshot, { paint, columns }: Terminal, all = false): string {
  const alive = now.runners.filter((runner) => runner.alive);
  const dead = now.runners.filter((runner) => !runner.alive);
  const head = [
    alive.length > 0
      ? paint.green(
          `${alive.length === 1 ? 'runner' : 'runners'} ${alive.map((runner) => runner.pid).join(', ')}`,
        )
      : paint.yellow('no runner is running'),
    `slots ${now.slots.used}/${now.slots.max}`,
    ...(now.backlog.full ? [paint.yellow(`no new work yet: ${now.backlog.text}`)] : []),
    ...(now.paused ? [paint.yellow(`paused by ${now.paused}`)] : []),
    ...(now.stopRequested ? [paint.yellow(stoppingText(now))] : []),
  ];
  const live = now.tasks.filter((task) => task.endedAt === null);
  const ended = now.tasks
    .filter((task) => task.endedAt !== null)
    .sort((a, b) => b.endedAt!.localeCompare(a.endedAt!));
  const endedShown = all ? ended : ended.slice(0, ENDED_SHOWN);
  const shown = [...live, ...endedShown];
  const more = now.endedLeftOut + ended.length - endedShown.length;
  return [
    head.join(' · '),
    ...now.errands,
    ...waitLines(now, paint),
    ...now.limitWindows.map(({ text }) => paint.dim(text)),
    ...(now.configProblem ? [`${paint.red('config:')} ${now.configProblem}`] : []),
    ...now.unreadable.map((what) => paint.yellow(skippedText([what]))),
    ...(dead.length > 0
      ? [
          paint.yellow(
            `${dead.length} dead runner${dead.length === 1 ? '' : 's'} left leases: the next run takes over`,
          ),
        ]
      : []),
    '',
    now.tasks.length === 0
      ? paint.dim('No tasks yet. `forge-loop why` says what the loop waits for.')
      : tasksText(shown, { paint, columns }, now.billing),
    ...unpricedLines(shown, now.billing, paint),
    ...(more > 0 ? [paint.dim(`and ${more} more ended: forge-loop status --all`)] : []),
  ].join('\n');
}

/** Money that is counted in no sum and kept by no budget of dollars. */
function unpricedLines(tasks: readonly TaskView[], billing: Snapshot['billing'], paint: Paint): string[] {
  const tokens = tasks.reduce((sum, task) => sum + task.unpricedTokens, 0);
  if (tokens === 0 || billing !== 'usd') return [];
  return [
    paint.yellow(
      `≥: ${shortTokens(tokens)} tokens have no known price; give it under \`prices\` in WORKFLOW.md`,
    ),
  ];
}

const stoppingText = ({ atWork }: Snapshot): string =>
  atWork.length > 0 ? `stopping, waits for ${atWork.join(', ')}` : 'stopping';

/** Who paused it stands above; the deploy has a line of its own unless the loop waits for it. */
function waitLines({ waits, deploy }: Snapshot, paint: Paint): string[] {
  const isAwaited = waits.some(({ reason }) => reason === 'deploy_failed');
  return [
    ...(deploy && !isAwaited ? [deployLine(deploy, paint)] : []),
    ...waits.filter(({ reason }) => reason !== 'operator_pause').map(({ text }) => paint.yellow(text)),
  ];
}

function deployLine({ last }: NonNullable<Snapshot['deploy']>, paint: Paint): string {
  const text = `deploy of ${shortSha(last.sha)} ${last.status}${last.problem ? `: ${last.problem}` : ''}`;
  return last.problem ? paint.yellow(text) : paint.dim(text);
}

/**
 * A table where there is room for one, else each task in a few lines: why it stands where it does is never cut, since it
 * is what one looks for.
 */
export function tasksText(
  tasks: readonly TaskView[],
  { paint, columns }: Pick<Terminal, 'paint' | 'columns'>,
  billing: Snapshot['billing'] = 'usd',
): string {
  const rows = tasks.map((task) => taskRow(task, paint, billing));
  if (columns !== null && columns < NARROW)
    return rows.flatMap((row, at) => stacked(row, tasks[at]!.title, billing, columns)).join('\n');
  const spent = billing === 'usd' ? 'COST' : 'TOKENS';
  const header = ['TASK', 'ISSUE', 'STATE', 'TURNS', 'ROUNDS', spent, 'TITLE', 'WHY'].map(paint.dim);
  const whole = table([header, ...rows]);
  if (columns === null || whole.split('\n').every((line) => width(line) <= columns)) return whole;
  const indent = ' '.repeat(Math.max(...rows.map(([id = '']) => width(id))) + 2);
  const [head, ...lines] = table(
    [header.slice(0, -1), ...rows.map((row, at) => [...row.slice(0, -2), tasks[at]!.title])],
    columns,
  ).split('\n');
  return [
    head,
    ...lines.flatMap((line, at) => [line, wrapped(`${indent}${rows[at]!.at(-1)}`, columns)]),
  ].join('\n');
}

const NARROW = 72;

function stacked(
  row: readonly string[],
  fullTitle: string,
  billing: Snapshot['billing'],
  columns: number,
): string[] {
  const [id, issue, state, turns, , spent, , why] = row;
  const used = billing === 'usd' ? spent : `${spent} tokens`;
  return [
    cut(`${issue} ${state}`, columns),
    cut(`  ${fullTitle}`, columns),
    wrapped(`  ${why}`, columns),
    cut(`  ${id}, ${turns} turns, ${used}`, columns),
  ];
}

function taskRow(task: TaskView, paint: Paint, billing: Snapshot['billing']): string[] {
  return [
    task.id,
    paint.bold(task.attempt > 1 ? `${task.name} (${task.attempt})` : task.name),
    stateText(task, paint),
    `${task.turns}/${task.maxTurns}`,
    `${task.criticRounds}`,
    spentText(task, billing),
    cut(task.title, 40),
    whyText(task),
  ];
}

function spentText({ costUsd, tokens, spendComplete }: TaskView, billing: Snapshot['billing']): string {
  const least = spendComplete ? '' : '≥';
  if (billing === 'subscription') return tokens === null ? '?' : `${least}${shortTokens(tokens)}`;
  return costUsd === null ? '?' : `${least}$${costUsd.toFixed(2)}`;
}

function stateText(task: TaskView, paint: Paint): string {
  if (task.state === 'merged' || task.state === 'completed') return paint.green(task.state);
  if (task.state === 'abandoned') return paint.red(task.reason ?? task.state);
  if (task.interrupted) return paint.yellow(`${task.state}, interrupted`);
  return task.hold ? paint.yellow(`${task.state}, held`) : paint.cyan(task.state);
}

/** What it does or waits for, in one line, without the name of its state. */
export function whyText(task: TaskView): string {
  const text = task.hold
    ? task.hold.text
    : task.turn
      ? `${turnName(task.turn)} since ${timeOf(Date.parse(task.turn.startedAt))}${task.turn.doing ? `, ${task.turn.doing}` : ''}`
      : (restText(task) ?? task.why);
  return text.split('\n', 1)[0]!;
}

/** The state stands in a column of its own. */
const restText = ({ state, rests }: TaskView): string | null =>
  rests?.startsWith(`${state}: `) ? rests.slice(state.length + 2) : rests;
