/** Moves refs through one git that stays open. Each call is a transaction of its own: all of it, or nothing. */
import { GitFailed } from '../errors.ts';
import { CompanionEnded, type CompanionProgram, createCompanion } from '../process/companion.ts';

export interface RefMove {
  ref: string;
  /** Null deletes it. */
  to: string | null;
  /** Where it must be now; null when it must not exist. Left out, it may be anywhere. */
  from?: string | null;
}

export interface RefWriter {
  /** Throws GitFailed, and nothing has moved, when a ref is not where it should be or can't be written. */
  move(moves: readonly RefMove[]): Promise<void>;
  close(): Promise<void>;
}

export const REF_WRITER = ['update-ref', '--no-deref', '--stdin'] as const;

/** `program` is `git update-ref --no-deref --stdin`. */
export function createRefWriter(program: () => CompanionProgram): RefWriter {
  const git = createCompanion(program);
  return {
    async move(moves) {
      if (moves.length === 0) return;
      const lines = ['start', ...moves.map(line), 'prepare', 'commit'];
      try {
        await git.ask(`${lines.join('\n')}\n`, ({ out }) => out.tail.endsWith('commit: ok\n') || null);
      } catch (error) {
        if (error instanceof CompanionEnded) throw new GitFailed(REF_WRITER, error.code, error.stderr);
        throw error;
      }
    },
    close: git.close,
  };
}

function line({ ref, to, from }: RefMove): string {
  if (/\s/.test(ref)) throw new Error(`${JSON.stringify(ref)} is not the name of a ref`);
  if (to === null) return from ? `delete ${ref} ${from}` : `delete ${ref}`;
  if (from === undefined) return `update ${ref} ${to}`;
  return `update ${ref} ${to} ${from ?? '0'.repeat(to.length)}`;
}
