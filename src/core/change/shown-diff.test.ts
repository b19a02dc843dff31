import { describe, expect, test } from 'vitest';
import { type FilePatch, parsePatch } from './patch.ts';
import { isLockfile, isTest, shownDiff } from './shown-diff.ts';

function file(path: string, lines: number, change: Partial<FilePatch> = {}): FilePatch {
  const body = Array.from({ length: lines }, (_, index) => `+line ${index} of it`);
  const patch = `diff --git a/${path} b/${path}\nnew file mode 100644\n--- /dev/null\n+++ b/${path}\n@@ -0,0 +1,${lines} @@\n${body.join('\n')}`;
  return { ...parsePatch(patch)[0]!, ...change };
}
const order = (text: string): string[] =>
  [...text.matchAll(/^diff --git a\/(\S+)/gm)].map(([, path]) => path!);

describe('within the budget', () => {
  test('everything is shown whole, and nothing is said', () => {
    const files = [file('src/a.ts', 3), file('src/b.ts', 3)];
    expect(shownDiff(files, [], 10_000)).toBe(files.map(({ text }) => text).join('\n'));
  });

  test('code comes before tests, tests before settings, settings before prose', () => {
    const files = ['README.md', 'conf.yaml', 'test/a.test.ts', 'src/a.ts'].map((path) => file(path, 1));
    expect(order(shownDiff(files, [], 10_000))).toEqual([
      'src/a.ts',
      'test/a.test.ts',
      'conf.yaml',
      'README.md',
    ]);
  });

  test('what open findings are about comes first', () => {
    const files = [file('src/a.ts', 1), file('README.md', 1)];
    expect(order(shownDiff(files, [], 10_000, new Set(['README.md'])))[0]).toBe('README.md');
  });
});

describe('generated, lock and binary files', () => {
  test.each([
    ['package-lock.json', {}],
    ['sub/Cargo.lock', {}],
    ['a.min.js', {}],
    ['src/__snapshots__/a.test.ts.snap', {}],
    ['logo.png', { isBinary: true }],
  ])('%s is named with its size, not shown', (path, change) => {
    const text = shownDiff(
      [file(path, 3, change), file('src/a.ts', 1)],
      [{ path, sha: 'x', bytes: 1234, bytesBefore: null }],
      10_000,
    );
    expect(order(text)).toEqual(['src/a.ts']);
    expect(text).toContain(`- ${path}: added, +3 −0 lines, 1234 bytes`);
  });

  test('a file that calls itself generated is shown: that is a way to hide code', () => {
    const sly = parsePatch(
      'diff --git a/src/a.ts b/src/a.ts\n--- a/src/a.ts\n+++ b/src/a.ts\n@@ -1 +1,2 @@\n+// @generated DO NOT EDIT\n+steal();\n-x',
    );
    expect(shownDiff(sly, [], 10_000)).toContain('steal();');
  });
});

describe('beyond the budget', () => {
  test('a long file is cut at a line and says so; short ones stay whole', () => {
    const text = shownDiff([file('src/long.ts', 1000), file('src/short.ts', 5)], [], 3000);
    expect(text).toContain(file('src/short.ts', 5).text);
    expect(text).toMatch(/\+line \d+ of it\n… cut: \d+ more lines of the change to src\/long\.ts/);
    const cut = Number(/cut: (\d+) more/.exec(text)?.[1]);
    expect(cut + (text.match(/^\+line/gm)?.length ?? 0)).toBe(1005);
    expect(text.length).toBeLessThan(3300);
  });

  test('two long files share what the short one leaves', () => {
    const text = shownDiff([file('src/a.ts', 500), file('src/b.ts', 500), file('src/c.ts', 1)], [], 4000);
    const shown = (path: string) =>
      text.split('diff --git ').find((part) => part.startsWith(`a/${path}`))!.length;
    expect(Math.abs(shown('src/a.ts') - shown('src/b.ts'))).toBeLessThan(100);
    expect(shown('src/a.ts')).toBeGreaterThan(1500);
  });

  test('more files than fit: the last ones are named, none is forgotten', () => {
    const files = Array.from({ length: 1000 }, (_, index) => file(`src/f${index}.ts`, 40));
    const text = shownDiff(files, [], 20_000);
    expect(order(text)).toHaveLength(50);
    expect(text).toContain('Not shown, for want of room');
    expect(text).toContain('- src/f50.ts: +40 −0 lines');
    expect(text).toContain('- and 450 more files');
  });
});

test.each([
  ['src/a.test.ts', true],
  ['tests/a.py', true],
  ['pkg/a_test.go', true],
  ['test_a.py', true],
  ['src/__tests__/a.js', true],
  ['src/latest.ts', false],
  ['src/contest/a.ts', false],
])('%s is a test: %s', (path, expected) => {
  expect(isTest(path)).toBe(expected);
});

test.each([
  ['package-lock.json', true],
  ['a/go.sum', true],
  ['constructor', false],
  ['toString', false],
])('%s is a lock file: %s', (path, expected) => {
  expect(isLockfile(path)).toBe(expected);
});
