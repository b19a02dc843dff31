/**
 * The falsifiable criteria of an issue, as its text lists them: checkboxes, the items below an "Acceptance…" heading,
 * given/when/then blocks, and whatever names its own check with `verify:`. Criteria told as prose are not found here.
 *
 * The text is a stranger's and may be long: it is read line by line, each line is looked at a bounded number of times,
 * and what goes beyond a cap is said in the list itself, where coder and critic read it.
 */
import type { Contract, Related } from '../event.ts';
import { type Entry, entriesOf } from './issue-text.ts';

export interface Criterion {
  /** `c1`, `c2` … in the order of the text. */
  id: string;
  text: string;
  /** The command that proves it, run with the gate; null when only the critic judges it. */
  verify: string | null;
}

export const MAX_CRITERIA = 50;
export const MAX_TEXT = 500;
export const MAX_VERIFY = 1000;

export function extractCriteria(body: string): Criterion[] {
  const found = statements(entriesOf(body));
  const listed = found.length > MAX_CRITERIA ? found.slice(0, MAX_CRITERIA - 1) : found;
  const criteria = listed.map((one, index) => criterion(`c${index + 1}`, one));
  const left = found.length - listed.length;
  if (left > 0) {
    const text = `The ${left} further criteria that the issue lists after these hold too (only ${MAX_CRITERIA - 1} are listed one by one; the verify commands of the others are not run).`;
    criteria.push({ id: `c${MAX_CRITERIA}`, text, verify: null });
  }
  return criteria;
}

/** How many the text lists, also beyond the cap. */
export const countCriteria = (body: string): number => statements(entriesOf(body)).length;

/** What an issue commits a task to, at the moment its text is accepted. */
export function contractOf(issue: {
  title: string;
  body: string;
  textHash: string;
  related?: Related;
}): Contract {
  const { title, body, textHash, related } = issue;
  return { title, body, hash: textHash, criteria: extractCriteria(body), ...(related ? { related } : {}) };
}

interface Statement {
  text: string;
  verify: string;
}

function statements(entries: readonly Entry[]): Statement[] {
  const found: Statement[] = [];
  for (let index = 0; index < entries.length; ) {
    const steps = scenarioLength(entries, index);
    const parts = entries.slice(index, index + Math.max(1, steps));
    const verify = parts.flatMap((part) => part.verify).join(' && ');
    const text = parts.flatMap((part) => part.words).join(' ');
    if (steps > 0 || verify !== '' || (parts[0]!.isCriterion && text !== '')) found.push({ text, verify });
    index += parts.length;
  }
  return found;
}

const ORDER = ['given', 'when', 'then'];

/** How many entries from here are one given/when/then; 0 when none begins here or it never comes to a "then". */
function scenarioLength(entries: readonly Entry[], start: number): number {
  const first = entries[start]!.step;
  if (first !== 'given' && first !== 'when') return 0;
  let rank = ORDER.indexOf(first);
  let concludes = entries[start]!.words.some((words) => /\bthen\b/i.test(words));
  let end = start + 1;
  for (; end < entries.length; end++) {
    const { step, isAfterBlank } = entries[end]!;
    if (step === null || (isAfterBlank && concludes)) break;
    if (step === 'and') continue;
    if (ORDER.indexOf(step) <= rank) break;
    rank = ORDER.indexOf(step);
    concludes ||= step === 'then';
  }
  return concludes ? end - start : 0;
}

/** A command that is too long is never cut, since half a command is another command. */
function criterion(id: string, { text, verify }: Statement): Criterion {
  if (verify.length > MAX_VERIFY) {
    const note = `(its verify command is longer than ${MAX_VERIFY} characters and is not run)`;
    return { id, text: `${cut(text)} ${note}`.trim(), verify: null };
  }
  return {
    id,
    text: cut(text === '' ? `\`${verify}\` passes` : text),
    verify: verify === '' ? null : verify,
  };
}

const cut = (text: string): string =>
  text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}… (cut; the issue has the rest)` : text;
