/** Reads what an answer used while it passes: a stream of events, or one JSON value. */
import type { Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { NOTHING_TOLD, type Told, type Wire } from './wires.ts';

export interface Reading {
  see(chunk: Buffer): void;
  /** After the last chunk. */
  end(): Promise<Told>;
}

const LONGEST = 64 * 1024 * 1024;

export const DECODERS: Readonly<Record<string, () => Transform>> = {
  gzip: createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
};

/** `onTold` hears of the first figures: what began is paid for, whatever becomes of it. */
export function readAnswer(
  wire: Wire,
  { type, encoding }: { type: string; encoding: string },
  onTold: (told: Told) => void,
): Reading {
  let told = NOTHING_TOLD;
  let rest = '';
  let isTooLong = false;
  const text = new TextDecoder();
  const isStream = type.startsWith('text/event-stream');
  const hear = (given: string): void => {
    const before = told;
    const value = parsed(given);
    for (const one of Array.isArray(value) ? value : [value]) told = wire.hear(told, one);
    if (before.usage === null && told.usage !== null) onTold(told);
  };
  const feed = (chunk: Buffer): void => {
    if (isTooLong) return;
    rest += text.decode(chunk, { stream: true });
    if (isStream) {
      const lines = rest.split(/\r?\n/);
      rest = lines.pop() ?? '';
      for (const line of lines) if (line.startsWith('data:')) hear(line.slice('data:'.length));
    }
    isTooLong = rest.length > LONGEST;
    if (isTooLong) rest = '';
  };
  const finish = (): Told => {
    if (!isStream) hear(rest);
    return told;
  };
  const decoder = DECODERS[encoding]?.();
  if (!decoder) return { see: feed, end: async () => finish() };
  const over = new Promise<void>((resolve) => {
    decoder.on('data', feed).once('end', resolve).once('error', resolve).once('close', resolve);
  });
  return {
    see: (chunk) => void decoder.write(chunk),
    async end() {
      decoder.end();
      await over;
      return finish();
    },
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
