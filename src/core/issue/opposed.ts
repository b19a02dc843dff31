/**
 * Criteria that may contradict each other: the same words about the same subject, one the opposite of the other. Only the
 * first clause of each is compared, and a condition in either ("when …", an option) means that both can hold. What is
 * found makes somebody read the issue, so a contradiction in other words may be missed, and a false alarm may not happen.
 */
import { headingOf } from './prose.ts';

/** What can't be both true of one thing at one time. Not here: what happens one after the other, such as opening and closing. */
const OPPOSITES: readonly (readonly [RegExp, RegExp])[] = [
  [
    /^(accept(s|ed)?|allow(s|ed)?|permit(s|ted)?)$/,
    /^(reject(s|ed)?|refuse[sd]?|forbids?|forbidden|disallow(s|ed)?|den(y|ies|ied))$/,
  ],
  [/^ascending(ly)?$/, /^descending(ly)?$/],
  [/^include[sd]?$/, /^(exclude[sd]?|omit(s|ted)?)$/],
  [/^(required|mandatory)$/, /^optional$/],
  [/^(keeps?|kept|preserve[sd]?|retain(s|ed)?)$/, /^(discard(s|ed)?|drop(s|ped)?|lose[s]?|lost)$/],
  [/^(succeed(s|ed)?|pass(es|ed)?)$/, /^fail(s|ed)?$/],
  [/^always$/, /^never$/],
  [/^enabled$/, /^disabled$/],
  [/^visible$/, /^(hidden|invisible)$/],
  [/^valid$/, /^invalid$/],
  [/^case-sensitive(ly)?$/, /^case-insensitive(ly)?$/],
  [/^inclusive$/, /^exclusive$/],
  [/^(synchronous(ly)?|sync)$/, /^(asynchronous(ly)?|async)$/],
  [/^(uppercase|upper-case)$/, /^(lowercase|lower-case)$/],
  [/^(newest|latest)$/, /^(oldest|earliest)$/],
];

const NEGATES = /^(not|never|no|cannot|\w+n't)$/;
const FILLS = /^(an?|the|its?|must|should|shall|will|is|are|be|do|does|can|may|to|all|any|longer|always)$/;
const LIMITS =
  /\b(when|if|unless|for|with|without|after|before|while|until|once|otherwise|else|or|only|except|instead|default|during|in|on|at|by|via|using|then|first|again|as)\b|(^|\s)--?\w/i;

interface Stance {
  axis: number;
  side: boolean;
  before: string[];
  after: string;
}

/** The first two that oppose each other, each below the same heading. */
export function opposedIn(
  body: string,
  criteriaOf: (text: string) => readonly string[],
): [string, string] | null {
  for (const section of sectionsOf(body)) {
    const seen: { text: string; stance: Stance }[] = [];
    for (const text of criteriaOf(section)) {
      const stances = stancesIn(text);
      const other = seen.find(({ stance }) => stances.some((one) => isOpposed(stance, one)));
      if (other) return [other.text, text];
      seen.push(...stances.map((stance) => ({ text, stance })));
    }
  }
  return null;
}

/** `- In strict mode:` heads what is below it, too. */
function sectionsOf(body: string): string[] {
  const sections: string[][] = [[]];
  for (const line of body.split('\n')) {
    if (headingOf(line.slice(0, 500).replace(/^\s*[-*+] +/, '')) !== null) sections.push([]);
    sections.at(-1)!.push(line);
  }
  return sections.map((lines) => lines.join('\n'));
}

function stancesIn(text: string): Stance[] {
  const [clause = '', ...rest] = text.split(/[,;:]|\.(?:\s|$)|\b(?:and|but)\b/i);
  if (LIMITS.test(rest.join(' '))) return [];
  const words = clause.match(/`[^`]*`|"[^"]*"|[^\s`"]+/g)?.map((word) => word.toLowerCase()) ?? [];
  const isNegated = words.filter((word) => NEGATES.test(word)).length % 2 === 1;
  const plain = (some: string[]): string[] =>
    some.filter((word) => !NEGATES.test(word) && !FILLS.test(word)).map(stem);
  const stances: Stance[] = [{ axis: NOT, side: isNegated, before: [], after: plain(words).join(' ') }];
  words.forEach((word, at) => {
    OPPOSITES.forEach(([one, other], axis) => {
      if (!one.test(word) && !other.test(word)) return;
      const negates = isNegated && !NEGATES.test(word);
      const [before, after] = [plain(words.slice(0, at)), plain(words.slice(at + 1)).join(' ')];
      stances.push({ axis, side: one.test(word) !== negates, before, after });
    });
  });
  return stances;
}

const NOT = -1;

const stem = (word: string): string =>
  /^[a-z]{4,}s$/.test(word) && !word.endsWith('ss') ? word.slice(0, -1) : word;

const isOpposed = (one: Stance, other: Stance): boolean =>
  one.axis === other.axis &&
  one.side !== other.side &&
  one.after === other.after &&
  (isSame(one.before, other.before) ||
    leavesOut(one.before, other.before) ||
    leavesOut(other.before, one.before));

const isSame = (one: readonly string[], other: readonly string[]): boolean =>
  one.join(' ') === other.join(' ');

/** `accepts …`, `sorted …`: what does it, or what it is done to, was named by the criterion before. */
const leavesOut = (short: readonly string[], long: readonly string[]): boolean =>
  (short.length === 0 || (short.length === 1 && /ed$/.test(short[0]!) && long.at(-1) === short[0])) &&
  !LIMITS.test(long.join(' '));
