/**
 * A patch as git prints it, taken apart by file; that of a merge is read against its first parent. The content is the
 * agent's: a line inside a hunk that looks like a header is a line, because the hunk said how many lines it has.
 */

export interface FilePatch {
  /** The name at the head; at the base when it is deleted. */
  path: string;
  /** The name at the base when it is another. */
  from: string | null;
  kind: 'added' | 'deleted' | 'modified';
  isBinary: boolean;
  /** The file's blob at the head, as long as the patch writes it; null when only its name or mode changed. */
  blob: string | null;
  /** This file's part of the patch, as it is. */
  text: string;
  added: PatchLine[];
  removed: PatchLine[];
  /** Which lines of either side are shown, context and all. */
  hunks: { old: Span; new: Span }[];
}

interface PatchLine {
  /** Its number at the head, or at the base when it was removed. */
  line: number;
  text: string;
}

interface Span {
  first: number;
  count: number;
}

export function parsePatch(patch: string): FilePatch[] {
  const files: FilePatch[] = [];
  let lines: string[] = [];
  let file: FilePatch | null = null;
  let sides: Side[] = [];

  const finish = (): void => {
    if (file) file.text = lines.join('\n');
    lines = [];
  };
  for (const line of patch.split('\n')) {
    if (file && sides.some(({ left }) => left > 0)) readHunkLine(file, sides, line);
    else if (/^diff --(?:git|cc|combined) /.test(line)) {
      finish();
      file = fileOf(line);
      files.push(file);
    } else if (file) sides = hunkAt(file, line) ?? readHeader(file, line);
    lines.push(line);
  }
  finish();
  return files;
}

/** A remark can only be attached to a line that the patch shows. */
export const showsLine = (
  files: readonly FilePatch[],
  path: string,
  side: 'old' | 'new',
  line: number,
): boolean =>
  files
    .filter((file) => file.path === path)
    .some(({ hunks }) => hunks.some(({ [side]: { first, count } }) => line >= first && line < first + count));

/** Where we are in a hunk on one side, and what is left of it. The head is the last of the sides. */
interface Side {
  line: number;
  left: number;
}

/** `@@ -1,2 +1,3 @@`, of a merge `@@@ -1,2 -1,2 +1,3 @@@`. */
function hunkAt(file: FilePatch, line: string): Side[] | null {
  const ranges = /^@@+((?: [-+]\d+(?:,\d+)?)+) @@/.exec(line)?.[1];
  if (ranges === undefined) return null;
  const spans = [...ranges.matchAll(/(\d+)(?:,(\d+))?/g)].map(
    ([, first, count]): Span => ({ first: Number(first), count: Number(count ?? 1) }),
  );
  file.hunks.push({ old: spans[0]!, new: spans.at(-1)! });
  return spans.map(({ first, count }) => ({ line: first, left: count }));
}

/** A line has one sign for each parent; one that is gone from the head has a minus for those that had it. */
function readHunkLine(file: FilePatch, sides: readonly Side[], line: string): void {
  if (line.startsWith('\\')) return;
  const parents = sides.length - 1;
  const signs = line.slice(0, parents).padEnd(parents);
  const text = line.slice(parents);
  if (signs[0] === '+') file.added.push({ line: sides[parents]!.line, text });
  if (signs[0] === '-') file.removed.push({ line: sides[0]!.line, text });
  const isGone = signs.includes('-');
  for (const [index, side] of sides.entries()) {
    const isThere = index === parents ? !isGone : signs[index] === (isGone ? '-' : ' ');
    if (!isThere) continue;
    side.line += 1;
    side.left -= 1;
  }
}

function readHeader(file: FilePatch, line: string): Side[] {
  if (line.startsWith('new file mode')) file.kind = 'added';
  else if (line.startsWith('deleted file mode')) file.kind = 'deleted';
  else if (line.startsWith('rename from ')) file.from = unquoted(line.slice('rename from '.length));
  else if (line.startsWith('rename to ')) file.path = unquoted(line.slice('rename to '.length));
  else if (line.startsWith('index ')) file.blob = /\.\.([0-9a-f]+)/.exec(line)?.[1] ?? null;
  else if (line.startsWith('Binary files ') || line === 'GIT binary patch') file.isBinary = true;
  else if (line.startsWith('--- ') && line !== '--- /dev/null' && file.kind === 'deleted')
    file.path = named(line);
  else if (line.startsWith('+++ ') && line !== '+++ /dev/null') file.path = named(line);
  return [];
}

/** Until a better line comes: the two names of this one are the same unless it is a rename, which says so itself. */
function fileOf(line: string): FilePatch {
  const [, way, names = ''] = /^diff --(\w+) (.*)$/.exec(line) ?? [];
  const path =
    way === 'git' ? unquoted(names.slice(names.length / 2 + 1)).replace(/^b\//, '') : unquoted(names);
  return {
    path,
    from: null,
    kind: 'modified',
    isBinary: false,
    blob: null,
    text: '',
    added: [],
    removed: [],
    hunks: [],
  };
}

/** git puts a tab after a name with spaces in these lines. */
const named = (line: string): string => unquoted(line.slice(4).replace(/\t$/, '')).replace(/^[ab]\//, '');

/** Names with control characters, quotes or backslashes are written as C strings. */
function unquoted(name: string): string {
  if (!name.startsWith('"') || !name.endsWith('"')) return name;
  const parts = name.slice(1, -1).matchAll(/\\([0-7]{3})|\\(.)|[^\\]+/gu);
  const bytes = [...parts].map(([plain, octal, letter]) => {
    if (octal !== undefined) return Buffer.from([Number.parseInt(octal, 8)]);
    return letter === undefined ? Buffer.from(plain) : Buffer.from(ESCAPES[letter] ?? letter);
  });
  return Buffer.concat(bytes).toString('utf8');
}

const ESCAPES: Record<string, string> = {
  a: '\x07',
  b: '\b',
  t: '\t',
  n: '\n',
  v: '\v',
  f: '\f',
  r: '\r',
};
