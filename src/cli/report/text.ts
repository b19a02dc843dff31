/** A report for the terminal. */
import type { Report } from '../../operations/report.ts';
import { aligned } from '../cost-text.ts';
import { cut, table, wrapped } from '../layout.ts';
import type { Terminal } from '../terminal.ts';
import { type Page, pageOf } from './page.ts';

export function reportText(report: Report, { paint, columns }: Terminal): string {
  const { title, period, summary, sections, timeline, costs, notes } = pageOf(report);
  const blocks = [
    [paint.bold(title), paint.dim(period), summary],
    ...sections.map(({ heading, lines }) => [
      paint.bold(heading),
      ...lines.flatMap(({ name, title, text, advice }) => [
        wrapped(`  ${name}${title ? ` ${title}` : ''}${paint.dim(':')} ${text}`, columns, 5),
        ...(advice ? [wrapped(`     ${paint.dim(advice)}`, columns, 5)] : []),
      ]),
    ]),
    ...(timeline.length > 0
      ? [
          [
            paint.bold('Time'),
            table(
              timeline.map((row) => timeRow(row)),
              columns,
            ),
          ],
        ]
      : []),
    ...(costs.length > 0
      ? [
          [
            paint.bold('Cost'),
            table(
              aligned(
                costs.map(({ role, cost, detail }) => ['', role, cost, detail]),
                2,
                3,
              ),
              columns,
            ),
          ],
        ]
      : []),
    ...(notes.length > 0 ? [notes.map((note) => wrapped(note, columns, 2))] : []),
  ];
  return blocks.map((lines) => lines.join('\n')).join('\n\n');
}

const WIDTH = 40;

function timeRow({ name, title, bars }: Page['timeline'][number]): string[] {
  const cells = Array.from({ length: WIDTH }, (_, at) =>
    bars.some(({ from, length }) => from * WIDTH < at + 1 && (from + length) * WIDTH >= at) ? '#' : '.',
  );
  return ['', name, cells.join(''), cut(title, 40)];
}
