/** `run --dry-run`: what a run would take up, in order, and what it would leave. */

import type { Result } from '../operations.ts';
import { perform } from '../operations.ts';
import type { Session } from './commands.ts';
import { wrapped, wrappedTable } from './layout.ts';
import type { Terminal } from './terminal.ts';

export async function showDryRun(
  { context, terminal }: Session,
  takes: { only?: number[] | undefined; most?: number | undefined },
): Promise<number> {
  const planned = await perform(context, 'run.preview', { ...takes });
  terminal.print(terminal.json ? JSON.stringify(planned, null, 2) : previewText(planned, terminal));
  return 0;
}

export function previewText(
  { loop, takes, others }: Result<'run.preview'>,
  { paint, columns }: Pick<Terminal, 'paint' | 'columns'>,
): string {
  return [
    ...loop.map((reason) => wrapped(`${paint.yellow('loop')}  ${reason}`, columns, 6)),
    takes.length === 0 ? 'Nothing would start.' : paint.bold('Would start, in this order:'),
    ...(takes.length === 0
      ? []
      : [
          wrappedTable(
            takes.map(({ issue, title, now }) => [
              `  ${paint.bold(`#${issue}`)}`,
              now ? title : `${title}${paint.dim(': when a slot is free')}`,
            ]),
            columns,
          ),
        ]),
    ...(others.length === 0
      ? []
      : [
          paint.bold('Would not start:'),
          wrappedTable(
            others.map(({ name, title, why }) => [
              `  ${paint.bold(name)}`,
              `${title ? `${title}${paint.dim(':')} ` : ''}${why}`,
            ]),
            columns,
          ),
        ]),
    paint.dim('Nothing was changed.'),
  ].join('\n');
}
