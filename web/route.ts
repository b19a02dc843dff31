/** Where in the dashboard one is, as the address says it: every state can be linked. */
import { useEffect, useState } from 'preact/hooks';

export interface Place {
  /** `tasks`, `3f2a91c0`. */
  path: string[];
  query: URLSearchParams;
}

const here = (): Place => ({
  path: location.pathname.split('/').filter(Boolean).map(decodeURIComponent),
  query: new URLSearchParams(location.search),
});

const movers = new Set<() => void>();
const moved = (): void => {
  for (const move of movers) move();
};
addEventListener('popstate', moved);

export function go(to: string, how: 'push' | 'replace' = 'push'): void {
  history[how === 'push' ? 'pushState' : 'replaceState'](null, '', to);
  moved();
  if (how === 'push') {
    scrollTo(0, 0);
    document.querySelector<HTMLElement>('main')?.focus({ preventScroll: true });
  }
}

/** The same place with another part of the query; nothing of it is left when it is empty. */
export function ask(changes: Record<string, string | null>): void {
  const { query } = here();
  for (const [key, value] of Object.entries(changes)) {
    if (value === null || value === '') query.delete(key);
    else query.set(key, value);
  }
  const text = query.toString();
  go(`${location.pathname}${text ? `?${text}` : ''}`, 'replace');
}

export function usePlace(): Place {
  const [place, setPlace] = useState(here);
  useEffect(() => {
    const move = (): void => setPlace(here());
    movers.add(move);
    return () => void movers.delete(move);
  }, []);
  return place;
}

/** Links of ours move within the page; with a key held, or to elsewhere, the browser does what it does. */
export function followLink(event: MouseEvent): void {
  const link = (event.target as Element | null)?.closest('a');
  if (!link || event.defaultPrevented || event.button !== 0) return;
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey || link.target) return;
  if (link.origin !== location.origin || link.pathname.startsWith('/api/') || link.hash) return;
  event.preventDefault();
  go(`${link.pathname}${link.search}`);
}

export const taskLink = (id: string): string => `/tasks/${encodeURIComponent(id)}`;
export const issueLink = (issue: number): string => `/issues/${issue}`;
