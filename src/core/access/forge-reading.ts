/**
 * What agents may read of the forge in a turn: their repository's issues and pull requests, nothing else and nothing of
 * other repositories. They have no credential; the loop asks for them, within a budget, and only while it has requests to
 * spare. What comes back was written by anybody: `words/forge-text.ts` hands it on as data.
 */

export type ForgeQuestion =
  | { kind: 'issue'; number: number }
  | { kind: 'pull'; number: number }
  | { kind: 'search'; words: string };

/** Something somebody wrote. */
export interface Words {
  /** Null when nobody knows. */
  author: string | null;
  /** What the author is to the repository, in the forge's own word (`member`, `none`); null when it does not say. */
  association: string | null;
  /** Null when nobody knows. */
  at: number | null;
  text: string;
}

/** Some of a list, and how many there are in all. Of what people said it is the newest, in the order it was said. */
export interface Part<T> {
  shown: readonly T[];
  total: number;
}

export interface IssueReading extends Words {
  number: number;
  title: string;
  state: 'open' | 'closed';
  labels: readonly string[];
  comments: Part<Words>;
}

export interface PullReading extends Words {
  number: number;
  title: string;
  state: 'open' | 'draft' | 'closed' | 'merged';
  /** The branch it is of, and the one it is for. */
  from: string;
  into: string;
  /** Of its head as it is now; some may not be shown. */
  checks: Part<{ name: string; state: 'pending' | 'green' | 'red' }>;
  files: Part<{ path: string; added: number; deleted: number }>;
  comments: Part<Words>;
  /** `verdict` in the forge's own word, such as `approved`. */
  reviews: Part<Words & { verdict: string }>;
  /** Each a conversation about one line, from its beginning. */
  threads: Part<{ file: string; line: number | null; isResolved: boolean; said: Part<Words> }>;
}

export interface FoundRow {
  kind: 'issue' | 'pull';
  number: number;
  title: string;
  state: string;
}

/** What was found; null where there is no such issue or pull request. */
export type ForgeReading =
  | { kind: 'issue'; read: IssueReading | null }
  | { kind: 'pull'; read: PullReading | null }
  | { kind: 'search'; read: Part<FoundRow> };

/** The most of each list that is asked for. */
export const SHOWN = {
  comments: 20,
  reviews: 10,
  threads: 15,
  replies: 3,
  files: 100,
  checks: 50,
  found: 20,
};

/** How many requests may still be made, of how many, until when: of the nearest limit. */
export interface RequestsLeft {
  left: number;
  of: number;
  until: number;
}

/** What a question is held against before it is asked. */
export interface ForgeAllowance {
  /** Questions of this turn so far, and how many there may be. */
  asked: number;
  most: number;
  /** Null where nobody counts requests. */
  left: RequestsLeft | null;
}

/** The last fifth is the loop's own: to merge and to answer people matters more than to look something up. */
const KEPT = 0.2;

/** Why it is not asked now, for the agent; null when it may be. */
export function whyNotAsked({ asked, most, left }: ForgeAllowance): string | null {
  if (asked >= most)
    return `the forge was asked ${asked} times in this turn; it is not asked again: go on without`;
  if (left === null || left.left > left.of * KEPT) return null;
  const until = new Date(left.until).toISOString();
  return `the loop keeps its last ${left.left} of ${left.of} requests to the forge for its own work until ${until}: go on without`;
}

/** The words of a search, without anything by which one could steer it: no qualifier, no quotes, no operator. */
export function searchWords(text: string): string[] {
  const words = text.toLowerCase().match(/[\p{L}\p{N}_]+(?:[.-][\p{L}\p{N}_]+)*/gu) ?? [];
  return [...new Set(words)].slice(0, MOST_WORDS);
}

const MOST_WORDS = 10;
