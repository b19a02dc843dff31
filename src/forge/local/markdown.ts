/**
 * A Markdown file with YAML front matter that people and the loop both write.
 *
 * Reading never fails on what an editor may do to a file: a byte order mark, CRLF, no final newline, no front matter.
 * Editing changes the keys it names and leaves other keys, comments, the body and the line endings as they are.
 */
import { type Document, isMap, isSeq, parseDocument, YAMLMap } from 'yaml';
import type { z } from 'zod';
import { BadMarkdown, readFrontMatter, splitFrontMatter } from '../../front-matter.ts';

/** The front matter as its schema reads it; what does not fit is named with its line. */
export function readFront<T>(
  schema: z.ZodType<T>,
  text: string,
): { front: T; body: string; lineOf(key: string): number } {
  const { values, body, lineOf } = readFrontMatter(text);
  const read = schema.safeParse(values);
  if (read.success) return { front: read.data, body, lineOf: (key) => lineOf([key]) };
  const issue = read.error.issues[0]!;
  const key = String(issue.path[0] ?? '');
  throw new BadMarkdown(lineOf([key]), `${key}: ${issue.message}`);
}

export function editMarkdown(text: string, change: (front: Document) => void): string {
  const { bom, front, rest } = splitFrontMatter(text);
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
  const { rest } = splitFrontMatter(text);
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
