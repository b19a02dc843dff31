/** Loops as people see them: the list, one in full, and the answers to what was asked of one. */

import type { Paint } from '../core/words/paint.ts';
import { shortSha } from '../core/words/short-sha.ts';
import { clock } from '../core/words/wall-time.ts';
import { count } from '../core/words/words.ts';
import { follow } from '../operations/follow.ts';
import type { CostLine, LoopDetail, LoopView, UsageLine } from '../operations/loop-status.ts';
import { perform } from '../operations.ts';
import type { Session } from './commands.ts';
import { tokensText } from './cost-text.ts';
import { cut, table, width } from './layout.ts';
import { shortTokens, type Terminal, untilInterrupted } from './terminal.ts';

interface Shown {
  name: string | undefined;
  all: boolean;
  watch: boolean;
}

export async function showLoopStatus({ context, terminal }: Session, shown: Shown): Promise<number> {
  const { name, all, watch } = shown;
  const look = async (): Promise<string> => {
    if (name === undefined) {
      const loops = await perform(context, 'loop.list', { all });
      return terminal.json ? JSON.stringify(loops, null, 2) : loopsText(loops, terminal);
    }
    const loop = await perform(context, 'loop.show', { loop: name });
    return terminal.json ? JSON.stringify(loop, null, 2) : loopText(loop, terminal);
  };
  if (!watch) {
    terminal.print(await look());
    return 0;
  }
  const show = terminal.isTty && !terminal.json ? terminal.redraw : terminal.print;
  let last = '';
  for await (const text of follow(look, LOOK_EVERY_MS, untilInterrupted())) {
    if (text !== last) show(text);
    last = text;
  }
  return 0;
}

const LOOK_EVERY_MS = 1000;

export function loopsText(loops: readonly LoopView[], { paint, columns }: Terminal): string {
  if (loops.length === 0) return 'No loops yet. `forge-loop loop start plan.md` starts one.';
  const header = ['LOOP', 'STATUS', 'MILESTONES', 'ITERATION', 'AUDITS', 'BUGS/WARNINGS', 'COST', 'WHERE'];
  const rows = loops.map((loop) => [
    paint.bold(loop.name),
    statusText(loop, paint),
    loop.milestones.total === 0 ? '-' : `${loop.milestones.done}/${loop.milestones.total}`,
    ...(isAudited(loop) ? [iterationText(loop), auditsText(loop), findingsText(loop)] : ['-', '-', '-']),
    costText(loop.task.costUsd, loop.task.spendComplete),
    firstLine(whereText(loop)),
  ]);
  const [head, ...lines] = table([header.map(paint.dim), ...rows], columns).split('\n');
  const below = loops.map((loop) =>
    belowText(loop).map((line) => paint.dim(columns === null ? line : cut(line, columns))),
  );
  return [head, ...lines.flatMap((line, at) => [line, ...below[at]!])].join('\n');
}

/** What it cost by role and model, and what its post action summed up. */
function belowText({ cost, completionSummary }: LoopView): string[] {
  const costs = cost.map(({ role, model, costUsd }) => `${role} ${model} ${costText(costUsd)}`);
  const summary = firstLine(completionSummary?.trim() ?? '');
  return [
    ...(costs.length === 0 ? [] : [`  cost: ${costs.join(', ')}`]),
    ...(summary === '' ? [] : [`  summary: ${summary}`]),
  ];
}

const firstLine = (text: string): string => text.split('\n', 1)[0]!;

const findingsText = ({ findings }: LoopView): string => `${findings.bugs}/${findings.warnings}`;

/** How many, and what came of the last one. */
const auditsText = ({ audits, auditVerdict }: LoopView): string =>
  auditVerdict === null ? `${audits}` : `${audits}: ${auditVerdict.toLowerCase().replace(/\.$/, '')}`;

const iterationText = ({ iteration, maxIterations }: LoopView): string =>
  maxIterations === null ? `${iteration}` : `${iteration}/${maxIterations}`;

const costText = (usd: number | null, isComplete = true): string =>
  usd === null ? '?' : `${isComplete ? '' : '≥'}$${usd.toFixed(2)}`;

const spentText = ({ task, budgetUsd }: LoopView): string =>
  `${costText(task.costUsd, task.spendComplete)}${budgetUsd === null ? '' : ` of at most ${costText(budgetUsd)}`}`;

