/**
 * How Codex's last turn failed, as its own record of the thread has it: for an adapter that tells only that it did. The
 * record has the fields that `codex app-server` tells, in other letters.
 */
import { z } from 'zod';
import type { Failure } from '../agent.ts';
import { parsedLine } from '../json-lines.ts';
import { linesBelow } from '../stranger-files.ts';
import { failureOf, turnError } from './failure.ts';
import { recordsOf } from './thread.ts';

interface LastEnd {
  /** The turn's id; of a session that goes on each turn has another. */
  turn: string;
  failure: Failure | null;
}

const window = z.object({ used_percent: z.number(), resets_at: z.number().nullish() }).nullish();
const line = z.object({
  payload: z.discriminatedUnion('type', [
    z.object({
      type: z.literal('task_complete'),
      turn_id: z.string(),
      root_turn_id: z.string().optional(),
      error: z.looseObject({}).nullish(),
    }),
    z.object({
      type: z.literal('token_count'),
      rate_limits: z.object({ primary: window, secondary: window }).nullish().catch(null),
    }),
  ]),
});

/** Null when no turn of the session has ended. Turns of subagents are part of another's. */
export async function lastEnd(sessionDir: string): Promise<LastEnd | null> {
  let last: LastEnd | null = null;
  let limitResetsAt: number | null = null;
  for await (const { line: given } of linesBelow(sessionDir, await recordsOf(sessionDir))) {
    if (!given.includes('"task_complete"') && !given.includes('"rate_limits"')) continue;
    const { data } = line.safeParse(parsedLine(given));
    if (data?.payload.type === 'token_count') {
      const { primary, secondary } = data.payload.rate_limits ?? {};
      limitResetsAt = resetOf([primary, secondary]) ?? limitResetsAt;
    } else if (data?.payload.type === 'task_complete') {
      const { turn_id: turn, root_turn_id: root = turn, error } = data.payload;
      if (turn !== root) continue;
      const told = error ? turnError.safeParse(inCamelCase(error)).data : null;
      last = { turn, failure: told ? failureOf(told, null, limitResetsAt) : null };
    }
  }
  return last;
}

/** Seconds: the latest end of a limit that is used up. */
function resetOf(windows: readonly z.output<typeof window>[]): number | null {
  const used = windows.flatMap((one) =>
    one && one.used_percent >= 100 && one.resets_at ? [one.resets_at] : [],
  );
  return used.length > 0 ? Math.max(...used) : null;
}

const camel = (name: string): string =>
  name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());

/** Names of fields, and the one name that stands where fields could. */
function inCamelCase(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [
      camel(name),
      name === 'codex_error_info' && typeof inner === 'string' ? camel(inner) : inCamelCase(inner),
    ]),
  );
}
