/**
 * What a provider says instead of an answer. Each wire has a file with a table of what its provider sends and what that
 * means; agents of every kind find out what was said and ask those tables, so that one error means the same whoever
 * carried it. Words are looked at only where a provider tells two things apart by nothing else, and only in its own
 * error, never in what a model wrote.
 */
import type { Failure, FailureCode } from '../agent.ts';
import { wordsOf } from './words.ts';

export interface Said {
  /** Of HTTP; null when nothing was answered or nobody handed it on. */
  status: number | null;
  type: string | null;
  code: string | null;
  message: string;
}

export interface Row {
  status?: number;
  type?: string;
  code?: string;
  says?: RegExp;
  means: FailureCode;
  /** When it is over, from its words. */
  over?: (message: string) => number | null;
}

/** By the first row that fits; what no row knows goes by its status. */
export function failureSaid(said: Said, rows: readonly Row[]): Failure {
  const message = wordsOf(said.message).slice(0, 2000);
  return knownFailure(said, rows) ?? { code: codeOfStatus(said.status), message, retryAt: null };
}

/** Null when no row fits. */
export function knownFailure(given: Said, rows: readonly Row[]): Failure | null {
  const said = { ...given, message: wordsOf(given.message) };
  const row = rows.find((one) => fits(one, said));
  if (!row) return null;
  return { code: row.means, message: said.message.slice(0, 2000), retryAt: row.over?.(said.message) ?? null };
}

function fits(row: Row, said: Said): boolean {
  const same = (['status', 'type', 'code'] as const).every(
    (field) => row[field] === undefined || row[field] === said[field],
  );
  return same && (row.says?.test(said.message) ?? true);
}

export function codeOfStatus(status: number | null): FailureCode {
  if (status === null || status === 408) return 'network';
  if (status === 402) return 'billing';
  if (status === 401 || status === 403) return 'auth';
  if (status === 404) return 'model_unavailable';
  if (status === 429) return 'rate_limit';
  if (status >= 500) return 'overload';
  return 'invalid_request';
}
