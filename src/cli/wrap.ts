/** Long texts in a terminal: broken between words, and below where they began. */
import { table, width } from './terminal.ts';

/** Narrower than this nothing can be read. */
const LEAST = 20;
const STACKED_INDENT = 4;

/** A table whose last column is wrapped where it would pass the edge; below the others where there is no room beside them. */
export function wrappedTable(rows: readonly (readonly string[])[], columns: number | null): string {
  if (columns === null) return table(rows);
  const lead = (row: readonly string[]): readonly string[] => row.slice(0, -1);
  const widths = (rows[0] ?? []).map((_, at) => Math.max(...rows.map((row) => width(lead(row)[at] ?? ''))));
  const beside = widths.slice(0, -1).reduce((sum, one) => sum + one + 2, 0);
  const isStacked = columns - beside < LEAST;
  const indent = isStacked ? STACKED_INDENT : beside;
  return rows
    .map((row) => {
      const before = lead(row)
        .map((cell, at) => `${cell}${' '.repeat(widths[at]! - width(cell))}  `)
        .join('');
      const lines = wrap(row.at(-1) ?? '', Math.max(columns - indent, LEAST));
      if (isStacked && before.trim() !== '') lines.unshift('');
      return lines.map((line, at) => `${at === 0 ? before : ' '.repeat(indent)}${line}`.trimEnd()).join('\n');
    })
    .join('\n');
}

/** A paragraph; what follows its first line is indented by as much as `hang` takes. */
export function wrapped(text: string, columns: number | null, hang = 0): string {
  if (columns === null) return text;
  const [first = '', ...rest] = wrap(text, Math.max(columns - hang, LEAST));
  return [first, ...rest.map((line) => `${' '.repeat(hang)}${line}`)].join('\n');
}

/** A word that is longer than a line has one of its own: a path is to be copied. */
function wrap(text: string, room: number): string[] {
  return text.split('\n').flatMap((paragraph) => {
    const lines: string[] = [];
    let line = '';
    for (const word of paragraph.split(' ')) {
      if (line !== '' && width(line) + 1 + width(word) > room) {
        lines.push(line);
        line = word;
      } else line = line === '' ? word : `${line} ${word}`;
    }
    return [...lines, line];
  });
}
