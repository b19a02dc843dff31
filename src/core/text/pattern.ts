/**
 * Regular patterns that a stranger may write: literals, `.`, classes, groups, `|`, `*`, `+`, `?`, `^`, `$`, `\d \w \s` and
 * their opposites, whatever the case. All ways through the text are walked at once, so a match takes time in proportion to
 * pattern and text, and no pattern can keep the runner busy.
 */

type Test = (char: string) => boolean;
type Node =
  | { kind: 'char'; is: Test }
  | { kind: 'start' | 'end' }
  | { kind: 'sequence' | 'choice'; of: Node[] }
  | { kind: 'repeat'; of: Node; least: 0 | 1; isMany: boolean };

type Pattern = { ok: true; matches(text: string): boolean } | { ok: false; problem: string };

const LONGEST_PATTERN = 100;

export function patternOf(source: string): Pattern {
  if (source.length > LONGEST_PATTERN)
    return { ok: false, problem: `the pattern is longer than ${LONGEST_PATTERN} characters` };
  try {
    const steps = compiled(parsed([...source]));
    return { ok: true, matches: (text) => isFound(steps, text.toLowerCase()) };
  } catch (error) {
    if (error instanceof BadPattern) return { ok: false, problem: `the pattern ${error.message}` };
    throw error;
  }
}

class BadPattern extends Error {}

function parsed(chars: readonly string[]): Node {
  let at = 0;
  const whole = choice();
  if (at < chars.length) throw new BadPattern('closes a group that is not open');
  return whole;

  function choice(): Node {
    const of = [sequence()];
    while (chars[at] === '|') {
      at += 1;
      of.push(sequence());
    }
    return { kind: 'choice', of };
  }

  function sequence(): Node {
    const of: Node[] = [];
    while (at < chars.length && chars[at] !== '|' && chars[at] !== ')') of.push(repeated());
    return { kind: 'sequence', of };
  }

  function repeated(): Node {
    const one = single();
    const sign = chars[at] ?? '';
    if (!'*+?'.includes(sign) || sign === '') return one;
    at += 1;
    if ('*+?{'.includes(chars[at] ?? ' ')) throw new BadPattern('repeats a repetition');
    return { kind: 'repeat', of: one, least: sign === '+' ? 1 : 0, isMany: sign !== '?' };
  }

  function single(): Node {
    const char = chars[at]!;
    at += 1;
    switch (char) {
      case '(':
        return group();
      case '[':
        return { kind: 'char', is: charClass() };
      case '.':
        return { kind: 'char', is: (one) => one !== '\n' };
      case '^':
        return { kind: 'start' };
      case '$':
        return { kind: 'end' };
      case '\\':
        return { kind: 'char', is: escaped() };
      case '*':
      case '+':
      case '?':
        throw new BadPattern('repeats nothing');
      case '{':
        throw new BadPattern('counts with {}, which is not known here: write \\{ for the character');
      default:
        return { kind: 'char', is: same(char) };
    }
  }

  function group(): Node {
    if (chars[at] === '?') {
      if (chars[at + 1] !== ':')
        throw new BadPattern('has a group that looks around, which is not known here');
      at += 2;
    }
    const inside = choice();
    if (chars[at] !== ')') throw new BadPattern('opens a group and does not close it');
    at += 1;
    return inside;
  }

  function escaped(): Test {
    const char = chars[at];
    at += 1;
    if (char === undefined) throw new BadPattern('ends with a backslash');
    const known = CLASSES[char.toLowerCase()];
    if (known) return char === char.toLowerCase() ? known : (one) => !known(one);
    if (/[a-z0-9]/i.test(char)) throw new BadPattern(`has \\${char}, which is not known here`);
    return same(char);
  }

  function charClass(): Test {
    const isNot = chars[at] === '^';
    if (isNot) at += 1;
    const tests: Test[] = [];
    for (let isFirst = true; isFirst || chars[at] !== ']'; isFirst = false) {
      const from = chars[at];
      if (from === undefined) throw new BadPattern('opens a class and does not close it');
      at += 1;
      if (from === '\\') {
        tests.push(escaped());
        continue;
      }
      const to = chars[at + 1];
      if (chars[at] === '-' && to !== undefined && to !== ']') {
        at += 2;
        const [first, last] = [from.toLowerCase(), to.toLowerCase()];
        if (last < first) throw new BadPattern(`has the class ${from}-${to}, which is empty`);
        tests.push((one) => one >= first && one <= last);
      } else tests.push(same(from));
    }
    at += 1;
    return (one) => tests.some((test) => test(one)) !== isNot;
  }
}

/** The text is in small letters. */
function same(char: string): Test {
  const small = char.toLowerCase();
  return (one) => one === small;
}

const isDigit: Test = (one) => one >= '0' && one <= '9';
const isWord: Test = (one) => /[a-z0-9_]/.test(one);
const isSpace: Test = (one) => one.trim() === '';
const CLASSES: Record<string, Test> = { d: isDigit, w: isWord, s: isSpace };

type Step =
  | { kind: 'char'; is: Test }
  | { kind: 'start' | 'end' | 'found' }
  /** Goes on at each of these. */
  | { kind: 'split'; to: number[] };

function compiled(node: Node): Step[] {
  const steps: Step[] = [];
  add(node);
  steps.push({ kind: 'found' });
  return steps;

  function add(one: Node): void {
    switch (one.kind) {
      case 'char':
      case 'start':
      case 'end':
        steps.push(one);
        return;
      case 'sequence':
        for (const part of one.of) add(part);
        return;
      case 'choice': {
        const split: Step & { kind: 'split' } = { kind: 'split', to: [] };
        steps.push(split);
        const ends: (Step & { kind: 'split' })[] = [];
        for (const part of one.of) {
          split.to.push(steps.length);
          add(part);
          const end: Step & { kind: 'split' } = { kind: 'split', to: [] };
          steps.push(end);
          ends.push(end);
        }
        for (const end of ends) end.to.push(steps.length);
        return;
      }
      case 'repeat': {
        const before: Step & { kind: 'split' } = { kind: 'split', to: [] };
        steps.push(before);
        const begin = steps.length;
        add(one.of);
        const after: Step & { kind: 'split' } = { kind: 'split', to: one.isMany ? [begin] : [] };
        steps.push(after);
        after.to.push(steps.length);
        before.to = one.least === 0 ? [begin, steps.length] : [begin];
        return;
      }
      default:
        one satisfies never;
    }
  }
}

/** Anywhere in the text. */
function isFound(steps: readonly Step[], text: string): boolean {
  const chars = [...text];
  const reachedAt = new Int32Array(steps.length).fill(-1);
  let here: number[] = [];
  for (let at = 0; at <= chars.length; at += 1) {
    reach(here, 0, at);
    const next: number[] = [];
    for (const index of here) {
      const step = steps[index]!;
      if (step.kind === 'found') return true;
      if (step.kind === 'char' && at < chars.length && step.is(chars[at]!)) reach(next, index + 1, at + 1);
    }
    here = next;
  }
  return false;

  function reach(into: number[], from: number, at: number): void {
    const pending = [from];
    for (let index = pending.pop(); index !== undefined; index = pending.pop()) {
      if (reachedAt[index] === at) continue;
      reachedAt[index] = at;
      into.push(index);
      const step = steps[index]!;
      if (step.kind === 'split') pending.push(...step.to);
      if (step.kind === 'start' && at === 0) pending.push(index + 1);
      if (step.kind === 'end' && at === chars.length) pending.push(index + 1);
    }
  }
}
