/**
 * Are two findings of different rounds the same defect? Lines move, wording changes, code is rewritten around it; and
 * two defects in one file must never become one, for then the fix of one would resolve the other.
 *
 * So: the same file, and most words that mean something, or fewer of them at the same code. Names of code that have
 * nothing in common (`parse` here, `render` there) make two findings of otherwise equal words.
 */

interface Likened {
  file: string | null;
  line: number | null;
  message: string;
  context?: string | null;
}

/** 0 when they are two different findings; else more for the more alike. */
export function likeness(one: Likened, other: Likened): number {
  if (one.file !== other.file) return 0;
  const [left, right] = [read(one), read(other)];
  const words = shared(left.words, right.words);
  const isSameCode = shared(left.code, right.code) >= 0.6;
  const isOtherName = left.names.size > 0 && right.names.size > 0 && shared(left.names, right.names) === 0;
  if (isOtherName && !(isSameCode && words >= 0.6)) return 0;
  if (words < (isSameCode ? 0.4 : 0.5)) return 0;
  return words + (isSameCode ? 0.5 : 0) + nearness(one.line, other.line);
}

/**
 * Nearly word for word, and not at other code: so much alike that what a person said about the one holds for the other.
 * Of two that are only probably one, both are better looked at.
 */
export function isRepeated(one: Likened, other: Likened): boolean {
  return mayBeOne(one, other) && shared(read(one).words, read(other).words) >= 0.75;
}

/** In the same file, and not at code that has nothing in common. */
export function mayBeOne(one: Likened, other: Likened): boolean {
  const [left, right] = [read(one).code, read(other).code];
  const isElsewhere = left.size > 0 && right.size > 0 && shared(left, right) === 0;
  return one.file === other.file && !isElsewhere;
}

/** So close that whoever reads the one should know of the other. */
export function isBeside(one: Likened, other: Likened): boolean {
  if (!mayBeOne(one, other)) return false;
  const isSameCode = shared(read(one).code, read(other).code) >= 0.6;
  const apart = one.line === null || other.line === null ? Infinity : Math.abs(one.line - other.line);
  return isSameCode || apart <= NEAR_LINES || likeness(one, other) > 0;
}

const NEAR_LINES = 10;

interface Reading {
  words: Set<string>;
  names: Set<string>;
  code: Set<string>;
}

const readings = new WeakMap<Likened, Reading>();

function read(finding: Likened): Reading {
  const known = readings.get(finding);
  if (known) return known;
  const message = finding.message.slice(0, MAX_CHARS);
  const reading = {
    words: new Set((message.toLowerCase().match(/\p{L}+/gu) ?? []).filter(isTelling).map(stem)),
    names: namesIn(message),
    code: new Set(
      (finding.context ?? '')
        .split('\n')
        .map((line) => line.replace(/\s+/g, ''))
        .filter((line) => line.length > 3),
    ),
  };
  readings.set(finding, reading);
  return reading;
}

const MAX_CHARS = 2000;

/** How much of two sets they have in common, 0 to 1; nothing at all is in common with nothing. */
function shared(one: ReadonlySet<string>, other: ReadonlySet<string>): number {
  let both = 0;
  for (const word of one) if (other.has(word)) both += 1;
  const all = one.size + other.size - both;
  return all === 0 ? 0 : both / all;
}

/** Only to choose between equals. */
function nearness(one: number | null, other: number | null): number {
  return one === null || other === null ? 0 : 0.1 / (1 + Math.abs(one - other));
}

/** What looks like a name of code: in backticks, called with (), or written in camelCase or snake_case. */
function namesIn(message: string): Set<string> {
  const names = new Set<string>();
  for (const [name] of message.matchAll(/[A-Za-z_$][\w$]*/g))
    if (/[a-z][A-Z]|_\w|\w_/.test(name)) names.add(name.toLowerCase());
  for (const [, name] of message.matchAll(/([A-Za-z_$][\w$]*)\(/g)) names.add(name!.toLowerCase());
  for (const [, quoted] of message.matchAll(/`([^`\n]{1,80})`/g))
    for (const [name] of quoted!.matchAll(/[A-Za-z_$][\w$]*/g)) names.add(name.toLowerCase());
  return names;
}

/** Close enough for comparing: "closes", "closed" and "closing" are one word. */
const stem = (word: string): string => word.replace(/(?<=\p{L}{3})(?:ing|ed|es|s|e)$/u, '');

const isTelling = (word: string): boolean => word.length > 1 && !COMMON.has(word);

const COMMON = new Set(
  `a an the this that these those it its is are was were be been being has have had do does did not no never
   and or but if then else when while of to in on at by for from with without into as so than there here
   can could should must may might will would still yet also only just very any some all each every line file
   code missing lacks lack absent`.split(/\s+/),
);
