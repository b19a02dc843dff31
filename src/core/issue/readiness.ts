/**
 * Readiness: can this issue be discharged by checking something?
 *
 * Rules look at the text and give points; the sum decides. Length never counts, and a text that the rules can't read
 * (another language, a few words) is `unsure`, never declined. The table in readiness.test.ts is the specification.
 */
import { type Criterion, countCriteria, extractCriteria, MAX_CRITERIA } from './criteria.ts';
import { opposedIn } from './opposed.ts';
import { excerpt, headingOf, NAMED, NAMES, type Prose, proseOf } from './prose.ts';
import { isAsk, taste, tasteWords, unbounded } from './vagueness.ts';

type Rule =
  | 'criteria'
  | 'post_condition'
  | 'reproduction'
  | 'small_change'
  | 'concrete'
  | 'taste'
  | 'unbounded'
  | 'too_many'
  | 'two_results';

export interface RuleScore {
  rule: Rule;
  points: number;
  /** The words that it rests on. */
  because: string;
}

export interface Readiness {
  decision: 'ready' | 'unsure' | 'declined';
  /** Something in it can be checked when the work is done. */
  checkable: boolean;
  /** Ready, but it only names its object: what is to be observed is left open. */
  thin: boolean;
  score: number;
  rules: RuleScore[];
  /** Why it is not simply ready, in a few words; empty when it is. */
  problem: string;
  /** What its author has to answer; empty when it is ready. */
  questions: string[];
}

export function readiness(title: string, body: string): Readiness {
  const text = proseOf(title, body);
  const listed = extractCriteria(body);
  const rules = [
    criteria(text, listed),
    postCondition(text),
    reproduction(text),
    smallChange(text),
    concrete(text),
    taste(text),
    unbounded(text),
    tooMany(text, listed),
    twoResults(text, listed),
  ].filter((rule) => rule !== null);
  const score = rules.reduce((sum, rule) => sum + rule.points, 0);
  const isDoubted = rules.some(({ rule }) => rule === 'two_results');
  const decision = score >= 1 && !isDoubted ? 'ready' : score <= -2 ? 'declined' : 'unsure';
  const strong = rules.some((rule) => rule.points >= STRONG);
  return {
    decision,
    checkable: decision === 'ready' || (strong && decision === 'unsure'),
    thin: decision === 'ready' && !strong,
    score,
    rules,
    problem: decision === 'ready' ? '' : problemOf(rules),
    questions: decision === 'ready' ? [] : questionsFor(text, rules),
  };
}

/** One such sign outweighs taste or an open end beside it, not both together. */
const STRONG = 5;

// --- what can be checked --------------------------------------------------------------------------------------------

/** What the issue lists as its criteria, or prose under a heading that promises them. */
function criteria({ lines }: Prose, listed: readonly Criterion[]): RuleScore | null {
  // The last of a full list only counts what was left out.
  const first = listed
    .slice(0, MAX_CRITERIA - 1)
    .find(({ text, verify }) => verify !== null || isCriterion(text));
  const stated = lines.find((line, at) => isAcceptance(line) && isFollowed(lines, at));
  const found = first?.text ?? stated;
  return found === undefined ? null : { rule: 'criteria', points: 6, because: excerpt(found) };
}

