/**
 * A PATH without bubblewrap. Codex's own sandbox takes the machine's where there is one, and then needs helpers that it does
 * not make below a temporary folder, where these tests live.
 */
import { mkdirSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const folder = fileURLToPath(new URL('./node_modules/.path/', import.meta.url));

export function pathWithoutBubblewrap(path: string): string {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const placed = new Set(['bwrap']);
  for (const from of path.split(delimiter))
    for (const name of namesIn(from).filter((one) => !placed.has(one))) {
      placed.add(name);
      symlinkSync(join(from, name), join(folder, name));
    }
  return folder;
}

function namesIn(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}
