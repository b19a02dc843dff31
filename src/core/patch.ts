/**
 * A patch as git prints it, taken apart by file. The content is the agent's: a line inside a hunk that looks like a
 * header is a line, because the hunk said how many lines it has.
 */

export interface FilePatch {
  /** The name at the head; at the base when it is deleted. */
  path: string;
  /** The name at the base when it is another. */
  from: string | null;
  kind: 'added' | 'deleted' | 'modified';
  isBinary: boolean;
  /** This file's part of the patch, as it is. */
  text: string;
  added: PatchLine[];
  removed: PatchLine[];
}

export interface PatchLine {
  /** Its number at the head, or at the base when it was removed. */
  line: number;
  text: string;
}

export function parsePatch(patch: string): FilePatch[] {
  const files: FilePatch[] = [];
  let lines: string[] = [];
  let file: FilePatch | null = null;
  /** Where we are in the hunk, and what is left of it. */
  const hunk = { old: 0, new: 0, oldLeft: 0, newLeft: 0 };

  const finish = (): void => {
    if (file) file.text = lines.join('\n');
    lines = [];
  };
  for (const line of patch.split('\n')) {
    if (hunk.oldLeft > 0 || hunk.newLeft > 0) readHunkLine(line);
    else if (line.startsWith('diff --git ')) {
      finish();
      file = fileOf(line);
      files.push(file);
    } else if (file) readHeader(file, line);
    lines.push(line);
  }
  finish();
  return files;

  function readHunkLine(line: string): void {
    const sign = line[0] ?? ' ';
    if (sign === '\\') return;
    if (sign === '+') file?.added.push({ line: hunk.new, text: line.slice(1) });
    if (sign === '-') file?.removed.push({ line: hunk.old, text: line.slice(1) });
    if (sign !== '+') {
      hunk.old += 1;
      hunk.oldLeft -= 1;
    }
    if (sign !== '-') {
      hunk.new += 1;
      hunk.newLeft -= 1;
    }
  }

  function readHeader(current: FilePatch, line: string): void {
    const counts = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/.exec(line);
    if (counts) {
      hunk.old = Number(counts[1]);
      hunk.oldLeft = Number(counts[2] ?? 1);
      hunk.new = Number(counts[3]);
      hunk.newLeft = Number(counts[4] ?? 1);
    } else if (line.startsWith('new file mode')) current.kind = 'added';
    else if (line.startsWith('deleted file mode')) current.kind = 'deleted';
    else if (line.startsWith('rename from ')) current.from = unquoted(line.slice('rename from '.length));
    else if (line.startsWith('rename to ')) current.path = unquoted(line.slice('rename to '.length));
    else if (line.startsWith('Binary files ') || line === 'GIT binary patch') current.isBinary = true;
    else if (line.startsWith('--- ') && line !== '--- /dev/null' && current.kind === 'deleted')
      current.path = named(line);
    else if (line.startsWith('+++ ') && line !== '+++ /dev/null') current.path = named(line);
  }
}

/** Until a better line comes: the two names of this one are the same unless it is a rename, which says so itself. */
function fileOf(line: string): FilePatch {
  const names = line.slice('diff --git '.length);
  const half = names.slice(names.length / 2 + 1);
  const path = unquoted(half).replace(/^b\//, '');
  return { path, from: null, kind: 'modified', isBinary: false, text: '', added: [], removed: [] };
}

/** git puts a tab after a name with spaces in these lines. */
const named = (line: string): string => unquoted(line.slice(4).replace(/\t$/, '')).replace(/^[ab]\//, '');

/** Names with control characters, quotes or backslashes are written as C strings. */
function unquoted(name: string): string {
  if (!name.startsWith('"') || !name.endsWith('"')) return name;
  const bytes: number[] = [];
  const inner = Buffer.from(name.slice(1, -1), 'utf8');
  for (let at = 0; at < inner.length; at++) {
    if (inner[at] !== BACKSLASH) {
      bytes.push(inner[at]!);
      continue;
    }
    const octal = /^[0-7]{3}/.exec(inner.toString('latin1', at + 1, at + 4))?.[0];
    const letter = String.fromCharCode(inner[at + 1] ?? 0);
    bytes.push(octal ? Number.parseInt(octal, 8) : (ESCAPES[letter] ?? letter.charCodeAt(0)));
    at += octal ? 3 : 1;
  }
  return Buffer.from(bytes).toString('utf8');
}

const BACKSLASH = 0x5c;
const ESCAPES: Record<string, number> = { a: 7, b: 8, t: 9, n: 10, v: 11, f: 12, r: 13 };
