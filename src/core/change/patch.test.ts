import { describe, expect, test } from 'vitest';
import { parsePatch, showsLine } from './patch.ts';

const MODIFIED = `diff --git a/src/a.ts b/src/a.ts
index 1..2 100644
--- a/src/a.ts
+++ b/src/a.ts
@@ -3,3 +3,3 @@ function x() {
 same
-old
+new
 same
@@ -20 +20,2 @@
-last
+last one
+and more
 No newline at end of file`;

const brief = (patch: string) =>
  parsePatch(patch).map(({ path, from, kind, isBinary }) => ({ path, from, kind, isBinary }));

describe('a patch', () => {
  test('lines have the numbers of their side', () => {
    const [file] = parsePatch(MODIFIED);
    expect(file).toMatchObject({ path: 'src/a.ts', from: null, kind: 'modified', text: MODIFIED });
    expect(file?.removed).toEqual([
      { line: 4, text: 'old' },
      { line: 20, text: 'last' },
    ]);
    expect(file?.added).toEqual([
      { line: 4, text: 'new' },
      { line: 20, text: 'last one' },
      { line: 21, text: 'and more' },
    ]);
  });

  test.each<[string, string, object]>([
    [
      'a new file',
      'diff --git a/x y b/x y\nnew file mode 100644\nindex 0..1\n--- /dev/null\n+++ b/x y\t\n@@ -0,0 +1 @@\n+a',
      { path: 'x y', kind: 'added' },
    ],
    [
      'a deleted file',
      'diff --git a/x b/x\ndeleted file mode 100644\nindex 1..0\n--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a',
      { path: 'x', kind: 'deleted' },
    ],
    [
      'a renamed file',
      'diff --git a/old b/new name\nsimilarity index 100%\nrename from old\nrename to new name',
      { path: 'new name', from: 'old' },
    ],
    ['an empty file', 'diff --git a/e b/e\nnew file mode 100644\nindex 0..1', { path: 'e', kind: 'added' }],
    [
      'a binary file',
      'diff --git a/i.png b/i.png\nindex 1..2 100644\nBinary files a/i.png and b/i.png differ',
      { path: 'i.png', isBinary: true },
    ],
    ['a mode', 'diff --git a/m b/m\nold mode 100644\nnew mode 100755', { path: 'm', kind: 'modified' }],
    [
      'a binary file with a name that needs quotes',
      'diff --git "a/\\303\\244 \\"b" "b/\\303\\244 \\"b"\nnew file mode 100644\nindex 0..2\nBinary files /dev/null and "b/\\303\\244 \\"b" differ',
      { path: 'ä "b', kind: 'added', isBinary: true },
    ],
    [
      'a name that needs quotes',
      'diff --git "a/q\\"\\303\\274\\t" "b/q\\"\\303\\274\\t"\n--- "a/q\\"\\303\\274\\t"\n+++ "b/q\\"\\303\\274\\t"\n@@ -1 +1 @@\n-a\n+b',
      { path: 'q"ü\t' },
    ],
  ])('%s', (_what, patch, expected) => {
    expect(brief(patch)).toMatchObject([expected]);
  });

  test('a line that looks like a header is a line', () => {
    const hostile = [
      'diff --git a/a b/a',
      '--- a/a',
      '+++ b/a',
      '@@ -1,2 +1,3 @@',
      '--- a/package.json',
      '+++ b/innocent.md',
      '+diff --git a/z b/z',
      '+@@ -1,99 +1,99 @@',
      ' end',
      'diff --git a/b b/b',
      '--- a/b',
      '+++ b/b',
      '@@ -1 +1 @@',
      '-1',
      '+2',
    ].join('\n');
    const files = parsePatch(hostile);
    expect(files.map(({ path }) => path)).toEqual(['a', 'b']);
    expect(files[0]?.removed).toEqual([{ line: 1, text: '-- a/package.json' }]);
    expect(files[0]?.added.map(({ text }) => text)).toEqual([
      '++ b/innocent.md',
      'diff --git a/z b/z',
      '@@ -1,99 +1,99 @@',
    ]);
  });

  test('a file that becomes a link goes and comes under one name', () => {
    const link = `diff --git a/l b/l
deleted file mode 100644
index 7898192..0000000
--- a/l
+++ /dev/null
@@ -1 +0,0 @@
-a
diff --git a/l b/l
new file mode 120000
index 0000000..2e65efe
--- /dev/null
+++ b/l
@@ -0,0 +1 @@
+a
\\ No newline at end of file
`;
    expect(brief(link)).toMatchObject([
      { path: 'l', kind: 'deleted' },
      { path: 'l', kind: 'added' },
    ]);
  });

  test('lines keep the ends they have, and a blank one may have lost its sign', () => {
    const patch = 'diff --git a/w b/w\n--- a/w\n+++ b/w\n@@ -1,2 +1,3 @@\n a\r\n\n+b\r\n';
    expect(parsePatch(patch)[0]?.added).toEqual([{ line: 3, text: 'b\r' }]);
  });

  test('of a merge is read against its first parent', () => {
    const merge = `diff --cc f
index 5742e7d,c1a9c61..1440081
--- a/f
+++ b/f
@@@ -1,3 -1,3 +1,4 @@@
  a
- M
- c
 -S1
++both
++
+ c
diff --cc q
index 1111111,2222222..3333333
Binary files differ
`;
    const [file, binary] = parsePatch(merge);
    expect(file).toMatchObject({
      path: 'f',
      blob: '1440081',
      removed: [
        { line: 2, text: 'M' },
        { line: 3, text: 'c' },
      ],
      added: [
        { line: 2, text: 'both' },
        { line: 3, text: '' },
        { line: 4, text: 'c' },
      ],
    });
    expect(binary).toMatchObject({ path: 'q', blob: '3333333', isBinary: true });
  });

  test('nothing is no file', () => {
    expect(parsePatch('')).toEqual([]);
  });
});

describe('the lines a patch shows', () => {
  const shown = (patch: string, path: string, side: 'old' | 'new') =>
    Array.from({ length: 60 }, (_, line) => line).filter((line) =>
      showsLine(parsePatch(patch), path, side, line),
    );

  test('are context on both sides, deletions on the old one, additions on the new one', () => {
    const patch = `diff --git a/f.ts b/f.ts
--- a/f.ts
+++ b/f.ts
@@ -10,3 +10,4 @@ function f() {
 ten
-eleven
+ELEVEN
+more
 twelve
@@ -40 +41,0 @@
-forty
`;
    expect(shown(patch, 'f.ts', 'old')).toEqual([10, 11, 12, 40]);
    expect(shown(patch, 'f.ts', 'new')).toEqual([10, 11, 12, 13]);
    expect(shown(patch, 'other.ts', 'new')).toEqual([]);
  });

  test('of a new file, of a deleted one and of one without a newline at its end', () => {
    const patch = `diff --git a/new.txt b/new.txt
new file mode 100644
--- /dev/null
+++ b/new.txt
@@ -0,0 +1,2 @@
+one
+two
\\ No newline at end of file
diff --git a/old.txt b/old.txt
deleted file mode 100644
--- a/old.txt
+++ /dev/null
@@ -1 +0,0 @@
-gone
`;
    expect([shown(patch, 'new.txt', 'old'), shown(patch, 'new.txt', 'new')]).toEqual([[], [1, 2]]);
    expect([shown(patch, 'old.txt', 'old'), shown(patch, 'old.txt', 'new')]).toEqual([[1], []]);
  });
});
