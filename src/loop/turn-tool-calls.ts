/** The tool calls of one turn, with their times, as its transcript has them. */
import { z } from 'zod';
import type { ToolCall } from '../core/tell/spans.ts';
import type { TurnRow } from '../store/store.ts';
import type { Ports } from './ports.ts';
import { transcriptPathOf } from './turn-files.ts';

const line = z.object({
  at: z.number(),
  kind: z.string(),
  tool: z.string().optional(),
  call: z.string().optional(),
  detail: z.string().optional(),
  output: z.string().optional(),
});

/** Where an agent does not tell that a call is over, it lasts until the next thing it did, or the end of the turn. */
export async function readToolCalls(
  { places, readText }: Pick<Ports, 'places' | 'readText'>,
  task: string,
  turn: TurnRow,
): Promise<ToolCall[]> {
  const text = (await readText(transcriptPathOf(places, task, turn))) ?? '';
  const endedAt = turn.endedAt ?? Number.POSITIVE_INFINITY;
  // One that was taken up again goes on in the same file.
  const told = text
    .split('\n')
    .flatMap((json) => parsed(json))
    .filter(({ at }) => at >= turn.startedAt && at <= endedAt);
  return told.flatMap((one, index) => {
    if (one.kind !== 'tool' || one.tool === undefined) return [];
    const over =
      one.call === undefined
        ? undefined
        : told.find((other) => other.kind === 'tool_over' && other.call === one.call);
    return [
      {
        tool: one.tool,
        call: one.call ?? null,
        startMs: one.at,
        endMs: over?.at ?? told[index + 1]?.at ?? turn.endedAt ?? one.at,
        detail: one.detail ?? '',
        output: over?.output ?? null,
      },
    ];
  });
}

function parsed(json: string): z.infer<typeof line>[] {
  try {
    return [line.parse(JSON.parse(json))];
  } catch {
    return [];
  }
}
