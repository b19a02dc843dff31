/**
 * Markdown line by line: what is code, what a comment hides, what is a heading or an item of a list. One pass, no look
 * back: the text may be long and hostile.
 */

export type MarkdownLine = {
  /** As it stands, without its end. */
  raw: string;
  text: string;
  indent: number;
} & (
  | { kind: 'text' | 'comment' }
  /** A fence, or a line between two of them; `info` is what stands behind the first. */
  | { kind: 'code'; info: string; isFence: boolean }
  | { kind: 'heading'; level: number; title: string }
  | { kind: 'item'; said: string }
);

export function markdownLines(markdown: string): MarkdownLine[] {
  let fence: { mark: string; info: string; indent: number } | null = null;
  let isComment = false;
  let isList = false;

  return markdown.split(/\r?\n/).map((raw): MarkdownLine => {
    const text = raw.trim();
    const indent = raw.length - raw.trimStart().length;
    const line = { raw, text, indent };
    if (fence) {
      const { mark, info } = fence;
      const isFence = isClosing(text, mark) && indent < fence.indent + INDENTED;
      if (isFence) fence = null;
      return { ...line, kind: 'code', info, isFence };
    }
    if (isComment || text.startsWith('<!--')) {
      isComment = !text.includes('-->');
      return { ...line, kind: 'comment' };
    }
    const opening = isList || indent < INDENTED ? FENCE.exec(text) : null;
    if (opening) {
      const [, mark = '', info = ''] = opening;
      fence = { mark, info, indent };
      return { ...line, kind: 'code', info, isFence: true };
    }
    const said = /^(?:[-*+]|\d{1,9}[.)])\s+(.*)$/s.exec(text)?.[1];
    if (said !== undefined) {
      isList = true;
      return { ...line, kind: 'item', said };
    }
    if (text !== '' && indent === 0) isList = false;
    const heading = headingIn(text);
    return heading ? { ...line, kind: 'heading', ...heading } : { ...line, kind: 'text' };
  });
}

/** What stands this much further to the right is code without a fence, except below an item. */
const INDENTED = 4;

/** Behind backticks there are no others: that would be code within a line. */
const FENCE = /^(`{3,}(?=[^`]*$)|~{3,})\s*(.*)$/s;

const isClosing = (text: string, mark: string): boolean =>
  text.startsWith(mark) && text === mark[0]!.repeat(text.length);

export function headingIn(text: string): { level: number; title: string } | null {
  const [, marks, title] = /^(#{1,6})\s+(.+)$/s.exec(text) ?? [];
  return marks === undefined || title === undefined ? null : { level: marks.length, title };
}

/** What the first heading of this level says. */
export function headingOf(lines: readonly MarkdownLine[], level: number): string | undefined {
  const found = lines.find(
    (line) => line.kind === 'heading' && line.level === level && line.indent < INDENTED,
  );
  return found?.kind === 'heading' ? found.title : undefined;
}

/** Wherever in a line a comment begins; inside backticks it is only spoken of. */
export function replaceComments(markdown: string, replace: (comment: string) => string): string {
  // Up to the last end of a comment every comment has one, so that none is looked for in vain.
  const closed = markdown.lastIndexOf('-->') + '-->'.length;
  const replaced = markdown
    .slice(0, closed)
    .replace(/`[^`\n]*`|<!--[\s\S]*?-->/g, (span) => (span.startsWith('`') ? span : replace(span)));
  return replaced + markdown.slice(closed);
}
