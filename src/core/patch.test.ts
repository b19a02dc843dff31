import { describe, expect, test } from 'vitest';
import { parsePatch } from './patch.ts';

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

  test('nothing is no file', () => {
    expect(parsePatch('')).toEqual([]);
  });
});
