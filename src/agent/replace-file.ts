/** Small files that tell of a turn: whoever dies meanwhile leaves the one before, or this one, never half of it. */
import { renameSync, writeFileSync } from 'node:fs';

export function replaceFile(path: string, text: string): void {
  const draft = `${path}.new`;
  writeFileSync(draft, text, { flush: true });
  renameSync(draft, path);
}
