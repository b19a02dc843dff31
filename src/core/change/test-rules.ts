/** Tests that a change takes away or no longer runs, net of what it only moved. */
import type { NewFinding } from './findings.ts';
import type { FilePatch } from './patch.ts';
import { isTest } from './shown-diff.ts';

/** By the names of tests: one that turns up elsewhere in the change was moved. */
export function testsLost(files: readonly FilePatch[]): NewFinding[] {
  const now = new Set(files.flatMap(({ added }) => added.flatMap(({ text }) => testName(text) ?? [])));
  return files.filter(isOfTests).flatMap((file) => {
    const before = file.removed.flatMap(({ text }) => testName(text) ?? []);
    const kept = new Set(before);
    const lost = [...kept].filter((name) => !now.has(name));
    if (lost.length === 0) return [];
    const fresh = file.added.flatMap(({ text }) => testName(text) ?? []).filter((name) => !kept.has(name));
    const names = lost.slice(0, 5).join(', ');
    const isNet = lost.length > fresh.length;
    const message = isNet
      ? `Tests were deleted from ${file.path}: ${names}.`
      : `Tests of ${file.path} were replaced by others: ${names}.`;
    const suggestion = isNet ? 'Bring them back; a wrong test is fixed, not deleted.' : null;
    return [about(file.path, null, message, isNet ? 'sev2' : 'sev3', suggestion)];
  });
}

/** A line that switches a test off, unless the same line was there before. */
export function testsSkipped(files: readonly FilePatch[]): NewFinding[] {
  const gone = new Map<string, number>();
  for (const { removed } of files)
    for (const { text } of removed) if (isSkip(text)) gone.set(text.trim(), (gone.get(text.trim()) ?? 0) + 1);
  return files.filter(isOfTests).flatMap((file) => {
    const fresh = file.added.filter(({ text }) => {
      if (!isSkip(text)) return false;
      const left = gone.get(text.trim()) ?? 0;
      gone.set(text.trim(), left - 1);
      return left <= 0;
    });
    const [first] = fresh;
    if (!first) return [];
    const message = `A test of ${file.path} is switched off: ${first.text.trim().slice(0, 120)}`;
    return [about(file.path, first.line, message, 'sev2', 'Let it run, and fix what it shows.')];
  });
}

const about = (
  file: string,
  line: number | null,
  message: string,
  severity: NewFinding['severity'],
  suggestion: string | null,
): NewFinding => ({ severity, category: 'tests', file, line, message, scenario: null, suggestion });

/** Rust has its tests beside the code. */
const isOfTests = ({ path, from }: FilePatch): boolean =>
  isTest(path) || (from !== null && isTest(from)) || path.endsWith('.rs');

const LONGEST = 1000;

function testName(line: string): string | null {
  const text = line.slice(0, LONGEST);
  const said = /^\s*(?:it|test|specify|scenario|Deno\.test)(?:\.\w+)?\s*\(?\s*(["'`])(.{1,200}?)\1/.exec(
    text,
  )?.[2];
  if (said) return said;
  const named =
    /^\s*(?:async\s+)?def (test_?\w+)/.exec(text) ??
    /^func ((?:Test|Benchmark|Fuzz)\w+)\(/.exec(text) ??
    /^\s*(?:public |private |protected )?(?:function|void|fun) (test\w+)/.exec(text);
  return named?.[1] ?? null;
}

const SKIPS: readonly RegExp[] = [
  /\b(?:it|test|describe|suite|context|specify)\.(?:skip|only|todo|fails|skipIf)\b/,
  /^\s*(?:x(?:it|describe|test|context)|f(?:it|describe))\s*\(/,
  /@(?:pytest\.mark\.(?:skip|skipif|xfail)|unittest\.skip\w*)\b/,
  /\b(?:pytest\.skip|self\.skipTest)\s*\(/,
  /\b[tb]\.Skip(?:Now|f)?\s*\(/,
  /^\s*#\[ignore\b/,
  /^\s*@(?:Disabled|Ignore)\b/,
  /\bmarkTest(?:Skipped|Incomplete)\s*\(/,
  /^\s*@tag :skip\b/,
];

const isSkip = (line: string): boolean => SKIPS.some((skip) => skip.test(line.slice(0, LONGEST)));
