/**
 * A short name for a text or a value: the same at any time and place. Names are kept in databases, markers of comments and
 * names of branches, so each place keeps its length.
 */
import { createHash } from 'node:crypto';

export const digestOf = (text: string, chars: number): string =>
  createHash('sha256').update(text).digest('hex').slice(0, chars);

export const digestOfValue = (value: unknown): string => digestOf(JSON.stringify(value), 16);
