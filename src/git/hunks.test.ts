import { describe, expect, it } from 'vitest';
import { shownLines } from './hunks.ts';

const shown = (patch: string) =>
  Object.fromEntries(
    [...shownLines(patch)].map(([name, { left, right }]) => [name, { left: [...left], right: [...right] }]),
  );

describe('the lines a patch shows', () => {
  it('counts context on both sides, deletions on the left, additions on the right', () => {
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
    expect(shown(patch)).toEqual({ 'f.ts': { left: [10, 11, 12, 40], right: [10, 11, 12, 13] } });
  });

  it('knows a new file, a deleted one and one without a newline at its end', () => {
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
    expect(shown(patch)).toEqual({
      'new.txt': { left: [], right: [1, 2] },
      'old.txt': { left: [1], right: [] },
    });
  });

  it('is not misled by content that looks like a header', () => {
    const patch = `--- a/f.md
+++ b/f.md
@@ -1,2 +1,2 @@
--- a/other
+++ b/other
 @@ -1 +1 @@
`;
    expect(shown(patch)).toEqual({ 'f.md': { left: [1, 2], right: [1, 2] } });
  });

  it('reads names with spaces and quoted ones', () => {
    const patch = `--- "a/neu\\nzeile \\303\\244.txt"
+++ "b/neu\\nzeile \\303\\244.txt"
@@ -1 +1 @@
-a
+b
--- a/a b.txt\t
+++ b/a b.txt\t
@@ -1 +1 @@
-a
+b
`;
    expect([...shownLines(patch).keys()]).toEqual(['neu\nzeile ä.txt', 'a b.txt']);
  });
});
