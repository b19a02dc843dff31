/** Findings by what they are about: the file they are in, and a pattern in their text. */
import { patternOf } from '../text/pattern.ts';
import type { Finding } from './findings.ts';

interface About {
  file?: string | undefined;
  pattern?: string | undefined;
}

/** So much of a finding is looked at, whatever is written in it. */
const LOOKED_AT = 2000;

export function findingsAbout<T extends Pick<Finding, 'file' | 'message' | 'scenario'>>(
  ledger: readonly T[],
  { file, pattern }: About,
): { ok: true; findings: T[] } | { ok: false; problem: string } {
  const wanted = pattern === undefined ? null : patternOf(pattern);
  if (wanted && !wanted.ok) return wanted;
  const findings = ledger.filter(
    (one) =>
      (file === undefined || isIn(one.file, file)) &&
      (wanted === null || wanted.matches(textOf(one).slice(0, LOOKED_AT))),
  );
  return { ok: true, findings };
}

/** In this file, or below this folder. */
function isIn(of: string | null, place: string): boolean {
  const wanted = place.replace(/^\.\//, '').replace(/\/+$/, '');
  return of === wanted || (of?.startsWith(`${wanted}/`) ?? false);
}

const textOf = ({ file, message, scenario }: Pick<Finding, 'file' | 'message' | 'scenario'>): string =>
  [file, message, scenario].filter((part) => part !== null).join('\n');
