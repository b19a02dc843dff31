/** Several attempts by one command: some sandboxes take their time to start. */
import { play, spoken, type Target } from '../../src/attack/attack.ts';
import type { Attempt } from '../../src/attack/attempts.ts';
import type { Machine } from '../../src/attack/machine.ts';
import { quoted } from '../support/e2e/halt.ts';

const IN_ONE = 15;

/** Of those that are one command each. */
export function chunksOf(attempts: readonly Attempt[]): Attempt[][] {
  const alone = attempts.filter(({ later }) => later === undefined);
  return Array.from({ length: Math.ceil(alone.length / IN_ONE) }, (_, index) =>
    alone.slice(index * IN_ONE, (index + 1) * IN_ONE),
  );
}

/** The names of those that got out, and what can be seen from outside of any. Rejects when not all of them were made. */
export async function escapesTogether(
  chunk: readonly Attempt[],
  machine: Machine,
  target: Target,
): Promise<{ escaped: string[]; found: string[] }> {
  const scripts = chunk.map(
    ({ script }, index) => `echo; echo '== ${index}'; sh -c ${quoted(script(machine))} </dev/null`,
  );
  const { said, found } = await play(`${scripts.join('\n')}\necho; echo '== over'`, machine, target);
  const parts = said.split(/\n== (\d+|over)\n/);
  const made = parts.filter((_, index) => index % 2 === 1);
  if (made.join() !== [...chunk.keys(), 'over'].join())
    throw new Error(`only these were made: ${made}: ${said}`);
  const escaped = chunk.filter((_, index) => spoken(parts[2 * index + 2] ?? '').length > 0);
  return { escaped: escaped.map(({ name }) => name), found };
}
