/**
 * Links in places that agents may write to. Whoever mounts a path follows them on the host, so one that an agent left there
 * would show to the next start whatever it leads to. Inside such a place it may lead anywhere: who can make it can read that
 * anyway, and tools link to what lies beside them.
 */
import { dirname, isAbsolute, join } from 'node:path';
import { isWithin } from '../core/access/toolchains.ts';
import { SandboxFailed } from '../errors.ts';
import { linkAt, realOf } from './machine.ts';

interface Stray {
  real: string;
  /** What it leads out of. */
  place: string;
}

/** Null when a path leads out of none of these places, or to nothing. */
export function strayOf(path: string, writable: readonly string[]): Stray | null {
  const real = realOf(path);
  if (real === null) return null;
  const place = placesOf(path, writable).find((one) => !isWithin(real, one));
  return place === undefined ? null : { real, place };
}

export function mustNotStray(paths: readonly string[], writable: readonly string[]): void {
  for (const path of paths) {
    const stray = strayOf(path, writable);
    if (stray === null) continue;
    throw new SandboxFailed(
      `${path} leads to ${stray.real}, out of ${stray.place}, which agents may write to: remove that link, or let no role write there`,
    );
  }
}

/** Of these places, those in which a link lies that leads on from the path. */
export function placesOf(path: string, writable: readonly string[]): string[] {
  if (writable.length === 0) return [];
  const links = linksOn(path);
  const places = writable.map((place) => realOf(place) ?? place);
  return places.filter((place) => links.some((link) => link !== place && isWithin(link, place)));
}

const MOST_LINKS = 40;

/** In the folders where they really are. */
function linksOn(path: string): string[] {
  if (realOf(path) === path) return [];
  const links: string[] = [];
  let at = '/';
  let names = path.split('/');
  for (let name = names.shift(); name !== undefined; name = names.shift()) {
    const next = join(at, name);
    const target = linkAt(next);
    if (target === null) {
      at = next;
      continue;
    }
    links.push(next);
    if (links.length > MOST_LINKS) return links;
    at = isAbsolute(target) ? '/' : dirname(next);
    names = [...target.split('/'), ...names];
  }
  return links;
}