function whereText({ task, place, status }: LoopView): string {
  if (status !== 'running') return firstLine(task.why);
  if (task.hold) return `${place}; ${task.hold.text}`;
  return task.atWork ? `${place}; ${task.atWork}` : place;
}

function statusText({ status, outcome, task }: LoopView, paint: Paint): string {
  if (status === 'completed') return paint.green(status);
  if (status === 'errored' || status === 'stalled')
    return paint.red(`${status} (${outcome}: ${task.reason})`);
  if (status === 'cancelled') return paint.yellow(`${status} (${outcome})`);
  if (task.interrupted) return paint.yellow('interrupted');
  return task.hold ? paint.yellow('held') : paint.cyan(task.state === 'running' ? status : task.state);
}

export function loopText(loop: LoopDetail, { paint, columns }: Terminal): string {
  const { task, plan } = loop;
  const facts: [string, string | null][] = [
    ['status', `${statusText(loop, paint)}: ${whereText(loop)}`],
    ['started by', `${loop.startedBy}${task.startedAt ? ` at ${clock(task.startedAt)}` : ''}`],
    ['delivers', loop.delivers === 'pull' ? pullText(loop) : `branch ${task.branch}`],
    [isAudited(loop) ? 'iteration' : 'turns', courseText(loop)],
    [
      'findings',
      isAudited(loop)
        ? `${count(loop.findings.bugs, 'open bug')}, ${count(loop.findings.warnings, 'warning')}`
        : null,
    ],
    ['warnings', loop.warnings.join('; ')],
    ['sandbox', loop.sandbox],
    ['spent', `${spentText(loop)}, ${tokensText(task.tokens, task.spendComplete)}`],
    ['post action', loop.notActed ? `was not begun: ${loop.notActed}` : tookBackText(loop)],
    ['checkout', checkoutText(loop)],
    ['worktree', task.workspace],
    ['restart', loop.restart.says],
  ];
  const milestones = plan.map(({ number, title, done, attempts }) => [
    '',
    done ? paint.green('✓') : number === loop.milestone && loop.status === 'running' ? paint.cyan('▸') : '·',
    `${number}. ${title}`,
    attempts > 0 ? paint.dim(`${count(attempts, 'dirty audit')}`) : '',
    done?.commit ? paint.dim(shortSha(done.commit)) : '',
  ]);
  const open = loop.open.map((one) => [
    '',
    one.id,
    one.severity === 'sev3' ? 'warning' : 'bug',
    `${one.file ?? ''}${one.line ? `:${one.line}` : ''}`,
    one.message,
  ]);
  return [
    `${paint.bold(loop.name)}  ${task.title}`,
    table(
      facts.filter(([, value]) => value).map(([name, value]) => [paint.dim(name), value!]),
      columns,
    ),
    ...(milestones.length ? [paint.dim('milestones'), table(milestones, columns)] : []),
    paint.dim('phases'),
    graphText(loop, columns),
    ...(open.length ? [paint.dim('open findings'), table(open, columns)] : []),
    ...(loop.amendments.length
      ? [
          paint.dim('amended'),
          ...loop.amendments.map(({ milestone, rationale }) => `  milestone ${milestone + 1}: ${rationale}`),
        ]
      : []),
    ...(loop.cost.length ? [paint.dim('cost'), costsText(loop.cost, paint, columns)] : []),
    ...(loop.usage.length ? [paint.dim('sessions'), sessionsText(loop, paint, columns)] : []),
    ...(loop.lastAudit ? [paint.dim('last audit'), indented(loop.lastAudit)] : []),
    ...(loop.completionSummary ? [paint.dim('summary'), indented(loop.completionSummary)] : []),
  ].join('\n');
}

const isAudited = ({ mode }: LoopView): boolean => mode === 'loop';

function courseText(loop: LoopDetail): string {
  const { turns, audits, plan, task } = loop;
  const most = `at most ${task.maxTurns}${plan.length === 0 ? '' : ' a milestone'}`;
  if (!isAudited(loop)) return `${turns} (${most})`;
  return `${iterationText(loop)}, ${count(audits, 'audit')}, ${count(turns, 'turn')} (${most})`;
}

