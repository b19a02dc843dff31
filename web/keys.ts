/** Everything by key. Rows are whatever is marked so; buttons say themselves which key presses them. */
import { useEffect } from 'preact/hooks';
import { go } from './route.ts';

export const SHORTCUTS: readonly (readonly [string, string])[] = [
  ['j k', 'next and previous row'],
  ['enter', 'open it'],
  ['a', 'approve, or accept'],
  ['r', 'retry or resume'],
  ['p', 'pause'],
  ['/', 'search'],
  ['?', 'this'],
];

export function useShortcuts(pages: readonly (readonly [string, string])[], help: () => void): void {
  useEffect(() => {
    let isGoing = false;
    const press = (event: KeyboardEvent): void => {
      if (event.metaKey || event.ctrlKey || event.altKey || isTyping(event.target)) return;
      const { key } = event;
      const target = isGoing ? pages.find(([name]) => name === key)?.[1] : undefined;
      isGoing = key === 'g';
      const what =
        target !== undefined
          ? () => go(target)
          : { j: () => step(1), k: () => step(-1), '?': help, '/': search }[key];
      if (what) done(event, what);
      else if (/^[arp]$/.test(key)) done(event, () => choose(key));
    };
    document.addEventListener('keydown', press);
    return () => document.removeEventListener('keydown', press);
  }, []);
}

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  (target.isContentEditable ||
    /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName) ||
    target.closest('dialog[open]') !== null);

function done(event: KeyboardEvent, what: () => void): void {
  event.preventDefault();
  what();
}

const rows = (): HTMLElement[] => [...document.querySelectorAll<HTMLElement>('main [data-row]')];

const current = (): HTMLElement | null => document.activeElement?.closest<HTMLElement>('[data-row]') ?? null;

function step(by: number): void {
  const all = rows();
  const at = current() ? all.indexOf(current()!) : by > 0 ? -1 : all.length;
  const next = all[Math.min(all.length - 1, Math.max(0, at + by))];
  if (!next) return;
  const link = next.matches('a') ? next : (next.querySelector<HTMLElement>('a') ?? next);
  link.focus();
  link.scrollIntoView({ block: 'nearest' });
}

/** Of the row that one is at, else of the page where there is only one thing to do it to. */
function choose(key: string): void {
  const row = current();
  const found =
    (row ?? document.querySelector('main'))?.querySelectorAll<HTMLElement>(`[data-key="${key}"]`) ?? [];
  if (row || found.length === 1) found[0]?.click();
}

function search(): void {
  const field = document.querySelector<HTMLInputElement>('main input[type="search"]');
  if (field) field.focus();
  else go('/board?search=');
}
