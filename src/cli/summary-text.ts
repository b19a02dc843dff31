/** The end of a run for people: what merged, what did not and why, what it cost. Nothing where nothing happened. */
import type { Result } from '../core/tell/results.ts';
import { firstLine } from '../core/text/shortened.ts';
import type { Paint } from '../core/words/paint.ts';
import { shortSha } from '../core/words/short-sha.ts';
import type { RunSummary } from '../operations/run-summary.ts';
import { shortTokens } from './terminal.ts';

/** How far what belongs to a task is indented. */
export const SUMMARY_HANG = 5;

export function summaryLines(summary: RunSummary, paint: Paint): string[] {
  const { merged, completed, notMerged, spent } = summary;
  const failed = notMerged.filter(({ outcome }) => outcome === 'failure');
  const others = notMerged.filter(({ outcome }) => outcome !== 'failure');
  const lines = [
    ...part(paint.green(`Merged: ${merged.length}`), merged.map(mergedLine)),
    ...part(paint.green(`Completed: ${completed.length}`), completed.map(mergedLine)),
    ...part(
      paint.red(`Not merged: ${failed.length}`),
      failed.map((one) => notMergedLine(one, paint)),
    ),
    ...part(
      `Ended without a failure: ${others.length}`,
      others.map((one) => notMergedLine(one, paint)),
    ),
    ...(spent.turns > 0 ? [`Spent: ${spentText(summary)}`] : []),
  ];
  return lines.length > 0 ? ['', ...lines] : [];
}

const part = (head: string, lines: string[]): string[] => (lines.length === 0 ? [] : [head, ...lines]);

const mergedLine = (one: Result): string => `  ${subject(one)}, ${shortSha(one.mergedSha, one.why)}`;

function notMergedLine(one: Result, paint: Paint): string {
  const why = firstLine(one.why, 300);
  return `  ${subject(one)}: ${why} ${paint.dim(`(${one.reason})`)}${one.advice ? `\n${' '.repeat(SUMMARY_HANG)}${one.advice}` : ''}`;
}

const subject = ({ name, title }: Result): string => [name, title].filter(Boolean).join(' ');

function spentText({ spent, billing }: RunSummary): string {
  const { turns, tokens, costUsd, complete } = spent;
  const inTurns = `in ${turns} turn${turns === 1 ? '' : 's'}`;
  if (costUsd === null && tokens === 0 && !complete) return `unknown, ${inTurns}`;
  const least = complete ? '' : 'at least ';
  const used = `${shortTokens(tokens)} tokens`;
  const money = costUsd === null ? 'cost unknown' : `${least}$${costUsd.toFixed(2)}`;
  const parts = billing === 'usd' && costUsd !== null ? [money, used] : [`${least}${used}`, money];
  const price = billing === 'subscription' && costUsd !== null ? ' by list' : '';
  return `${parts.join(', ')}${price}, ${inTurns}`;
}
