/** OpenAI's chat completions, which OpenCode and others speak to any provider. */
import { join } from 'node:path';
import { z } from 'zod';
import { automaticSegments } from './prompt-cache.ts';
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

const content = z.union([z.string(), z.array(z.looseObject({})), z.null()]).optional();
const body = z.looseObject({
  model: z.string(),
  stream: z.boolean().default(false),
  messages: z.array(z.looseObject({ role: z.string(), content })),
  tools: z.array(z.looseObject({ function: z.looseObject({ name: z.string() }) })).default([]),
  response_format: z.looseObject({}).optional(),
});

export const chatWire: Wire = {
  protocol: 'chat',

  read(given, headers): Request {
    const request = body.parse(given);
    const texts = request.messages.filter(({ role }) => role !== 'assistant').map(textOf);
    const tools = request.tools.map((tool) => tool.function.name);
    return {
      protocol: 'chat',
      model: request.model,
      stream: request.stream,
      session: headers['x-session-id'] ?? headers['x-opencode-session'] ?? null,
      texts,
      tools,
      cwd: /Working directory: (.+)/.exec(texts.join('\n'))?.[1] ?? '',
      segments: automaticSegments(
        [...request.tools, ...request.messages].map((one) => JSON.stringify(one)).join('\n'),
      ),
      cacheKey: null,
      wantsSchema: tools.includes('StructuredOutput') || request.response_format !== undefined,
      aside: tools.length === 0,
      body: given,
    };
  },

  parts(reply, request, newId) {
    const { run, write, call, answer } = reply;
    const tool = toolCalls(() => `call_${newId()}`);
    return [
      ...spoken(reply),
      ...(run === undefined ? [] : [tool('bash', { command: run, description: 'Run a command' })]),
      ...(write === undefined
        ? []
        : [tool('write', { filePath: join(request.cwd, write.path), content: write.text })]),
      ...(call === undefined ? [] : [tool(call.tool, call.input)]),
      ...(answer === undefined
        ? []
        : request.tools.includes('StructuredOutput')
          ? [tool('StructuredOutput', answer as Record<string, unknown>)]
          : [{ kind: 'text' as const, text: JSON.stringify(answer) }]),
    ];
  },

  events(answer) {
    const { id, model, parts, stop, usage } = answer;
    const chunk = (delta: object, finish: string | null = null): ServerEvent => ({
      data: {
        id,
        object: 'chat.completion.chunk',
        created: 0,
        model,
        choices: [{ index: 0, delta, finish_reason: finish }],
      },
    });
    const last = chunk({}, finishReason(parts, stop));
    return [
      chunk({ role: 'assistant', content: '' }),
      ...deltasOf(parts).map((delta) => chunk(delta)),
      { ...last, data: { ...(last.data as object), usage: usageOf(usage) }, tells: usage },
    ];
  },

  whole: ({ id, model, parts, stop, usage }) => ({
    id,
    object: 'chat.completion',
    created: 0,
    model,
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: saidIn(parts), tool_calls: callsIn(parts) },
        finish_reason: finishReason(parts, stop),
      },
    ],
    usage: usageOf(usage),
  }),

  failure: ({ status, type, message, headers, resetsInSeconds }) => ({
    status,
    headers: {
      ...(resetsInSeconds !== undefined && { 'retry-after': String(resetsInSeconds) }),
      ...headers,
    },
    body: { error: { type, code: type, message } },
  }),
};

const textOf = (message: { content?: z.output<typeof content> }): string =>
  typeof message.content === 'string'
    ? message.content
    : (message.content ?? []).map((one) => (typeof one.text === 'string' ? one.text : '')).join('\n');

const saidIn = (parts: readonly Part[]): string =>
  parts.flatMap((part) => (part.kind === 'text' ? [part.text] : [])).join('');

const callsIn = (parts: readonly Part[]) =>
  parts
    .filter((part) => part.kind === 'tool')
    .map((part, index) => ({
      index,
      id: part.id,
      type: 'function',
      function: { name: part.name, arguments: JSON.stringify(part.input) },
    }));

function deltasOf(parts: readonly Part[]): object[] {
  const texts = parts.flatMap((part) =>
    part.kind === 'tool'
      ? []
      : inPieces(part.text).map((piece) =>
          part.kind === 'text' ? { content: piece } : { reasoning_content: piece },
        ),
  );
  return [...texts, ...callsIn(parts).map((call) => ({ tool_calls: [call] }))];
}

const finishReason = (parts: readonly Part[], stop: Reply['stop']): string =>
  stop === 'refusal'
    ? 'content_filter'
    : stop === 'max_tokens'
      ? 'length'
      : parts.some((part) => part.kind === 'tool')
        ? 'tool_calls'
        : 'stop';

const usageOf = ({ input, output, cacheRead, cacheWrite, reasoning }: Answer['usage']) => ({
  prompt_tokens: input + cacheRead + cacheWrite,
  completion_tokens: output + reasoning,
  total_tokens: input + cacheRead + cacheWrite + output + reasoning,
  prompt_tokens_details: { cached_tokens: cacheRead },
  completion_tokens_details: { reasoning_tokens: reasoning },
});
