/** What was spent, as a table with its sums below. */
import type { CostLine } from '../core/cost.ts';
import { clock } from '../core/words/wall-time.ts';
import type { CostView } from '../operations/cost.ts';
import { type Paint, shortTokens, type Terminal, table, width } from './terminal.ts';

export function costText(cost: CostView, { paint, columns }: Terminal): string {
  const { by, lines, total, merged, abandoned, since, billing } = cost;
  if (lines.length === 0)
    return since === null
      ? 'Nothing was spent yet.'
      : `Nothing was spent since ${clock(since).slice(0, 16)}.`;
  const price = billing === 'usd' ? 'cost' : 'list price';
  const head = [by, 'turns', 'in', 'cached', 'out', price, ''].map(paint.dim);
  const body = [...lines, total].map((line) => row(line, paint, line === total));
  const facts = [
    merged.pulls === 0
      ? 'no pull request was merged'
      : `${plural(merged.pulls, 'merged pull request')}: ${usd(merged.perPullUsd, merged.complete)} each, ${usd(merged.allInPerPullUsd, total.complete)} with everything spent beside`,
    `${plural(abandoned.tasks, 'abandoned task')}: ${usd(abandoned.tasks === 0 ? 0 : abandoned.costUsd, abandoned.complete)}${abandoned.share === null ? '' : `, ${percent(abandoned.share)} of ${abandoned.shareOf === 'usd' ? 'the cost' : 'the tokens'}`}`,
    `cache hit ratio: ${total.cacheHitRatio === null ? 'unknown' : percent(total.cacheHitRatio)}`,
    ...(billing === 'usd'
      ? []
      : ['a subscription is not paid by tokens: dollars are what they would cost by list']),
    ...(total.costUsd === null ? [] : [`list prices as of ${cost.pricesAsOf}`]),
    ...(total.unpriced === 0
      ? []
      : [
          `≥: ${shortTokens(total.unpriced)} tokens have no known price; give it under \`prices\` in WORKFLOW.md`,
        ]),
    ...(cost.backlog.waiting === 0 ? [] : [cost.backlog.text]),
    ...(total.complete || total.unpriced > 0 ? [] : ['≥: not everything that was used is known']),
  ];
  return [table(aligned([head, ...body]), columns), '', ...facts].join('\n');
}

function row(line: CostLine, paint: Paint, isTotal: boolean): string[] {
  const least = line.complete ? '' : '≥';
  const cells = [
    line.key,
    `${line.turns}`,
    `${least}${shortTokens(line.input + line.cacheRead + line.cacheWrite)}`,
    line.cacheHitRatio === null ? '-' : percent(line.cacheHitRatio),
    `${least}${shortTokens(line.output + line.reasoning)}`,
    line.costUsd === null ? '?' : usd(line.costUsd, line.complete),
    line.title,
  ];
  return isTotal ? cells.map(paint.bold) : cells;
}

/** Numbers stand below each other by their last digit. */
function aligned(rows: string[][]): string[][] {
  const widest = (at: number): number => Math.max(...rows.map((cells) => width(cells[at] ?? '')));
  return rows.map((cells) =>
    cells.map((cell, at) =>
      at === 0 || at === cells.length - 1 ? cell : ' '.repeat(widest(at) - width(cell)) + cell,
    ),
  );
}

const usd = (amount: number | null, isAll: boolean): string =>
  amount === null ? 'cost unknown' : `${isAll ? '' : '≥'}$${amount.toFixed(2)}`;
const percent = (ratio: number): string => `${Math.round(ratio * 100)} %`;
const plural = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;
