/**
 * What a red run looked like, so that two can be compared: its exit code and its failing lines.
 *
 * Only lines that speak of a failure count (all of them when none does), because a change that adds a passing test
 * prints other passing lines. Numbers are masked, since most are times, lines and totals; a number that counts failures
 * is kept. Where this can't tell two runs apart it must not matter, and where it tells too many apart the gate blocks.
 */
import { digestOfValue } from '../text/digest.ts';

export function failureSignature(exitCode: number | null, tail: string, root: string): string {
  const lines = tail
    .replace(ANSI, '')
    .replaceAll(root, '')
    .split('\n')
    .map((line) => line.replace(/\s+/g, ' ').trim())
    .filter((line) => line !== '');
  const failing = lines.filter((line) => SPEAKS_OF_FAILURE.test(line));
  const shown = (failing.length > 0 ? failing : lines).map(maskNumbers);
  return digestOfValue([exitCode, shown]);
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: terminal colours begin with one
export const ANSI = /\x1b\[[0-9;?]*[A-Za-z]/g;

export const SPEAKS_OF_FAILURE = /fail|error|not ok|panic|exception|assert|expected|traceback|[✗✘✖×✕❌]/i;

/** `3 failed`, `12 errors`, `failures=2` and `# fail 1` count failures; every other number is noise. */
function maskNumbers(line: string): string {
  const named = line.replace(/0x[0-9a-f]+|\b[0-9a-f]{7,40}\b/gi, '#');
  return named.replace(/\d+(?:[.,:]\d+)*/g, (number, at: number) =>
    countsFailures(named, at, number) ? number : '#',
  );
}

function countsFailures(line: string, at: number, number: string): boolean {
  const after = line.slice(at + number.length, at + number.length + 24);
  const before = line.slice(Math.max(0, at - 12), at);
  return (
    /^ ?(?:tests? |suites? |specs? |examples? )?(?:fail|error)/i.test(after) ||
    /(?:fail(?:ed|ures?|ing)?|errors?)(?: ?[=:] ?| )$/i.test(before)
  );
}
