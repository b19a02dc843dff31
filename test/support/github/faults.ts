/** What goes wrong on demand. Each fault is used up by the requests it matches, in the order they were asked for. */
import { says } from './error-texts.ts';

export interface Fault {
  method?: string;
  /** Matched against path and query, without the API prefix: `/repos/o/r/issues?state=open`; `/graphql mutation`, with its names. */
  path?: RegExp;
  /** Looked at last; whatever else matters to the test. */
  when?(method: string, path: string): boolean;
  /** How many requests it hits; one unless told. */
  times?: number;
  /**
   * `answer`: this status instead of doing anything. `errors`: GraphQL's way to refuse. `lose`: everything is done, then the
   * connection breaks, after whatever else is to go with it. `garble`: what `change`, a reviver of JSON, makes of the answer,
   * known to GitHub's description or not. `stale`: what the same question was answered last time. `hang`: nothing is done and
   * no answer comes. `meanwhile`: somebody else does something just before.
   */
  how:
    | {
        kind: 'answer';
        status: number;
        message?: string;
        /** Instead of an error's. */
        body?: unknown;
        /** A page for people, as a proxy has for what is behind it. */
        page?: string;
        headers?: Record<string, string>;
      }
    | { kind: 'errors'; errors: { type: string; message: string }[] }
    | { kind: 'lose'; also?: () => Promise<unknown> }
    | { kind: 'garble'; change: (key: string, value: unknown) => unknown }
    | { kind: 'stale' }
    | { kind: 'hang' }
    | { kind: 'meanwhile'; act: () => Promise<unknown> };
}

export interface Faults {
  add(fault: Fault): void;
  /** The fault that hits this request now, if any. */
  hit(method: string, path: string): Fault['how'] | null;
  /** Asked for and not used up yet. */
  pending(): number;
  clear(): void;
}

export function createFaults(): Faults {
  let waiting: (Fault & { left: number })[] = [];
  return {
    add: (fault) => waiting.push({ ...fault, left: fault.times ?? 1 }),
    hit(method, path) {
      const found = waiting.find(
        (fault) =>
          (fault.method ?? method) === method &&
          (fault.path?.test(path) ?? true) &&
          (fault.when?.(method, path) ?? true),
      );
      if (!found) return null;
      found.left -= 1;
      if (found.left === 0) waiting = waiting.filter((fault) => fault !== found);
      return found.how;
    },
    pending: () => waiting.length,
    clear: () => {
      waiting = [];
    },
  };
}

/** The answers GitHub documents for its limits. */
export const LIMITS = {
  /** GraphQL says it with 200. */
  graphql: (type: 'RATE_LIMIT' | 'RATE_LIMITED'): Fault['how'] => ({
    kind: 'answer',
    status: 200,
    body: { errors: [{ type, code: 'graphql_rate_limit', message: says('graphqlLimit', { id: 1 }) }] },
  }),
  secondary: (retryAfterSeconds: number): Fault['how'] => ({
    kind: 'answer',
    status: 403,
    message: says('secondaryLimit', { id: 'FA2D:87B1' }),
    headers: { 'retry-after': String(retryAfterSeconds) },
  }),
  tooMany: (retryAfterSeconds: number): Fault['how'] => ({
    kind: 'answer',
    status: 429,
    message: says('secondaryLimit', { id: 'FA2D:87B1' }),
    headers: { 'retry-after': String(retryAfterSeconds) },
  }),
};
