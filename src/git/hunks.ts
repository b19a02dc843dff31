/**
 * Which lines a patch shows: of each file, the numbers on the old side (deleted and context) and on the new side
 * (added and context). A remark can only be attached to a line that is shown.
 */

export interface ShownLines {
  left: Set<number>;
  right: Set<number>;
}

/** By the file's name after the change, or before it where the change deletes the file. */
export function shownLines(patch: string): Map<string, ShownLines> {
  const files = new Map<string, ShownLines>();
  let file: ShownLines | null = null;
  let before: string | null = null;
  /** Lines of the hunk still to come, so that a line of content that looks like a header is not taken for one. */
  let [oldLeft, newLeft, oldAt, newAt] = [0, 0, 0, 0];

  for (const line of patch.split('\n')) {
    if (oldLeft > 0 || newLeft > 0) {
      const sign = line[0] ?? ' ';
      if (sign === '\\') continue;
      if (sign !== '+') {
        file?.left.add(oldAt++);
        oldLeft -= 1;
      }
      if (sign !== '-') {
        file?.right.add(newAt++);
        newLeft -= 1;
      }
      continue;
    }
    const hunk = HUNK.exec(line);
    if (hunk) {
      [oldAt, newAt] = [Number(hunk[1]), Number(hunk[3])];
      [oldLeft, newLeft] = [Number(hunk[2] ?? 1), Number(hunk[4] ?? 1)];
    } else if (line.startsWith('--- ')) {
      before = nameIn(line.slice(4), 'a/');
    } else if (line.startsWith('+++ ')) {
      const name = nameIn(line.slice(4), 'b/') ?? before;
      file = name === null ? null : (files.get(name) ?? { left: new Set(), right: new Set() });
      if (name !== null && file !== null) files.set(name, file);
    }
  }
  return files;
}

const HUNK = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/;

/** Null for /dev/null. git ends a name that has a space with a tab, and quotes what it can't print. */
function nameIn(said: string, prefix: string): string | null {
  const plain = said.replace(/\t$/, '');
  const name = plain.startsWith('"') ? unquoted(plain) : plain;
  return name.startsWith(prefix) ? name.slice(prefix.length) : null;
}

const ESCAPES: Record<string, number> = { a: 7, b: 8, t: 9, n: 10, v: 11, f: 12, r: 13, '"': 34, '\\': 92 };

function unquoted(quoted: string): string {
  const bytes: Buffer[] = [];
  for (const [, octal, letter, other] of quoted.slice(1, -1).matchAll(/\\([0-7]{3})|\\(.)|([^\\]+)/gu)) {
    if (octal !== undefined) bytes.push(Buffer.from([Number.parseInt(octal, 8)]));
    else if (letter !== undefined) bytes.push(Buffer.from([ESCAPES[letter] ?? letter.charCodeAt(0)]));
    else bytes.push(Buffer.from(other ?? ''));
  }
  return Buffer.concat(bytes).toString('utf8');
}
