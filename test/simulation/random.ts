/** A small seeded generator (mulberry32): the same seed plays the same story. */
export interface Random {
  (): number;
  int(below: number): number;
  chance(probability: number): boolean;
  pick<T>(items: readonly T[]): T;
  hex(length: number): string;
  /** Another one for this concern: what it draws shifts nothing for the others. */
  fork(concern: string): Random;
}

export function seeded(seed: number): Random {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
  return Object.assign(next, {
    int: (below: number) => Math.floor(next() * below),
    chance: (probability: number) => next() < probability,
    pick: <T>(items: readonly T[]) => items[Math.floor(next() * items.length)]!,
    hex: (length: number) => Array.from({ length }, () => Math.floor(next() * 16).toString(16)).join(''),
    fork: (concern: string) => seeded([...concern].reduce(mix, seed)),
  });
}

const mix = (sum: number, letter: string): number => Math.imul(sum ^ letter.charCodeAt(0), 0x01000193) >>> 0;
