/** Where a repository keeps its objects: its own, those of Git LFS and of its submodules, and what each borrows. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

export function objectStores(gitDir: string): string[] {
  const own = join(gitDir, 'objects');
  const large = join(gitDir, 'lfs', 'objects');
  return [
    ...withBorrowed(own, new Set()),
    ...(existsSync(large) ? [large] : []),
    ...modulesIn(join(gitDir, 'modules')).flatMap(objectStores),
  ];
}

function withBorrowed(objects: string, seen: Set<string>): string[] {
  if (seen.has(objects) || !existsSync(objects)) return [];
  seen.add(objects);
  const lines = textIn(join(objects, 'info', 'alternates')).split('\n');
  const borrowed = lines.filter((line) => line !== '' && !line.startsWith('#'));
  return [objects, ...borrowed.flatMap((path) => withBorrowed(resolve(objects, path), seen))];
}

/** The name of a submodule may have slashes in it. */
function modulesIn(folder: string): string[] {
  return namesIn(folder).flatMap((name) => {
    const path = join(folder, name);
    return existsSync(join(path, 'objects')) ? [path] : modulesIn(path);
  });
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => name);
  } catch {
    return [];
  }
}

function textIn(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
