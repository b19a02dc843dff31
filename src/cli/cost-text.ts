/** What was spent, as a table with its sums below. */
import type { CostLine } from '../core/money/cost.ts';
import type { Paint } from '../core/words/paint.ts';
import { clock } from '../core/words/wall-time.ts';
import type { CostView } from '../operations/cost.ts';
import { table, width, wrapped } from './layout.ts';
import { shortTokens, type Terminal } from './terminal.ts';

export function costText(cost: CostView, { paint, columns }: Terminal): string {
  const { by, lines, total, merged, abandoned, since, billing } = cost;
  if (lines.length === 0)
    return since === null
      ? 'Nothing was spent yet.'
      : `Nothing was spent since ${clock(since).slice(0, 16)}.`;
  const price = billing === 'usd' ? 'cost' : 'list price';
  const head = [by, 'turns', ...COST_HEADS.slice(0, -1), price, ''].map(paint.dim);
  const body = [...lines, total].map((line) => row(line, paint, line === total));
  const facts = [
    merged.pulls === 0
      ? 'no pull request was merged'
      : `${plural(merged.pulls, 'merged pull request')}: ${usd(merged.perPullUsd, merged.complete)} each, ${usd(merged.allInPerPullUsd, total.complete)} with all other spending`,
    `${plural(abandoned.tasks, 'abandoned task')}: ${usd(abandoned.tasks === 0 ? 0 : abandoned.costUsd, abandoned.complete)}${abandoned.share === null ? '' : `, ${percent(abandoned.share)} of ${abandoned.shareOf === 'usd' ? 'the cost' : 'the tokens'}`}`,
    `cache hit ratio: ${total.cacheHitRatio === null ? 'unknown' : percent(total.cacheHitRatio)}`,
    ...(billing === 'usd' ? [] : ['a subscription is not billed by the token: dollars are list prices']),
    ...(total.costUsd === null ? [] : [`list prices as of ${cost.pricesAsOf}`]),
    ...(total.unpriced === 0
      ? []
      : [
          `≥: ${shortTokens(total.unpriced)} tokens have no known price; give it under \`prices\` in WORKFLOW.md`,
        ]),
    ...(cost.backlog.waiting === 0 ? [] : [cost.backlog.text]),
    ...(total.complete || total.unpriced > 0 ? [] : ['≥: some usage is unknown']),
  ];
  return [table(aligned([head, ...body]), columns), '', ...facts, ...warned(cost, paint, columns)].join('\n');
}

function warned({ by, warnings }: CostView, paint: Paint, columns: number | null): string[] {
  if (warnings.length === 0) return [];
  if (by !== 'turn' && by !== 'round')
    return [
      `${paint.yellow('!')} ${plural(warnings.length, 'warning')} about single turns: \`forge-loop cost --by turn\``,
    ];
  return warnings.map(({ text }) => wrapped(`${paint.yellow('!')} ${text}`, columns, 2));
}

function row(line: CostLine, paint: Paint, isTotal: boolean): string[] {
  const cells = [line.key, `${line.turns}`, ...costCells(line), line.title];
  return isTotal ? cells.map(paint.bold) : cells;
}

/** Nothing was used, or nobody knows what it cost: two things. */
const costCell = ({ costUsd, complete, tokens }: CostLine): string =>
  costUsd === null ? (complete && tokens === 0 ? '-' : 'unknown') : usd(costUsd, complete);

/** What went in, of it from the cache, what came out, and what that cost. */
export const costCells = (line: CostLine): string[] => {
  return [
    atLeast(line.input + line.cacheRead + line.cacheWrite, line.complete),
    line.cacheHitRatio === null ? '-' : percent(line.cacheHitRatio),
    atLeast(line.output + line.reasoning, line.complete),
    costCell(line),
  ];
};

/** Nothing that is known of is not nothing. */
const atLeast = (tokens: number, isAll: boolean): string =>
  isAll ? shortTokens(tokens) : tokens === 0 ? '?' : `≥${shortTokens(tokens)}`;

export const tokensText = (tokens: number | null, isAll: boolean): string =>
  tokens === null || (tokens === 0 && !isAll) ? 'tokens unknown' : `${atLeast(tokens, isAll)} tokens`;

export const COST_HEADS = ['in', 'cached', 'out', 'cost'];

/** Numbers stand below each other by their last digit. */
export function aligned(rows: string[][], from = 1, to = (rows[0]?.length ?? 0) - 1): string[][] {
  const widest = (at: number): number => Math.max(...rows.map((cells) => width(cells[at] ?? '')));
  return rows.map((cells) =>
    cells.map((cell, at) => (at < from || at >= to ? cell : ' '.repeat(widest(at) - width(cell)) + cell)),
  );
}

export const usd = (amount: number | null, isAll: boolean): string =>
  amount === null ? 'cost unknown' : `${isAll ? '' : '≥'}$${amount.toFixed(2)}`;
const percent = (ratio: number): string => `${Math.round(ratio * 100)} %`;
const plural = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;
