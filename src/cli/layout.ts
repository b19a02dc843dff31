/** Text on a screen: tables that align, long texts broken between words and below where they began. */
import sliceAnsi from 'slice-ansi';
import stringWidth from 'string-width';

/** Columns as wide as their widest cell; the last is cut at the edge of the terminal. */
export function table(rows: readonly (readonly string[])[], columns: number | null = null): string {
  const widths: number[] = [];
  for (const row of rows)
    row.slice(0, -1).forEach((cell, at) => {
      widths[at] = Math.max(widths[at] ?? 0, width(cell));
    });
  return rows
    .map((row) => {
      const cells = row.map((cell, at) =>
        at === row.length - 1 ? cell : cell + ' '.repeat(widths[at]! - width(cell)),
      );
      const line = cells.join('  ').trimEnd();
      return columns === null ? line : cut(line, columns);
    })
    .join('\n');
}

/** The same without those of its columns that it has no room for; `spare` are the first to go, in this order. */
export function tableWithout(
  rows: readonly (readonly string[])[],
  columns: number | null,
  spare: readonly number[],
): string {
  const whole = table(rows);
  const [first, ...others] = spare;
  const fits = columns === null || whole.split('\n').every((line) => width(line) <= columns);
  if (fits || first === undefined) return fits ? whole : table(rows, columns);
  return tableWithout(
    rows.map((row) => row.toSpliced(first, 1)),
    columns,
    others.map((at) => (at > first ? at - 1 : at)),
  );
}

/** Cells of a terminal that a text takes. */
export const width = (text: string): number => stringWidth(text);

/** No longer than that; what is open where it is cut, a colour or a link, is closed. */
export function cut(text: string, columns: number): string {
  if (width(text) <= columns) return text;
  const room = columns - 1;
  const kept = sliceAnsi(text, 0, room);
  // A slice has every letter that begins in it, also a wide one that ends outside.
  return `${width(kept) > room ? sliceAnsi(text, 0, room - 1) : kept}…`;
}

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

/** Each line keeps its indentation; what does not fit goes on below it, at least by `hang` to the right. */
export function wrapped(text: string, columns: number | null, hang = 0): string {
  if (columns === null) return text;
  return text
    .split('\n')
    .map((line) => {
      if (width(line) <= columns) return line;
      const indent = line.length - line.trimStart().length;
      const below = Math.min(Math.max(indent, hang), Math.floor(columns / 2));
      const [first = '', ...rest] = wrap(line.slice(indent), columns - below, columns - indent);
      return [' '.repeat(indent) + first, ...rest.map((one) => ' '.repeat(below) + one)].join('\n');
    })
    .join('\n');
}

/** A word that is longer than a line has one of its own: a path is to be copied. */
function wrap(text: string, room: number, first = room): string[] {
  return text.split('\n').flatMap((paragraph) => {
    const lines: string[] = [];
    let line = '';
    for (const word of paragraph.split(' ')) {
      if (line !== '' && width(line) + 1 + width(word) > (lines.length === 0 ? first : room)) {
        lines.push(line);
        line = word;
      } else line = line === '' ? word : `${line} ${word}`;
    }
    return [...lines, line];
  });
}
