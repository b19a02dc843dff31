/**
 * A Markdown file with YAML front matter that people and the loop both write.
 *
 * Reading never fails on what an editor may do to a file: a byte order mark, CRLF, no final newline, no front matter.
 * Editing changes the keys it names and leaves other keys, comments, the body and the line endings as they are.
 */
import {
  type Document,
  isMap,
  isSeq,
  LineCounter,
  parse,
  parseDocument,
  YAMLMap,
  YAMLParseError,
} from 'yaml';
import type { z } from 'zod';

export interface Markdown {
  values: Record<string, unknown>;
  /** With plain newlines, without the blank lines around it. */
  body: string;
}

/** What is wrong with a file, and on which of its lines. */
export class BadMarkdown extends Error {
  override name = 'BadMarkdown';
  readonly line: number;
  constructor(line: number, message: string) {
    super(message);
    this.line = line;
  }
}

export function readMarkdown(text: string): Markdown {
  const { front, rest } = split(text);
  const body = rest
    .replaceAll('\r\n', '\n')
    .replace(/^(?:[ \t]*\n)+/, '')
    .trimEnd();
  if (front === null) return { values: {}, body };
  try {
    const values = parsed(front);
    if (typeof values !== 'object' || Array.isArray(values)) {
      throw new BadMarkdown(2, 'the front matter must be lines of "key: value"');
    }
    return { values: values as Record<string, unknown>, body };
  } catch (error) {
    if (error instanceof BadMarkdown) throw error;
    const line = error instanceof YAMLParseError ? (error.linePos?.[0].line ?? 1) : 1;
    const [reason] = (error as Error).message.split(/ at line \d+/);
    throw new BadMarkdown(line + 1, `the front matter is not valid YAML: ${reason}`);
  }
}

/** A file that was just written is read again soon, and so is one that is about to be edited. */
const recent = new Map<string, unknown>();
const MOST = 64;

function parsed(front: string): unknown {
  if (!recent.has(front)) {
    const values: unknown = parse(front, { logLevel: 'error' }) ?? {};
    if (recent.size >= MOST) recent.clear();
    recent.set(front, values);
  }
  return structuredClone(recent.get(front));
}

/** The front matter as its schema reads it; what does not fit is named with its line. */
export function readFront<T>(schema: z.ZodType<T>, text: string): { front: T; body: string } {
  const { values, body } = readMarkdown(text);
  const read = schema.safeParse(values);
  if (read.success) return { front: read.data, body };
  const issue = read.error.issues[0]!;
  const key = String(issue.path[0] ?? '');
  throw new BadMarkdown(lineOfKey(text, key), `${key}: ${issue.message}`);
}

/** The file's line on which a key of the front matter stands. */
export function lineOfKey(text: string, key: string): number {
  const { front } = split(text);
  if (front === null) return 1;
  const lineCounter = new LineCounter();
  const root = parseDocument(front, { lineCounter }).contents;
  const pair = isMap(root) ? root.items.find((item) => String(item.key) === key) : undefined;
  const start = (pair?.key as { range?: [number, number, number] } | undefined)?.range?.[0];
  return start === undefined ? 1 : lineCounter.linePos(start).line + 1;
}

export function editMarkdown(text: string, change: (front: Document) => void): string {
  const { bom, front, rest } = split(text);
  const eol = /\r\n/.test(text) ? '\r\n' : '\n';
  const document = parseDocument(front ?? '{}');
  if (front === null && isMap(document.contents)) document.contents.flow = false;
  change(document);
  const edited = document.toString(FORMAT).replaceAll('\r\n', '\n').replaceAll('\n', eol);
  if (front !== null) return `${bom}---${eol}${edited}---${eol}${rest}`;
  return `${bom}---${eol}${edited}---${eol}${eol}${rest}`;
}

/** Changes what stands below the front matter, which stays as it is. */
export function withBody(text: string, change: (body: string) => string): string {
  const { rest } = split(text);
  const front = text.slice(0, text.length - rest.length);
  const eol = /\r\n/.test(text) ? '\r\n' : '\n';
  const body = change(rest.replaceAll('\r\n', '\n').trim());
  return `${front}${eol}${body.replaceAll('\n', eol)}`;
}

export function writeMarkdown(values: Record<string, unknown>, body: string): string {
  const document = parseDocument('{}');
  if (isMap(document.contents)) document.contents.flow = false;
  for (const [key, value] of Object.entries(values)) {
    const node = document.createNode(value);
    if (isSeq(node) && node.items.every((item) => !isMap(item))) node.flow = true;
    document.set(key, node);
  }
  return `---\n${document.toString(FORMAT)}---\n\n${body.replaceAll('\r\n', '\n').trim()}\n`;
}

/** Sets a list, keeping the entries that stay, with their comments and in the form they were written in. */
export function setList(front: Document, key: string, values: readonly string[]): void {
  const list = front.get(key, true);
  if (!isSeq(list)) {
    front.set(key, front.createNode(values, { flow: true }));
    return;
  }
  const text = (item: unknown) => String(front.createNode(item).toJSON()).trim();
  list.items = list.items.filter((item) => values.includes(text(item)));
  const there = list.items.map(text);
  for (const value of values) if (!there.includes(value)) list.add(front.createNode(value));
}

/** The map at this key, made if it is not there. */
export function mapAt(front: Document, key: string): YAMLMap {
  const there = front.get(key, true);
  if (isMap(there)) return there;
  const fresh = new YAMLMap(front.schema);
  front.set(key, fresh);
  return fresh;
}

const FORMAT = { lineWidth: 0, flowCollectionPadding: false };

interface Parts {
  bom: string;
  /** Null when the file has none. */
  front: string | null;
  rest: string;
}

function split(source: string): Parts {
  const bom = source.startsWith('\uFEFF') ? '\uFEFF' : '';
  const text = source.slice(bom.length);
  const opening = /^---[ \t]*(?:\r?\n|$)/.exec(text);
  if (!opening) return { bom, front: null, rest: text };
  const inside = text.slice(opening[0].length);
  const closing = /(?:^|\n)---[ \t]*(?:\r?\n|$)/.exec(inside);
  if (!closing)
    throw new BadMarkdown(1, 'the front matter is never closed; write a line with only --- after it');
  const end = closing.index + (closing[0].startsWith('\n') ? 1 : 0);
  return { bom, front: inside.slice(0, end), rest: inside.slice(closing.index + closing[0].length) };
}
