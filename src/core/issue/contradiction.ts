/**
 * Two sentences that can't both be met: "must X" and "must not X" about the same thing, in the same section, neither
 * under a condition. What needs understanding rather than comparing is left to the specifier.
 */
import type { Sentence } from './prose.ts';

export interface Contradiction {
  one: string;
  other: string;
}

export function contradictionIn(sentences: readonly Sentence[]): Contradiction | null {
  const demands = new Map<string, Demand[]>();
  for (const sentence of sentences) {
    const demand = demandOf(sentence.text);
    if (!demand) continue;
    const key = `${sentence.section}\n${demand.predicate}`;
    const others = demands.get(key) ?? [];
    const against = others.find(
      (other) => other.negative !== demand.negative && isSame(other.subject, demand.subject),
    );
    if (against) return { one: against.said, other: demand.said };
    // A handful is enough to find one; a text that repeats itself must not cost its square.
    if (others.length < 8) demands.set(key, [...others, demand]);
  }
  return null;
}

interface Demand {
  subject: string;
  predicate: string;
  negative: boolean;
  said: string;
}

const DEMAND =
  /^(.*?)\b(must|should|shall|will|can|may|has to|have to|needs to|need to)(n't| not| never)?(?: always)? (.+)$/i;
const CONDITION =
  /\b(if|when|whenever|unless|except|while|until|before|after|once|only|otherwise|else|but|instead|given|without|for|today|currently|now)\b/i;

function demandOf(sentence: string): Demand | null {
  const said = sentence.trim();
  const found = DEMAND.exec(said.replace(/\bcannot\b/i, 'can not').replace(/\bcan't\b/i, 'can not'));
  if (!found || CONDITION.test(said) || said.endsWith('?')) return null;
  const [, subject = '', , not, rest = ''] = found;
  const predicate = plain(rest);
  return predicate === '' ? null : { subject: plain(subject), predicate, negative: not !== undefined, said };
}

const plain = (text: string): string =>
  text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s/_.-]/gu, '')
    .replace(/\b(the|a|an|please|and|also)\b/g, '')
    .replace(/[\s.]+$/, '')
    .replace(/\s+/g, ' ')
    .trim();

const isSame = (a: string, b: string): boolean => a === b || isPronoun(a) || isPronoun(b);
const isPronoun = (subject: string): boolean => ['', 'it', 'this', 'that', 'they', 'we'].includes(subject);
