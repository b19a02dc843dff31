/** Anthropic's Messages protocol, as far as Claude uses it. */
import { join } from 'node:path';
import { z } from 'zod';
import type { Segment } from './prompt-cache.ts';
import type { Reply } from './scenario.ts';
import {
  type Answer,
  inPieces,
  type Part,
  type Request,
  type ServerEvent,
  spoken,
  toolCalls,
  type Wire,
} from './wire.ts';

const block = z.looseObject({ type: z.string() });
const content = z.union([z.string().transform((text) => [{ type: 'text', text }]), z.array(block)]);
const body = z.looseObject({
  model: z.string(),
  stream: z.boolean().default(false),
  max_tokens: z.int().optional(),
  system: content.optional(),
  tools: z.array(z.looseObject({ name: z.string().optional() })).default([]),
  messages: z.array(z.looseObject({ role: z.string(), content })),
});
type Block = z.output<typeof block>;

/** Bedrock and Vertex have the model in the path, and whether it streams. */
export const cloudPath =
  /\/models?\/([^/:]+(?::\d+)?)[/:](invoke|invoke-with-response-stream|rawPredict|streamRawPredict)$/;

function inPath(path: string): { model?: string; stream?: boolean } {
  const [, model, verb = ''] = cloudPath.exec(decodeURIComponent(path)) ?? [];
  return model === undefined ? {} : { model, stream: verb.includes('stream') };
}

