/** A short name for a value: equal for equal ones, whatever the order of their keys. */
import { createHash } from 'node:crypto';

export const fingerprint = (...values: unknown[]): string =>
  createHash('sha256').update(JSON.stringify(values, sorted)).digest('base64url').slice(0, 22);

const sorted = (_key: string, value: unknown): unknown =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)))
    : value;
