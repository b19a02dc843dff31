/**
 * The tools of a turn as Codex's client offers them: told with the thread, kept in its record for later turns, and called over
 * the conversation itself. An MCP server would be one more process, which Codex waits for before every turn.
 */
import { z } from 'zod';
import { TOOL_SERVER } from '../../core/policy.ts';
import { inputSchemaOf } from '../../core/words/turn-tools.ts';
import type { TurnHooks, TurnTools } from '../agent.ts';

export const CALL = 'item/tool/call';

/** A field of `thread/start`. */
export const offeredTools = ({ list }: TurnTools) => ({
  dynamicTools: [
    {
      type: 'namespace',
      name: TOOL_SERVER,
      description: 'What you may tell and ask the loop that you work for.',
      tools: list.map((tool) => ({
        type: 'function',
        name: tool.name,
        description: tool.description,
        inputSchema: inputSchemaOf(tool),
      })),
    },
  ],
});

/** Of whatever namespace. */
const named = z.object({ namespace: z.string().nullish(), tool: z.string().nullish() });
const call = z.object({ namespace: z.literal(TOOL_SERVER), tool: z.string(), arguments: z.unknown() });

export async function answerCall(
  { tools, onProgress }: Pick<TurnHooks, 'tools' | 'onProgress'>,
  params: unknown,
): Promise<unknown> {
  const { data } = call.safeParse(params);
  if (tools && data) {
    const { text, isError } = await tools.call(data.tool, data.arguments);
    return { contentItems: [{ type: 'inputText', text }], success: !isError };
  }
  const { tool, namespace } = named.safeParse(params).data ?? {};
  const missing = [namespace, tool].filter(Boolean).join('.') || 'unknown';
  const why = `there is no tool ${missing}`;
  onProgress({ kind: 'refused', code: 'tool_missing', tool: missing, detail: '', why });
  return { contentItems: [{ type: 'inputText', text: why }], success: false };
}
