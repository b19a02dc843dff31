/** What strangers wrote may turn letters round or hide some: such characters are spelled out, as in the terminal. */
import { visible } from '../src/core/words/visible.ts';

/** These name something to the server, and are made visible where they are shown. */
const NAMES = new Set(['path', 'file', 'from', 'log', 'logs', 'input']);

export const parsed = (text: string): unknown => shown(JSON.parse(text));

function shown(value: unknown): unknown {
  if (typeof value === 'string') return visible(value);
  if (Array.isArray(value)) return value.map(shown);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => [key, NAMES.has(key) && !isWithin(one) ? one : shown(one)]),
  );
}

const isWithin = (value: unknown): boolean =>
  Array.isArray(value) && value.some((one) => typeof one === 'object' && one !== null);
