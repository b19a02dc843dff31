/**
 * Hidden marks in what the loop writes, by which it finds it again. A mark counts only in a text of our own account:
 * anybody can copy one.
 */

export function marked(marker: string, text: string): string {
  return `<!-- forge-loop:${escaped(marker)} -->\n${within(text.trim(), LONGEST - 200)}`;
}

/** Other words under the mark that the old ones have, if they have one. */
export function remarked(old: string, text: string): string {
  const mark = /^<!-- forge-loop:\S+ -->/.exec(old)?.[0];
  const body = within(text.trim(), LONGEST - 200);
  return mark === undefined ? body : `${mark}\n${body}`;
}

export function hasMark(text: string, marker: string): boolean {
  return text.replaceAll('\r\n', '\n').startsWith(`<!-- forge-loop:${escaped(marker)} -->\n`);
}

/** Any mark of ours; whose text it is has to be asked as well. */
export const isMarked = (text: string): boolean => /^<!-- forge-loop:\S+ -->/.test(text);

/** What GitHub takes as one text. */
export const LONGEST = 65_536;

/** Cut at a line, and the cut is said. */
export function within(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const cut = text.slice(0, limit - 60);
  const line = cut.lastIndexOf('\n');
  const kept = line > limit / 2 ? cut.slice(0, line) : cut;
  return `${kept}\n\n… ${text.length - kept.length} further characters are left out.`;
}

const escaped = (marker: string): string => marker.replace(/[^\w./:#@=+-]/gu, encodeURIComponent);