export const messagesWire: Wire = {
  protocol: 'messages',

  read(given, headers, path): Request {
    const request = body.parse({ ...(given as object), ...inPath(path) });
    const said = request.messages.filter(({ role }) => role !== 'assistant');
    const texts = said.flatMap((message) => message.content.flatMap(textsOf));
    const everything = JSON.stringify([request.system ?? [], request.messages]);
    const tools = request.tools.flatMap(({ name }) => (name === undefined ? [] : [name]));
    return {
      protocol: 'messages',
      model: request.model,
      stream: request.stream,
      session: headers['x-claude-code-session-id'] ?? headers['x-session-id'] ?? null,
      texts,
      tools,
      cwd: /(?:Primary working directory|Working directory): (.+?)(?:\\n|")/.exec(everything)?.[1] ?? '',
      segments: segmentsOf(request),
      cacheKey: null,
      wantsSchema: tools.includes('StructuredOutput'),
      aside: tools.length === 0,
      body: given,
    };
  },

  parts(reply, request, newId) {
    const tool = toolCalls(() => `toolu_${newId()}`);
    return [...spoken(reply), ...toolsOf(reply, request, tool)];
  },

  events({ id, model, parts, stop, usage }) {
    const told = { ...usage, output: 1, reasoning: 0 };
    const message = {
      id,
      type: 'message',
      role: 'assistant',
      model,
      content: [],
      stop_reason: null,
      stop_sequence: null,
    };
    return [
      { data: { type: 'message_start', message: { ...message, usage: usageOf(told) } }, tells: told },
      ...parts.flatMap(blockEvents),
      {
        data: {
          type: 'message_delta',
          delta: { stop_reason: stopReason(parts, stop), stop_sequence: null },
          usage: usageOf(usage),
        },
        tells: usage,
      },
      { data: { type: 'message_stop' } },
    ].map((event) => ({ ...event, event: (event.data as { type: string }).type }));
  },

  whole: ({ id, model, parts, stop, usage }: Answer) => ({
    id,
    type: 'message',
    role: 'assistant',
    model,
    content: parts.map(finished),
    stop_reason: stopReason(parts, stop),
    stop_sequence: null,
    usage: usageOf(usage),
  }),

  failure({ status, type, message, headers, resetsInSeconds }, nowMs) {
    const reset = Math.ceil(nowMs / 1000) + (resetsInSeconds ?? 0);
    // A subscription's limit is told in headers; the text is for people.
    const limit =
      resetsInSeconds === undefined
        ? {}
        : {
            'anthropic-ratelimit-unified-status': 'rejected',
            'anthropic-ratelimit-unified-reset': String(reset),
            'anthropic-ratelimit-unified-representative-claim': 'five_hour',
            'anthropic-ratelimit-unified-5h-status': 'rejected',
            'anthropic-ratelimit-unified-5h-reset': String(reset),
            'anthropic-ratelimit-unified-overage-status': 'rejected',
            'retry-after': String(resetsInSeconds),
          };
    return { status, headers: { ...limit, ...headers }, body: { type: 'error', error: { type, message } } };
  },
};

/** `write` needs an absolute path, which only the agent knows. Claude and OpenCode name their tools differently. */
function toolsOf(
  reply: Reply,
  request: Request,
  tool: (name: string, input: Record<string, unknown>) => Part,
): Part[] {
  const { run, write, call, answer } = reply;
  const isClaude = request.tools.includes('Bash') || !request.tools.includes('bash');
  const path = join(request.cwd, write?.path ?? '');
  return [
    ...(run === undefined
      ? []
      : [tool(isClaude ? 'Bash' : 'bash', { command: run, description: 'Run a command' })]),
    ...(write === undefined
      ? []
      : [
          isClaude
            ? tool('Write', { file_path: path, content: write.text })
            : tool('write', { filePath: path, content: write.text }),
        ]),
    ...(call === undefined ? [] : [tool(call.tool, call.input)]),
    ...(answer === undefined
      ? []
      : request.wantsSchema
        ? [tool('StructuredOutput', answer as Record<string, unknown>)]
        : [{ kind: 'text' as const, text: JSON.stringify(answer) }]),
  ];
}

function segmentsOf(request: z.output<typeof body>): Segment[] {
  const tools = request.tools.map((one) => segment(one));
  const system = (request.system ?? []).map((one) => segment(one));
  const messages = request.messages.flatMap(({ role, content: blocks }) =>
    blocks.map((one) => segment({ role, ...one })),
  );
  return [...tools, ...system, ...messages];
}

/** Where a breakpoint stands is no part of what is kept. */
function segment({ cache_control, ...rest }: Record<string, unknown>): Segment {
  return { text: JSON.stringify(rest), breakpoint: cache_control !== undefined };
}

function textsOf(given: Block): string[] {
  if (typeof given.text === 'string') return [given.text];
  if (typeof given.content === 'string') return [given.content];
  if (Array.isArray(given.content)) return (given.content as Block[]).flatMap(textsOf);
  return [];
}

function blockEvents(part: Part, index: number): ServerEvent[] {
  const delta = (value: object): ServerEvent => ({
    data: { type: 'content_block_delta', index, delta: value },
  });
  const deltas =
    part.kind === 'tool'
      ? inPieces(JSON.stringify(part.input)).map((piece) =>
          delta({ type: 'input_json_delta', partial_json: piece }),
        )
      : part.kind === 'text'
        ? inPieces(part.text).map((text) => delta({ type: 'text_delta', text }))
        : [
            ...inPieces(part.text).map((thinking) => delta({ type: 'thinking_delta', thinking })),
            delta({ type: 'signature_delta', signature: 'c2lnbmVk' }),
          ];
  return [
    { data: { type: 'content_block_start', index, content_block: begun(part) } },
    ...deltas,
    { data: { type: 'content_block_stop', index } },
  ];
}

const begun = (part: Part): object =>
  part.kind === 'tool'
    ? { type: 'tool_use', id: part.id, name: part.name, input: {} }
    : part.kind === 'text'
      ? { type: 'text', text: '' }
      : { type: 'thinking', thinking: '', signature: '' };

const finished = (part: Part): object =>
  part.kind === 'tool'
    ? { type: 'tool_use', id: part.id, name: part.name, input: part.input }
    : part.kind === 'text'
      ? { type: 'text', text: part.text }
      : { type: 'thinking', thinking: part.text, signature: 'c2lnbmVk' };

const stopReason = (parts: readonly Part[], stop: Reply['stop']): string =>
  stop ?? (parts.some((part) => part.kind === 'tool') ? 'tool_use' : 'end_turn');

/** Thinking counts as output. */
const usageOf = ({ input, output, cacheRead, cacheWrite, reasoning }: Answer['usage']) => ({
  input_tokens: input,
  cache_creation_input_tokens: cacheWrite,
  cache_read_input_tokens: cacheRead,
  cache_creation: { ephemeral_5m_input_tokens: cacheWrite, ephemeral_1h_input_tokens: 0 },
  output_tokens: output + reasoning,
  output_tokens_details: { thinking_tokens: reasoning },
  service_tier: 'standard',
});
