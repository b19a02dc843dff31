/**
 * Comments as people read them: a heading with author and time, then the text.
 *
 * A comment of the loop carries a hidden marker in its second line, by which it is found again. It counts only there and
 * only under the loop's own name; a line of a comment's text that looks like a heading or a marker is written with a
 * backslash, so no text can pass for a comment of somebody else.
 */

export interface Comment {
  by: string;
  at: string;
  marker: string | null;
  /** What a review says beside its text, such as its verdict and the head it is about. */
  about?: Readonly<Record<string, string>>;
  text: string;
}

/** The name the loop writes under. */
export const SELF = 'forge-loop';

function writeComment(comment: Comment): string {
  const by = comment.by.replace(/\s+/g, ' ').trim() || 'unknown';
  const lines = [`### ${by} · ${comment.at}`];
  if (comment.marker !== null) lines.push(`<!-- forge-loop:${escapeMarker(comment.marker)} -->`);
  if (comment.about !== undefined) lines.push(`<!-- forge-loop:about ${writeAbout(comment.about)} -->`);
  return `${lines.join('\n')}\n\n${asText(comment.text)}\n`;
}

/** Words of others as part of a file with comments: nothing in them is taken for a heading or a marker. */
export function asText(text: string): string {
  return text.replaceAll('\r\n', '\n').trim().replace(SPECIAL, '\\$&');
}

/** What stands before the first heading belongs to nobody and is not a comment. */
export function readComments(source: string): Comment[] {
  const comments: Comment[] = [];
  let lines: string[] = [];
  const finish = () => {
    const last = comments.at(-1);
    if (last) last.text = lines.join('\n').trim();
  };
  for (const line of source.replaceAll('\r\n', '\n').split('\n')) {
    const heading = HEADING.exec(line);
    const marker = MARKER.exec(line);
    const about = ABOUT.exec(line);
    const last = comments.at(-1);
    if (heading) {
      finish();
      comments.push({ by: heading[1]!, at: heading[2]!, marker: null, text: '' });
      lines = [];
    } else if (marker && last && lines.length === 0 && last.marker === null) {
      last.marker = marker[1]!;
    } else if (about && last && lines.length === 0 && last.about === undefined) {
      last.about = readAbout(about[1]!);
    } else {
      lines.push(line.replace(ESCAPED, ''));
    }
  }
  finish();
  return comments;
}

export function openingOf(source: string): string {
  const lines = source.replaceAll('\r\n', '\n').split('\n');
  const first = lines.findIndex((line) => HEADING.test(line));
  return (first < 0 ? lines : lines.slice(0, first)).join('\n').trim();
}

/** Replaces what stands before the first comment, which nobody else wrote. */
export function withOpening(source: string, text: string): string {
  const lines = source.replaceAll('\r\n', '\n').split('\n');
  const first = lines.findIndex((line) => HEADING.test(line));
  const said = first < 0 ? [] : ['', ...lines.slice(first)];
  return `${[asText(text), ...said].join('\n').trimEnd()}\n`;
}

export function isMarked(source: string, marker: string): boolean {
  const wanted = escapeMarker(marker);
  return readComments(source).some((comment) => comment.by === SELF && comment.marker === wanted);
}

/** Another text for the loop's comment with this marker; everything around it stays as it is. */
export function withText(source: string, marker: string, text: string): string {
  const lines = source.replaceAll('\r\n', '\n').split('\n');
  const from = lines.findIndex(
    (line, at) =>
      HEADING.exec(line)?.[1] === SELF && MARKER.exec(lines[at + 1] ?? '')?.[1] === escapeMarker(marker),
  );
  if (from < 0) return source;
  const next = lines.findIndex((line, at) => at > from && HEADING.test(line));
  const old = lines.slice(from + 2, next < 0 ? undefined : next);
  if (old.join('\n').trim() === asText(text)) return source;
  const rest = next < 0 ? [] : ['', ...lines.slice(next)];
  return `${[...lines.slice(0, from + 2), '', asText(text), ...rest].join('\n').trimEnd()}\n`;
}

/** Said by the loop: its name and its marker together, for a person may have the name too. */
export const isOwn = (comment: Comment): boolean => comment.by === SELF && comment.marker !== null;

/** A file that ends without a newline must not swallow the next heading. */
export function appendComment(source: string, comment: Comment): string {
  const before = source.trimEnd();
  return before === '' ? writeComment(comment) : `${before}\n\n${writeComment(comment)}`;
}

const escapeMarker = (marker: string): string => marker.replace(/[^\w./:#@=+-]/gu, encodeURIComponent);

const writeAbout = (about: Readonly<Record<string, string>>): string =>
  Object.entries(about)
    .map(([key, value]) => `${key}=${encodeURIComponent(value)}`)
    .join(' ');

/** Written by people as often as by us: what can't be decoded stands for itself. */
function readAbout(text: string): Record<string, string> {
  const pairs = text.split(' ').map((pair) => {
    const [key = '', ...rest] = pair.split('=');
    const value = rest.join('=');
    try {
      return [key, decodeURIComponent(value)];
    } catch {
      return [key, value];
    }
  });
  return Object.fromEntries(pairs) as Record<string, string>;
}

const HEADING = /^### (.+) · (\d{4}-\d\d-\d\dT[\d:.]+Z)\s*$/;
const MARKER = /^<!-- forge-loop:(\S+) -->\s*$/;
const ABOUT = /^<!-- forge-loop:about (.+) -->\s*$/;
const SPECIAL = /^\\*(?:### .+ · \d{4}-\d\d-\d\dT[\d:.]+Z\s*$|<!-- forge-loop:)/gm;
const ESCAPED = /^\\(?=\\*(?:### .+ · \d{4}-\d\d-\d\dT|<!-- forge-loop:))/;
