/** How a turn of Codex ended, as its own record of the thread has it: for a turn whose end nobody heard. */
import { z } from 'zod';
import type { UnheardTurn } from '../agent.ts';
import { parsedLine } from '../json-lines.ts';
import { linesBelow } from '../stranger-files.ts';
import { ownRecord } from './thread.ts';

interface RecordedEnd {
  text: string;
  model: string | null;
  endedAt: number;
}

const line = z.object({
  timestamp: z.string(),
  payload: z.discriminatedUnion('type', [
    z.object({ type: z.literal('task_started') }),
    z.object({
      type: z.literal('item_completed'),
      item: z.looseObject({
        type: z.string(),
        content: z.array(z.looseObject({ text: z.string().optional() })),
      }),
    }),
    z.object({ type: z.literal('task_complete'), last_agent_message: z.string().nullish() }),
    z.object({ type: z.literal('turn_aborted') }),
  ]),
});
const turnContext = z.object({ type: z.literal('turn_context'), payload: z.object({ model: z.string() }) });

/** Null unless the last task is this turn's and came to its end with a word. */
export async function recordedEnd(turn: UnheardTurn): Promise<RecordedEnd | null> {
  const record = await ownRecord(turn.sessionDir);
  if (record === null) return null;
  let isOurs = false;
  let model: string | null = null;
  let end: Omit<RecordedEnd, 'model'> | null = null;
  for await (const { line: given } of linesBelow(turn.sessionDir, [record])) {
    const parsed = parsedLine(given);
    model = turnContext.safeParse(parsed).data?.payload.model ?? model;
    const { data } = line.safeParse(parsed);
    if (!data) continue;
    const { payload } = data;
    const at = Date.parse(data.timestamp);
    if (payload.type === 'item_completed') {
      const text = payload.item.content.map((part) => part.text ?? '').join('');
      if (payload.item.type === 'UserMessage' && at >= turn.startedAt && text === turn.prompt) isOurs = true;
    } else if (payload.type === 'task_complete') {
      const { last_agent_message: text } = payload;
      end = isOurs && text ? { text, endedAt: at } : null;
    } else {
      isOurs = false;
      end = null;
    }
  }
  return end && { ...end, model };
}
