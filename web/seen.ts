/** When somebody last looked at the dashboard in this browser. Coming back within half an hour is the same look. */
const SAME_LOOK_MS = 30 * 60_000;
const KEY = 'forge-loop.seen';

interface Seen {
  /** The end of the look before this one. */
  before: string | null;
  last: string;
}

const now = (): string => new Date().toISOString();

function kept(): Seen | null {
  try {
    return JSON.parse(localStorage.getItem(KEY) ?? 'null');
  } catch {
    return null;
  }
}

const found = kept();
const isSame = found !== null && Date.now() - Date.parse(found.last) < SAME_LOOK_MS;
const before = found === null ? null : isSame ? found.before : found.last;

function keep(): void {
  try {
    localStorage.setItem(KEY, JSON.stringify({ before, last: now() } satisfies Seen));
  } catch {
    // A browser that keeps nothing shows the last hours.
  }
}

keep();
addEventListener('visibilitychange', keep);
addEventListener('pagehide', keep);

/** Null when nobody did. */
export const lookedLast = (): string | null => before;
