/**
 * The text of an issue, cut for the rules of readiness. It is a stranger's and may be long and hostile: every step here
 * is one pass over lines, and a sentence is never longer than MAX_SENTENCE.
 */
import { headingIn, markdownLines, replaceComments } from './markdown.ts';

export interface Sentence {
  text: string;
}

export interface Prose {
  title: string;
  body: string;
  /** The title first; fenced code, comments and addresses are left out. */
  sentences: Sentence[];
  /** The lines of the body without hidden comments, fenced code included. */
  lines: string[];
  hasCode: boolean;
}

export function proseOf(title: string, body: string): Prose {
  // What an issue template says to its author is not what the author says.
  const lines = markdownLines(replaceComments(body, () => '')).filter(({ kind }) => kind !== 'comment');
  const sentences: Sentence[] = chunks(title.replace(/\s+/g, ' ').trim()).map((text) => ({
    text: withoutAddresses(text),
  }));
  for (const line of lines.filter(({ kind }) => kind !== 'code').flatMap(({ raw }) => chunks(raw)))
    for (const text of sentencesIn(line)) sentences.push({ text });
  return {
    title: title.trim(),
    body,
    sentences,
    lines: lines.flatMap(({ raw }) => chunks(raw)),
    hasCode: lines.some(({ kind }) => kind === 'code'),
  };
}

/** `## Heading`, `**Heading**` alone on its line, and `Lead-in:`. */
export function headingOf(line: string): string | null {
  const plain = line.trim();
  const marked = headingIn(plain)?.title ?? /^\*\*([^*]+)\*\*:?$/.exec(plain)?.[1];
  if (marked !== undefined) return marked.replace(/[#*:\s]+$/, '').toLowerCase();
  return /^[^.!?]{1,100}:$/.test(plain) ? plain.slice(0, -1).toLowerCase() : null;
}

function sentencesIn(line: string): string[] {
  const plain = withoutAddresses(line)
    .replace(/^[\s>]*(?:#{1,6} |[-*+] |\d{1,4}[.)] )?(?:\[[ xX]\] )?/, '')
    .trim();
  return plain.split(/(?<=[.;!?])\s|(?<=[。；！？])/).filter((sentence) => sentence !== '');
}

const MAX_SENTENCE = 500;

function chunks(text: string): string[] {
  if (text.length <= MAX_SENTENCE) return [text];
  const piece = new RegExp(`[\\s\\S]{1,${MAX_SENTENCE}}`, 'g');
  return text.split(/(?<=[.;!?])\s/).flatMap((part) => part.match(piece) ?? []);
}

/** "Like https://example.com/pricing" names a place, and nothing that could be checked. */
const withoutAddresses = (text: string): string => text.replace(/\bhttps?:\/\/\S+/gi, 'a page');

/** Something one could find: code, a quotation, a path, a file, an option, a symbol. A bare number is none. */
const NAME = [
  /`[^`]+`/,
  /"[^"]+"/,
  /“[^”]+”/,
  /(?:^|\s)\.{0,2}\/[\w<:.-]+/,
  /\b[\w-]+=[\w-]+/,
  /\b\w+\([^)]*\)/,
  /\b(?!(?:e\.g|i\.e)\b)[\w-]+\.(?!(?:com|org|net|io|dev)\b)[a-z]\w{0,4}\b/,
  /(?:^|\s)--?[a-z][\w-]+/,
  /\b(?:src|lib|tests?|docs|app|packages?|pkg|bin|scripts|cmd|internal)\/[\w./-]+/,
  /\b\w+(?:Error|Exception)\b/,
  /\b[a-z]+[A-Z]\w+\b/,
  /\b[a-z]+_[a-z_]+\b/,
];
export const NAMED = new RegExp(NAME.map((one) => one.source).join('|'));
export const NAMES = new RegExp(NAMED.source, 'g');

/** A few of its words, for whoever asks which. */
export const excerpt = (text: string): string => {
  const plain = text.replace(/\s+/g, ' ').trim();
  return `"${plain.length > 120 ? `${plain.slice(0, 119)}…` : plain}"`;
};