/** Checkboxes of a template ("I have read …") ask for nothing, and those of taste for nothing one could check. */
function isCriterion(item: string): boolean {
  if (/^(i|i've|we|my) /i.test(item)) return false;
  return tasteWords(item).length === 0 || isPostCondition(item);
}

const isAcceptance = (line: string): boolean =>
  /^(acceptance|definition of done|done when|success criteria)/i.test(headingOf(line) ?? '');

function isFollowed(lines: readonly string[], at: number): boolean {
  const next = lines.slice(at + 1, at + 20).find((line) => line.trim() !== '');
  return next !== undefined && headingOf(next) === null && !/^[-*+\d. ]*\[/.test(next);
}

function postCondition({ sentences }: Prose): RuleScore | null {
  const found = sentences.find(({ text }) => isPostCondition(text));
  return found ? { rule: 'post_condition', points: STRONG, because: excerpt(found.text) } : null;
}

/** An observation that names a concrete value, place or symbol. A wish about such a thing is still a wish. */
function isPostCondition(sentence: string): boolean {
  const isWish = tasteWords(sentence).length > 0;
  // A verb inside a name (src/output.ts) observes nothing.
  const said = sentence.replace(NAMES, ' ');
  if (VALUE.test(sentence) && (OBSERVED.test(said) || (STATED.test(said) && !isWish))) return true;
  return /\b(given|when)\b/i.test(sentence) && /\bthen\b/i.test(sentence) && !isWish;
}

const VALUE = new RegExp(`${NAMED.source}|\\b\\d+\\b`);

const OBSERVED =
  /\b(returns?|exits?|prints?|throws?|raises?|rejects?|accepts?|responds?|redirects?|posts?|gets?|opens?|closes?|contains?|equals?|outputs?|writes?|asserts?|fails?|pass(es)?|logs|shows?|displays?|renders?|creates?|deletes?|removes?|finds?|renames?|retries|parses|sends?|stores?|emits?|is empty)\b/i;

const STATED = /\b(must|should|is|are|becomes?|adds|supports|reads)\b/i;

/** What happens and what should: in sections of a report, or in one sentence. */
function reproduction({ lines, sentences }: Prose): RuleScore | null {
  const label = (name: RegExp): boolean =>
    lines.some((line, at) => {
      const heading = headingOf(line);
      if (heading !== null && name.test(heading)) return isFollowed(lines, at);
      const plain = line.replace(/^[\s>*_-]+/, '');
      return name.test(plain) && /^[^:]{1,40}:[\s*_]*\S/.test(plain);
    });
  const happens = label(/^(steps|to reproduce|how to reproduce|repro|actual|observed|current|what happens)/i);
  if (happens && label(/^(expected|expectation|should)/i))
    return { rule: 'reproduction', points: STRONG, because: 'what happens and what is expected' };
  const found = sentences.find(({ text }) =>
    /\bexpected\b.{1,200}\b(got|actual|but|was|received)\b/i.test(text),
  );
  return found ? { rule: 'reproduction', points: STRONG, because: excerpt(found.text) } : null;
}

/** A change that is its own check: this text to that, this name to that, up to this version, this away. */
function smallChange({ sentences }: Prose): RuleScore | null {
  const found = sentences.find(
    ({ text }) =>
      (/\b(fix|typo|rename|replace|change|correct|move|update)/i.test(text) &&
        /[^\s>] ?(→|->|=>) ?[^\s-]/.test(text)) ||
      /\b(upgrade|bump|update|downgrade|pin)\b.{1,100}\b(to|from)\b.{0,40}\bv?\d/i.test(text) ||
      (/\b(typo|spelling|misspelled|misspelt)\b/i.test(text) &&
        /\b(should (be|read)|instead of)\b/i.test(text)) ||
      (/\b(rename|replace|change|move)\b.{1,200}\b(to|with|by|into)\b/i.test(text) && NAMED.test(text)) ||
      (/\b(remove|delete|drop|revert)\b/i.test(text) && NAMED.test(text)),
  );
  return found && tasteWords(found.text).length === 0
    ? { rule: 'small_change', points: STRONG, because: excerpt(found.text) }
    : null;
}

/** It is clear what the issue is about, not yet what one should see. */
function concrete({ sentences, hasCode }: Prose): RuleScore | null {
  const found = sentences.find(
    ({ text }) => (NAMED.test(text) || hasCode) && (isAsk(text) || DEFECT.test(text)),
  );
  return found ? { rule: 'concrete', points: 1, because: excerpt(found.text) } : null;
}

const DEFECT =
  /\b(\w+(?:error|exception)|crash(es|ed)?|broken|wrong|fails?|failing|hangs?|leaks?|errors?|throws?|missing|bug|does(n't| not)|can('t|not)|won't|no longer|never)\b/i;

/** What is listed beyond that is judged as one: nobody could tell which of them is met. */
function tooMany({ body }: Prose, listed: readonly Criterion[]): RuleScore | null {
  const count = listed.length < MAX_CRITERIA ? listed.length : countCriteria(body);
  if (count <= MAX_CRITERIA) return null;
  const because = `${count} criteria, of which only the first ${MAX_CRITERIA - 1} are judged one by one`;
  return { rule: 'too_many', points: -20, because };
}

/** Criteria that expect different results of the same input, or the opposite of each other. Whether both can hold is for the specifier to judge. */
function twoResults({ body }: Prose, listed: readonly Criterion[]): RuleScore | null {
  const seen = new Map<string, Expected>();
  for (const one of listed.flatMap(({ text }) => expectedIn(text))) {
    const before = seen.get(one.input);
    if (before && excludes(before, one)) {
      const because = `${excerpt(before.text)} and ${excerpt(one.text)}`;
      return { rule: 'two_results', points: 0, because };
    }
    seen.set(one.input, before ?? one);
  }
  const opposed = opposedIn(body, (text) => extractCriteria(text).map((one) => one.text));
  return opposed && { rule: 'two_results', points: 0, because: opposed.map(excerpt).join(' and ') };
}

interface Expected {
  text: string;
  input: string;
  fails: boolean;
  /** Null when it is no single value. */
  value: string | null;
}

function expectedIn(text: string): Expected[] {
  const [, before = '', verb = '', result = ''] = RESULT.exec(text) ?? [];
  if (!NAMED.test(before) || CONDITION.test(result)) return [];
  const value = result.trim().replace(/\.$/, '');
  return [
    {
      text,
      input: before.replace(/[`\s]/g, '').toLowerCase(),
      fails: /^(throw|raise)/i.test(verb),
      value: SINGLE.test(value) ? value.replaceAll('`', '') : null,
    },
  ];
}

const excludes = (one: Expected, other: Expected): boolean =>
  one.fails !== other.fails ||
  (!one.fails && one.value !== null && other.value !== null && one.value !== other.value);

const RESULT =
  /^(.{1,200}?) (?:must |should )?(returns?|equals?|exits?|throws?|raises?) (?:with )?(?:code )?(.{1,200})$/i;
const CONDITION = /\b(when|if|unless|for|with|without|after|before|otherwise|else|or)\b/i;
const SINGLE = /^(`[^`]*`|"[^"]*"|'[^']*'|-?\d+(\.\d+)?|true|false|null|undefined|nothing)$/i;

// --- what the author is told ----------------------------------------------------------------------------------------

function problemOf(rules: readonly RuleScore[]): string {
  const has = (rule: Rule): boolean => rules.some((one) => one.rule === rule);
  if (has('too_many')) return `it lists more than ${MAX_CRITERIA} criteria`;
  if (has('two_results')) return 'two of its criteria may contradict each other';
  if (has('taste')) return 'it is a matter of taste';
  if (rules.some((one) => one.rule === 'unbounded' && one.points <= -3)) return 'it has no end';
  return 'it names nothing to check';
}

function questionsFor({ title }: Prose, rules: readonly RuleScore[]): string[] {
  const because = (rule: Rule): string | undefined => rules.find((one) => one.rule === rule)?.because;
  const clash = because('two_results');
  const subject = title.slice(0, 200) || 'this issue';
  const [tooLong, asksFor, open] = [because('too_many'), because('taste'), because('unbounded')];
  return [
    ...(clash ? [`Can these both hold: ${clash}? If not, which one does, and when?`] : []),
    ...(tooLong
      ? [`It lists ${tooLong}. Which parts can be issues of their own, with at most ${MAX_CRITERIA} each?`]
      : []),
    `What will be different once "${subject}" is done? Give an input and the expected output, status, text or state.`,
    'Which test or command would fail before the change and pass after it?',
    ...(asksFor
      ? [`What does ${asksFor} mean here: which screen, function or number, and what value should it have?`]
      : []),
    ...(open
      ? [`Where does ${open} end: which files, pages or commands are part of it, and which are not?`]
      : []),
  ];
}
