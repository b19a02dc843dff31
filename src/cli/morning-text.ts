/** What came of the night, what a task changes, what was said for it: in the terminal. */
import { shortSha } from '../core/words/short-sha.ts';
import { clock } from '../core/words/wall-time.ts';
import { count, lasting } from '../core/words/words.ts';
import type { Result } from '../operations.ts';
import { usd } from './cost-text.ts';
import { wrapped, wrappedTable } from './layout.ts';
import type { Terminal } from './terminal.ts';

export function morningText(seen: Result<'morning'>, { paint, columns }: Terminal): string {
  const { needsYou, results, waiting, loop, spent } = seen;
  const part = (title: string, rows: string[][]): string[] =>
    rows.length === 0 ? [] : [paint.bold(title), wrappedTable(rows, columns), ''];
  return [
    `${seen.trunk.branch} ${shortSha(seen.trunk.sha, 'without a commit')}`,
    ...loop.map((reason) => wrapped(`${paint.yellow('loop')}  ${reason}`, columns, 6)),
    '',
    ...part(
      `Needs you (${needsYou.length})`,
      needsYou.map(({ name, title, text }) => [
        '',
        name ?? 'loop',
        `${title === null ? '' : `${title}: `}${text}`,
      ]),
    ),
    ...part(
      `Since ${clock(seen.since)} (${count(results.length, 'result')}, ${usd(spent.costUsd, spent.complete)})`,
      results.map((one) => [
        one.mergedSha === null ? paint.red('✗') : paint.green('✓'),
        one.name,
        `${one.title ?? ''}${one.mergedSha === null ? `: ${one.why}` : paint.dim(` ${shortSha(one.mergedSha)}`)}`,
        count(one.turns, 'turn'),
        one.lastedMs === null ? '' : lasting(one.lastedMs),
        usd(one.costUsd, one.complete),
      ]),
    ),
    ...part(
      `Waiting (${waiting.count})`,
      waiting.lines.map(({ name, title, why }) => ['', name, `${title}: ${why}`]),
    ),
  ]
    .join('\n')
    .trimEnd();
}

export function changeText(
  { files, patch, isCut, base, head }: Result<'task.change'>,
  { paint }: Terminal,
): string {
  if (patch !== null) return `${patch.trimEnd()}${isCut ? `\n${paint.dim('… (more)')}` : ''}`;
  if (base === null) return 'Nothing is changed yet.';
  return [
    paint.dim(`${shortSha(base)}..${shortSha(head)}`),
    ...files.map(
      ({ path, added, removed }) => `${paint.green(`+${added}`)} ${paint.red(`-${removed}`)} ${path}`,
    ),
  ].join('\n');
}

export function logText(
  { task, log, logs, text, from, next, bytes }: Result<'task.log'>,
  { paint }: Terminal,
): string {
  if (log === null) return 'Nothing was written yet.';
  const others = logs.filter(({ name }) => name !== log).map(({ name }) => name);
  return [
    text.trimEnd(),
    paint.dim(`${log}: bytes ${from} to ${next} of ${bytes}`),
    ...(log.endsWith('.jsonl') ? [paint.dim(`as text: forge-loop logs ${task}`)] : []),
    ...(others.length > 0 ? [paint.dim(`others: ${others.join(', ')}`)] : []),
  ].join('\n');
}
