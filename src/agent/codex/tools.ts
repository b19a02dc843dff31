/**
 * The coder's tools as Codex's client offers them: told with the thread, kept in its record for later turns, and called over
 * the conversation itself. An MCP server would be one more process, which Codex waits for before every turn.
 */
import { z } from 'zod';
import { inputSchemaOf } from '../../core/words/coder-tools.ts';
import { TOOL_SERVER, type TurnTools } from '../agent.ts';

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

const call = z.object({ namespace: z.literal(TOOL_SERVER), tool: z.string(), arguments: z.unknown() });

export async function answerCall(tools: TurnTools | undefined, params: unknown): Promise<unknown> {
  const { data } = call.safeParse(params);
  const { text, isError } =
    tools && data
      ? await tools.call(data.tool, data.arguments)
      : { text: 'there is no such tool', isError: true };
  return { contentItems: [{ type: 'inputText', text }], success: !isError };
}
