/**
 * The name under which a repository's workspaces, homes and sessions are kept. It stays with the repository: a note in
 * its git directory has it, and the place it was made for, so a folder that was moved goes on with what it had.
 *
 * A copy has the same note. Where the original is still to be found, the copy gets a name of its own. Without a note the
 * name follows from the path, as it did before there were notes.
 */
import { mkdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { keyOfPath } from './paths.ts';
import { replacePlain } from './plain-files.ts';

export interface RepositoryKey {
  key: string;
  /** The git directories it was in before, the latest last. */
  former: readonly string[];
  /** The git directory of the original, when this is a copy that has not been used by itself yet. */
  copyOf: string | null;
}

/** `states` is the folder where each repository has its own by this key. Writes nothing. */
export function readKey(gitDir: string, topLevel: string, states: string): RepositoryKey {
  const note = readNote(gitDir);
  if (note === null) return { key: freshKey(topLevel, states), former: [], copyOf: null };
  const copyOf = originalOf(note, gitDir, states);
  if (copyOf !== null) return { key: freshKey(topLevel, states), former: [], copyOf };
  const former = [...note.former, note.gitDir].filter((place) => place !== gitDir);
  return { key: note.key, former: [...new Set(former)], copyOf: null };
}

/** From now on it is this repository's, wherever it goes. */
export function keepKey(gitDir: string, { key, former }: RepositoryKey, states: string): void {
  const note: Note = { key, gitDir, former: [...former] };
  const before = readNote(gitDir);
  if (JSON.stringify(before) !== JSON.stringify(note)) write(noteIn(gitDir), JSON.stringify(note));
  // Whoever comes to its old place must not take it for theirs.
  if (former.length > 0 && movedTo(key, states) !== gitDir) write(moveOf(key, states), gitDir);
}

/** A key is a name in a folder: nothing else is taken from a file. */
const noteSchema = z.object({
  key: z.string().regex(/^[A-Za-z0-9_-]+$/),
  gitDir: z.string(),
  former: z.array(z.string()),
});
type Note = z.infer<typeof noteSchema>;

const noteIn = (gitDir: string): string => join(gitDir, 'forge-loop', 'repository.json');

function readNote(gitDir: string): Note | null {
  try {
    return noteSchema.parse(JSON.parse(readFileSync(noteIn(gitDir), 'utf8')));
  } catch {
    return null;
  }
}

/** Where the key was made, or has moved since, if another repository is there that has it. */
function originalOf(note: Note, gitDir: string, states: string): string | null {
  const places = [note.gitDir, movedTo(note.key, states)];
  return (
    places.find((place) => place !== null && !isSame(place, gitDir) && readNote(place)?.key === note.key) ??
    null
  );
}

/** The same directory, by whatever path. */
function isSame(one: string, other: string): boolean {
  const [a, b] = [one, other].map((path) => statSync(path, { throwIfNoEntry: false }));
  return a?.dev === b?.dev && a?.ino === b?.ino;
}

/** The first that no repository took with it when it moved away. */
function freshKey(topLevel: string, states: string): string {
  let times = 0;
  while (movedTo(keyOfPath(topLevel, times), states) !== null) times += 1;
  return keyOfPath(topLevel, times);
}

const moveOf = (key: string, states: string): string => join(states, key, 'moved-to');

function movedTo(key: string, states: string): string | null {
  try {
    return readFileSync(moveOf(key, states), 'utf8');
  } catch {
    return null;
  }
}

function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  replacePlain(path, text);
}
