/** What is known about commits, so much of it. What two of them have in common can be found by either. */

export interface Facts {
  has(key: string): boolean;
  get(key: string): unknown;
  /** What was set longest ago is forgotten first. */
  set(key: string, fact: unknown): void;
  delete(key: string): void;
  /** The commits whose base with this one is known. */
  comparedWith(id: string): string[];
}

/** A commit that is made adds one for each branch that waits to land. */
const MOST = 5000;

export const baseKey = (one: string, other: string): string => `base ${[one, other].sort().join(' ')}`;

export function createFacts(most = MOST): Facts {
  const facts = new Map<string, unknown>();
  const compared = new Map<string, Set<string>>();

  const forget = (key: string): void => {
    facts.delete(key);
    for (const [one, other] of pairsOf(key)) {
      compared.get(one)?.delete(other);
      if (compared.get(one)?.size === 0) compared.delete(one);
    }
  };

  return {
    has: (key) => facts.has(key),
    get: (key) => facts.get(key),
    set(key, fact) {
      facts.delete(key);
      facts.set(key, fact);
      for (const [one, other] of pairsOf(key)) compared.set(one, (compared.get(one) ?? new Set()).add(other));
      const [oldest] = facts.keys();
      if (facts.size > most) forget(oldest!);
    },
    delete: forget,
    comparedWith: (id) => [...(compared.get(id) ?? [])],
  };
}

/** Each of the two commits that a base is of, with the other. */
function pairsOf(key: string): [string, string][] {
  const [kind, one, other] = key.split(' ');
  return kind === 'base'
    ? [
        [one!, other!],
        [other!, one!],
      ]
    : [];
}
