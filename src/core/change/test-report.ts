/** What a command reports about its tests, whatever the format: each by name, and how it came out. */
import { digestOf } from '../text/digest.ts';

export interface TestCase {
  name: string;
  outcome: 'passed' | 'failed' | 'skipped';
  /** Where it is, from a format that tells it of failures only. */
  file?: string;
  /** No test, but a whole suite that failed: once it is mended, nothing of this name is reported. */
  isSuite?: true;
}

/** The tests that ran, by name; a name may be there twice. */
export interface TestsRun {
  passed: string[];
  failed: string[];
}

export interface TestReport extends TestsRun {
  /** As `failed`, each told from others of the same name. */
  failing: string[];
  skipped: string[];
}

/**
 * Null when the report proves nothing: it has no test that passed, so whatever ran may not have come to testing; or
 * more than anybody would compare.
 */
export function testReport(cases: readonly TestCase[]): TestReport | null {
  const of = (outcome: TestCase['outcome']): TestCase[] => cases.filter((one) => one.outcome === outcome);
  const names = (some: readonly TestCase[]): string[] => some.map(({ name }) => short(name));
  const passed = names(of('passed'));
  const failing = numbered(of('failed').map(fullName)).map(short);
  if (passed.length === 0 || failing.length > MOST_FAILING) return null;
  if (passed.join(' ').length > MOST_CHARACTERS) return null;
  const failed = names(of('failed').filter(({ isSuite }) => !isSuite));
  return { passed, failed, failing, skipped: names(of('skipped')) };
}

const fullName = ({ name, file }: TestCase): string => (file ? `${file}: ${name}` : name);

function numbered(names: readonly string[]): string[] {
  const times = new Map<string, number>();
  return names.map((name) => {
    const seen = (times.get(name) ?? 0) + 1;
    times.set(name, seen);
    return seen === 1 ? name : `${name} (${seen})`;
  });
}

/**
 * The tests that ran before and that this report has lost. Of what could not be loaded or compiled most runners report
 * nothing at all, so a test that is not there any more is no test that passes.
 *
 * One that passed has to be there by its name. One that failed may have failed in place of those it stands for (a file,
 * a suite), and may be gone with what was wrong: it is enough that others of its file or suite are there.
 */
export function vanishedTests(before: TestsRun, now: TestReport): string[] {
  const reported = [...now.passed, ...now.failed, ...now.skipped];
  const left = new Map<string, number>();
  for (const name of reported) left.set(name, (left.get(name) ?? 0) + 1);
  const isLost = (name: string): boolean => {
    const count = left.get(name) ?? 0;
    left.set(name, count - 1);
    return count <= 0;
  };
  const known = new Set(reported.flatMap((name) => [name, ...suitesOf(name)]));
  const isKnown = (name: string): boolean => known.has(name) || known.has(suitesOf(name).at(-1) ?? name);
  return [...before.passed.filter(isLost), ...before.failed.filter((name) => !isKnown(name))];
}

/** `file: suite > test` is in `file` and in `file: suite`. */
const suitesOf = (name: string): string[] =>
  [...name.matchAll(/: | > /g)].map(({ index }) => name.slice(0, index));

const MOST_FAILING = 500;
const MOST_CHARACTERS = 4_000_000;
const LONGEST = 300;

/** A long name is told from others that begin alike. */
function short(name: string): string {
  if (name.length <= LONGEST) return name;
  return `${name.slice(0, LONGEST)}… ${digestOf(name, 12)}`;
}

/** A test's file without the tree it was run in and without a place in the file, which a change above it moves. */
export function fileIn(root: string, location: string): string {
  const path = location.replace(/^file:\/\//, '').replace(/(?::\d+){1,2}$/, '');
  return path.startsWith(`${root}/`) ? path.slice(root.length + 1) : path;
}