const tookBackText = ({ tookBack, task }: LoopDetail): string | null =>
  tookBack &&
  `${tookBack}; what it did is kept below refs/forge/${task.id}/kept until \`forge-loop loop sweep\``;

function checkoutText({ checkout, task }: LoopDetail): string | null {
  if (!checkout) return null;
  if (checkout.problem === null) return `yours was switched to ${task.branch}`;
  return `yours was left as it is (${checkout.problem}): \`git switch ${task.branch}\``;
}

const NEWEST_SESSIONS = 10;

function sessionsText({ usage, name }: LoopDetail, paint: Paint, columns: number | null): string {
  const earlier = usage.length - NEWEST_SESSIONS;
  const table = usageText(usage.slice(-NEWEST_SESSIONS), paint, columns);
  return earlier > 0
    ? `${table}\n  ${count(earlier, 'earlier session')}: \`forge-loop loop status ${name} --json\``
    : table;
}

const pullText = ({ task }: LoopDetail): string =>
  task.pull === null ? 'a pull request' : `pull request #${task.pull}`;

const indented = (text: string): string =>
  text
    .split('\n')
    .map((line) => `  ${line}`)
    .join('\n');

/** The ways between the phases, with how often each was taken. */
function graphText(loop: LoopDetail, columns: number | null): string {
  const { phases, plan } = loop;
  if (!isAudited(loop)) return `  coding ──${loop.status === 'completed' ? 1 : 0}─▶ done`;
  const times = (edge: string): number => phases[edge] ?? 0;
  const way = (from: string, to: string): string =>
    `─${`${times(`${from}→${to}`)}`.padStart(2, '─')}─▶ ${to === 'delivered' ? 'done' : to}`;
  // Without milestones there is one audit: that of the whole.
  const isWhole = plan.length > 0;
  const last = isWhole ? 'final_auditing' : 'auditing';
  const line = [
    'coding',
    way('coding', 'auditing'),
    ...(isWhole ? [way('auditing', last)] : []),
    ...(phases[`${last}→post_action`] === undefined
      ? [way(last, 'delivered')]
      : [way(last, 'post_action'), way('post_action', 'delivered')]),
  ];
  return [
    ...wrapped(line, columns),
    ...(isWhole ? [`auditing → next milestone ${times('auditing→next')}`] : []),
    `auditing → coding again ${times('auditing→coding')}`,
    ...(isWhole
      ? [
          `final_auditing → final_audit_fix ${times('final_auditing→final_audit_fix')}, and back ${times('final_audit_fix→final_auditing')}`,
        ]
      : []),
  ]
    .map((text) => `  ${text}`)
    .join('\n');
}

/** On as many lines as it takes; a part is never broken. */
function wrapped(parts: readonly string[], columns: number | null): string[] {
  const lines: string[] = [];
  for (const part of parts) {
    const last = lines.at(-1);
    if (last !== undefined && (columns === null || width(`  ${last} ${part}`) <= columns))
      lines[lines.length - 1] = `${last} ${part}`;
    else lines.push(last === undefined ? part : `  ${part}`);
  }
  return lines;
}

const AMOUNTS = ['COST', 'MESSAGES', 'IN', 'OUT', 'REASONING', 'CACHE READ', 'WRITE'];
const amounts = (one: UsageLine | CostLine): string[] => [
  costText(one.costUsd),
  `${one.messages}`,
  ...[one.input, one.output, one.reasoning, one.cacheRead, one.cacheWrite].map(shortTokens),
];

function costsText(cost: readonly CostLine[], paint: Paint, columns: number | null): string {
  const header = ['', 'ROLE', 'MODEL', 'SESSIONS', ...AMOUNTS].map(paint.dim);
  const rows = cost.map((one) => ['', one.role, one.model, `${one.sessions}`, ...amounts(one)]);
  return table([header, ...rows], columns);
}

function usageText(usage: readonly UsageLine[], paint: Paint, columns: number | null): string {
  const header = ['', 'ROLE', 'SESSION', 'MODEL', ...AMOUNTS].map(paint.dim);
  const rows = usage.map((one) => ['', one.role, one.sessionId.slice(0, 8), one.model, ...amounts(one)]);
  return table([header, ...rows], columns);
}
