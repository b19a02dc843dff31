/** When files were last written, as a sign of life of whoever writes them. */
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';

/** Of these files and of all below these folders; links are not followed. Null when there is none. */
export async function lastWrite(paths: readonly string[]): Promise<number | null> {
  const files = (await Promise.all(paths.map(filesOf))).flat();
  const times = await Promise.all(
    files.map((path) =>
      stat(path).then(
        ({ mtimeMs }) => mtimeMs,
        () => 0,
      ),
    ),
  );
  const latest = Math.max(0, ...times);
  return latest === 0 ? null : Math.floor(latest);
}

async function filesOf(path: string): Promise<string[]> {
  const entries = await readdir(path, { recursive: true, withFileTypes: true }).catch(() => null);
  if (!entries) return [path];
  return entries.flatMap((entry) => (entry.isFile() ? [join(entry.parentPath, entry.name)] : []));
}
