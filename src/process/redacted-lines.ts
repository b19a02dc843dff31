/**
 * Output without its secrets, as it comes: whole lines, so that none is missed because it came in two pieces. A private
 * key has many lines, and is waited for.
 */
import type { Redact } from '../core/access/redact.ts';

interface RedactedLines {
  /** What is ready to be written of all that came. */
  take(chunk: Buffer): Buffer;
  /** All that was kept back. */
  rest(): Buffer;
}

/** Longer lines, and longer keys, are not waited for. */
const MOST_HELD = 64 * 1024;

export function redactedLines(redact: Redact): RedactedLines {
  let held = '';
  // The first call compiles patterns; output that waits for that would be lost with a runner that is killed.
  redact('a: b');
  const give = (end: number): Buffer => {
    const ready = held.slice(0, end);
    held = held.slice(end);
    return Buffer.from(redact(ready), 'latin1');
  };
  return {
    take(chunk) {
      held += chunk.toString('latin1');
      const end = wholeUntil(held);
      return give(held.length - end > MOST_HELD ? held.length : end);
    },
    rest: () => give(held.length),
  };
}

/** Bytes as they are, whatever they mean: a key has none but plain letters. */
export const redactBytes = (bytes: Buffer, redact: Redact): Buffer =>
  Buffer.from(redact(bytes.toString('latin1')), 'latin1');

function wholeUntil(text: string): number {
  const lines = Math.max(text.lastIndexOf('\n'), text.lastIndexOf('\r')) + 1;
  const key = text.lastIndexOf('-----BEGIN ', lines);
  const isOpen =
    key >= 0 && /^.{0,40}PRIVATE KEY/.test(text.slice(key, key + 80)) && !text.includes('-----END ', key);
  return isOpen ? Math.min(lines, key) : lines;
}
