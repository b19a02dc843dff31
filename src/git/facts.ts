/** What is known about commits, so much of it. */

export interface Facts {
  has(key: string): boolean;
  get(key: string): unknown;
  /** What was set longest ago is forgotten first. */
  set(key: string, fact: unknown): void;
  delete(key: string): void;
  /** Higher each time. */
  next(): number;
}

/** A few for each commit that is made, or waits to land. */
const MOST = 5000;

/** Either of the two commits may be named first. */
export const baseKey = (one: string, other: string): string => `base ${[one, other].sort().join(' ')}`;

export function createFacts(most = MOST): Facts {
  const facts = new Map<string, unknown>();
  let count = 0;
  return {
    has: (key) => facts.has(key),
    get: (key) => facts.get(key),
    set(key, fact) {
      facts.delete(key);
      facts.set(key, fact);
      const [oldest] = facts.keys();
      if (facts.size > most) facts.delete(oldest!);
    },
    delete: (key) => void facts.delete(key),
    next: () => (count += 1),
  };
}
