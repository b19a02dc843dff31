/**
 * A provider's prompt cache, played honestly: what was sent before, byte for byte and in the same order, costs little
 * to send again within five minutes. Nothing is taken on trust; a prefix that differs in one byte is a miss.
 */
import { createHash } from 'node:crypto';

/** A block of the request. Caches end at breakpoints. */
export interface Segment {
  text: string;
  breakpoint: boolean;
}

export interface Charge {
  input: number;
  cacheRead: number;
  cacheWrite: number;
}

export interface PromptCache {
  /** `key`: what the provider routes by, if anything. Another key is another server, which has none of it. */
  charge(model: string, segments: readonly Segment[], key?: string | null): Charge;
}

export const TTL_MS = 300_000;
/** Shorter prefixes are not kept. */
export const LEAST_TOKENS = 1024;
/** How far behind a breakpoint an earlier one is looked for. */
const LOOK_BACK = 20;

/** One token for every four bytes: wrong for each text, right for comparing two. */
export const tokensIn = (text: string): number => Math.ceil(Buffer.byteLength(text) / 4);

export function promptCache(now: () => number): PromptCache {
  const expiries = new Map<string, number>();

  return {
    charge(model, segments, key = null) {
      const at = now();
      const prefixes = prefixesOf(JSON.stringify([model, key]), segments);
      const total = prefixes.at(-1)?.tokens ?? 0;
      const isWarm = (index: number) => (expiries.get(prefixes[index]?.digest ?? '') ?? 0) > at;
      const lookedAt = new Set(
        segments.flatMap((segment, index) =>
          segment.breakpoint ? Array.from({ length: LOOK_BACK + 1 }, (_, back) => index - back) : [],
        ),
      );
      const hit = Math.max(-1, ...[...lookedAt].filter((index) => index >= 0 && isWarm(index)));
      const last = segments.findLastIndex((segment) => segment.breakpoint);
      const read = hit < 0 ? 0 : (prefixes[hit]?.tokens ?? 0);
      const kept = last < 0 ? 0 : (prefixes[last]?.tokens ?? 0);
      const keeps = kept >= LEAST_TOKENS;
      for (const [index, segment] of segments.entries()) {
        const prefix = prefixes[index];
        if (prefix && (index === hit || (segment.breakpoint && prefix.tokens >= LEAST_TOKENS)))
          expiries.set(prefix.digest, at + TTL_MS);
      }
      const cacheWrite = keeps ? Math.max(0, kept - read) : 0;
      return { input: total - read - cacheWrite, cacheRead: read, cacheWrite };
    },
  };
}

/** A cache without breakpoints, as OpenAI's: every whole piece of 128 tokens is one, and writing costs nothing extra. */
export function automaticSegments(text: string): Segment[] {
  const pieces = text.match(/.{1,512}/gs) ?? [];
  return pieces.map((piece) => ({ text: piece, breakpoint: piece.length === 512 }));
}

interface Prefix {
  digest: string;
  tokens: number;
}

function prefixesOf(root: string, segments: readonly Segment[]): Prefix[] {
  let digest = createHash('sha256').update(root).digest('hex');
  let tokens = 0;
  return segments.map(({ text }) => {
    digest = createHash('sha256').update(digest).update(text).digest('hex');
    tokens += tokensIn(text);
    return { digest, tokens };
  });
}
