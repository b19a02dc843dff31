/** A folder of ours alone, for files that live as long as one step. */
import { mkdtempSync, rmdirSync, rmSync, unlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

interface TempFolder {
  path: string;
  /** With these files, which are removed without a search, and with all else that is in it. */
  remove(files: readonly string[]): void;
}

export function tempFolder(purpose: string): TempFolder {
  const path = mkdtempSync(join(tmpdir(), `forge-${purpose}-`));
  return { path, remove: (files) => removeFolder(path, files) };
}

function removeFolder(path: string, files: readonly string[]): void {
  try {
    for (const file of files) unlinkSync(join(path, file));
    rmdirSync(path);
  } catch {
    // One of them was never made, or there are others.
    rmSync(path, { recursive: true, force: true });
  }
}
