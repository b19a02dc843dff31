/** When files were last written, as a sign of life of whoever writes them. */
import { lstat, opendir } from 'node:fs/promises';
import { join } from 'node:path';

/** An agent can make any number of them; the first ones are sign enough. */
const MOST_FILES = 20_000;

/** Of these files and of those below these folders; links are not followed. Null when there is none. */
export async function lastWrite(paths: readonly string[]): Promise<number | null> {
  const waiting = [...paths];
  let latest = 0;
  let seen = 0;
  for (let path = waiting.shift(); path !== undefined && seen < MOST_FILES; path = waiting.shift()) {
    const found = await lstat(path).catch(() => null);
    if (found?.isFile()) latest = Math.max(latest, found.mtimeMs);
    seen += 1;
    if (found?.isDirectory()) waiting.push(...(await entriesOf(path)));
  }
  return latest === 0 ? null : Math.floor(latest);
}

async function entriesOf(folder: string): Promise<string[]> {
  const names: string[] = [];
  try {
    for await (const { name } of await opendir(folder))
      if (names.push(join(folder, name)) >= MOST_FILES) break;
  } catch {
    // It is gone, or not to be entered.
  }
  return names;
}
