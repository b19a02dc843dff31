/** Several refs moved as one: all of them, or none. */

export interface RefMove {
  ref: string;
  /** Null deletes it. */
  to: string | null;
  /** Where it must be now; null when it must not exist. Left out, it may be anywhere. */
  from?: string | null;
}

/** The input of `git update-ref --stdin`. */
export function refUpdates(moves: readonly RefMove[]): string {
  return moves.map((move) => `${line(move)}\n`).join('');
}

function line({ ref, to, from }: RefMove): string {
  if (/\s/.test(ref)) throw new Error(`${JSON.stringify(ref)} is not the name of a ref`);
  if (to === null) return from ? `delete ${ref} ${from}` : `delete ${ref}`;
  if (from === undefined) return `update ${ref} ${to}`;
  return `update ${ref} ${to} ${from ?? '0'.repeat(to.length)}`;
}
