/** What the page will ask for first is asked for before its code is here: the answer is on its way while that is read. */
import { lookedLast } from './seen.ts';

type Input = Record<string, unknown>;

export function pathOf(name: string, input: Input): string {
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(input))
    if (value !== undefined && value !== null) query.set(key, String(value));
  return `/api/${name}?${query}`;
}

const asked = new Map<string, Promise<Response>>();

export function askAhead(): void {
  const first: [string, Input][] = [['status', { live: true }]];
  if (location.pathname === '/') first.unshift(['morning', { since: lookedLast() ?? '12h' }]);
  for (const path of first.map(([name, input]) => pathOf(name, input))) {
    const answer = fetch(path);
    // Whoever takes it says so.
    answer.catch(() => {});
    asked.set(path, answer);
  }
}

/** Taken once: whoever asks again wants to know what is by then. */
export function ask(path: string): Promise<Response> {
  const answer = asked.get(path);
  asked.delete(path);
  return answer ?? fetch(path);
}
