/** How a turn of Claude ended, as its own transcript has it: for a turn whose end nobody heard. */
import { z } from 'zod';
import type { UnheardTurn } from '../agent.ts';
import { parsedLine } from '../json-lines.ts';
import { linesBelow } from '../stranger-files.ts';
import { ownTranscript } from './transcript.ts';

interface TranscribedEnd {
  text: string;
  structured: unknown;
  endedAt: number;
}

const block = z.looseObject({ type: z.string(), text: z.string().optional() });
const line = z.object({
  type: z.enum(['user', 'assistant', 'attachment']),
  isSidechain: z.boolean().catch(false),
  timestamp: z.string(),
  message: z
    .object({
      id: z.string().optional(),
      content: z.union([z.string(), z.array(block)]),
      stop_reason: z.string().nullish(),
    })
    .optional(),
  /** On the result of a tool after which the model is not asked again. */
  toolEndsTurn: z.boolean().optional(),
  attachment: z.looseObject({ type: z.string(), data: z.unknown() }).optional().catch(undefined),
});

/** Null unless the last prompt is this turn's and the model has ended its answer to it. */
export async function transcribedEnd(turn: UnheardTurn): Promise<TranscribedEnd | null> {
  const transcript = await ownTranscript(turn);
  if (transcript === null) return null;
  let isOurs = false;
  let answer = { id: '', text: '' };
  let structured: unknown = null;
  let endedAt: number | null = null;
  for await (const { line: given } of linesBelow(turn.sessionDir, [transcript])) {
    const { data } = line.safeParse(parsedLine(given));
    if (!data || data.isSidechain) continue;
    const at = Date.parse(data.timestamp);
    const blocks = blocksOf(data.message?.content ?? []);
    if (data.type === 'attachment') {
      if (data.attachment?.type === 'structured_output') structured = data.attachment.data;
    } else if (data.type === 'assistant') {
      const id = data.message?.id ?? '';
      answer = { id, text: (id === answer.id ? answer.text : '') + textIn(blocks) };
      endedAt = data.message?.stop_reason === 'end_turn' ? at : null;
    } else if (blocks.some(({ type }) => type === 'tool_result')) {
      endedAt = data.toolEndsTurn ? at : null;
    } else {
      isOurs = at >= turn.startedAt && textIn(blocks).trim() === turn.prompt.trim();
      structured = null;
      endedAt = null;
    }
  }
  if (!isOurs || endedAt === null) return null;
  return turn.outputSchema && structured === null ? null : { text: answer.text, structured, endedAt };
}

type Block = z.output<typeof block>;
const blocksOf = (content: string | Block[]): Block[] =>
  typeof content === 'string' ? [{ type: 'text', text: content }] : content;
const textIn = (blocks: readonly Block[]): string =>
  blocks.flatMap(({ type, text }) => (type === 'text' ? (text ?? '') : [])).join('');
