/** The bodies of calls, which are read whole before anything is decided: how much of them is in memory at once. */
import type { IncomingMessage } from 'node:http';

const MIB = 1024 * 1024;
/** More than any provider takes. */
export const LARGEST_BODY = 64 * MIB;
/** Of one door, and of all together: nobody who comes through a door can use up the loop's memory. */
const MOST_OF_DOOR = 128 * MIB;
const MOST_OF_ALL = 256 * MIB;

export interface Bodies {
  /** Those of one door. */
  ofDoor(): Bodies;
  /** False when there is no room for so many more bytes. */
  take(bytes: number): boolean;
  give(bytes: number): void;
}

export function bodies(most = MOST_OF_ALL, above: Bodies | null = null): Bodies {
  let taken = 0;
  const own: Bodies = {
    ofDoor: () => bodies(MOST_OF_DOOR, own),
    take(bytes) {
      if (taken + bytes > most || !(above?.take(bytes) ?? true)) return false;
      taken += bytes;
      return true;
    },
    give(bytes) {
      taken -= bytes;
      above?.give(bytes);
    },
  };
  return own;
}

/** Or why it was not read to its end: too large for anybody, or for now. Whoever got it gives it back. */
export async function bodyOf(
  request: IncomingMessage,
  kept: Bodies,
): Promise<Buffer | 'too large' | 'too busy'> {
  const chunks: Buffer[] = [];
  let length = 0;
  let problem: 'too large' | 'too busy' | null = null;
  try {
    for await (const chunk of request as AsyncIterable<Buffer>) {
      if (problem) continue;
      if (length + chunk.length > LARGEST_BODY) problem = 'too large';
      else if (!kept.take(chunk.length)) problem = 'too busy';
      else {
        length += chunk.length;
        chunks.push(chunk);
        continue;
      }
      chunks.length = 0;
      kept.give(length);
      length = 0;
    }
  } catch (error) {
    kept.give(length);
    throw error;
  }
  return problem ?? Buffer.concat(chunks);
}
