/** OpenAI's Responses protocol, as far as Codex uses it. */
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

const body = z.looseObject({
  model: z.string(),
  stream: z.boolean().default(false),
  instructions: z.string().default(''),
  input: z.array(z.looseObject({ type: z.string().optional(), role: z.string().optional() })),
  tools: z.array(z.looseObject({ type: z.string(), name: z.string().optional() })).default([]),
  prompt_cache_key: z.string().optional(),
  text: z.looseObject({ format: z.looseObject({}).optional() }).optional(),
});

export const responsesWire: Wire = {
  protocol: 'responses',

  read(given, headers): Request {
    const request = body.parse(given);
    const said = request.input.filter(({ role }) => role !== 'assistant').map((item) => textOf(item));
    return {
      protocol: 'responses',
      model: request.model,
      stream: request.stream,
      session: headers['session-id'] ?? headers.session_id ?? request.prompt_cache_key ?? null,
      texts: said,
      tools: request.tools.map(({ type, name }) => name ?? type),
      cwd: /<cwd>(.+?)<\/cwd>/.exec(said.join('\n'))?.[1] ?? '',
      segments: automaticSegments(
        [
          JSON.stringify(request.tools),
          JSON.stringify(request.text?.format ?? null),
          request.instructions,
          // Ids name an item to the client; a model does not read them.
          ...request.input.map(({ id: _, ...shown }) => JSON.stringify(shown)),
        ].join('\n'),
      ),
      cacheKey: request.prompt_cache_key ?? null,
      wantsSchema: request.text?.format !== undefined,
      aside: false,
      body: given,
    };
  },

  parts(reply, request, newId) {
    return [...spoken(reply), ...toolsOf(reply, request, newId)];
  },

  events({ id, model, parts, stop, usage }) {
    const data = (
      value: { type: string } & Record<string, unknown>,
      tells?: Answer['usage'],
    ): ServerEvent => ({
      event: value.type,
      data: value,
      ...(tells && { tells }),
    });
    const response = { id, object: 'response', model, status: 'in_progress', output: [] };
    const reason = stop === 'refusal' ? 'content_filter' : 'max_output_tokens';
    return [
      data({ type: 'response.created', response }),
      ...parts.flatMap((part, index) => itemEvents(part, index, id)),
      stop === undefined
        ? data(
            {
              type: 'response.completed',
              response: { ...response, status: 'completed', usage: usageOf(usage) },
            },
            usage,
          )
        : data(
            {
              type: 'response.incomplete',
              response: {
                ...response,
                status: 'incomplete',
                incomplete_details: { reason },
                usage: usageOf(usage),
              },
            },
            usage,
          ),
    ];
  },

  whole: ({ id, model, parts, usage }) => ({
    id,
    object: 'response',
    model,
    status: 'completed',
    output: parts.map((part, index) => itemOf(part, index, id)),
    usage: usageOf(usage),
  }),

  failure({ status, type, message, headers, resetsInSeconds }, nowMs) {
    const resets =
      resetsInSeconds === undefined
        ? {}
        : {
            plan_type: 'plus',
            resets_at: Math.ceil(nowMs / 1000) + resetsInSeconds,
            resets_in_seconds: resetsInSeconds,
          };
    const limit: Record<string, string> =
      resetsInSeconds === undefined
        ? {}
        : {
            'x-codex-primary-used-percent': '100',
            'x-codex-primary-window-minutes': '300',
            'x-codex-primary-reset-at': String(Math.ceil(nowMs / 1000) + resetsInSeconds),
            'x-codex-primary-reset-after-seconds': String(resetsInSeconds),
          };
    return {
      status,
      headers: { ...limit, ...headers },
      body: { error: { type, code: type, message, ...resets } },
    };
  },
};

/** Codex offers different tools to different models; the one that is there is used. */
function toolsOf(reply: Reply, request: Request, newId: () => string): Part[] {
  const { run, write, call, answer } = reply;
  const tool = toolCalls(() => `call_${newId()}`);
  const shell = (command: string): Part =>
    request.tools.includes('exec_command')
      ? tool('exec_command', { cmd: command, yield_time_ms: 600_000 })
      : request.tools.includes('shell_command')
        ? tool('shell_command', { command, timeout_ms: 600_000 })
        : tool('shell', { command: ['/bin/sh', '-c', command], timeout_ms: 600_000 });
  const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
  const path = write === undefined ? '' : join(request.cwd, write.path);
  return [
    ...(run === undefined ? [] : [shell(run)]),
    ...(write === undefined
      ? []
      : [
          shell(`mkdir -p "$(dirname ${quoted(path)})" && printf %s ${quoted(write.text)} > ${quoted(path)}`),
        ]),
    ...(call === undefined ? [] : [tool(offered(call.tool, request), call.input)]),
    ...(answer === undefined ? [] : [{ kind: 'text' as const, text: JSON.stringify(answer) }]),
  ];
}

function textOf(item: Record<string, unknown>): string {
  const inner = item.content ?? item.output;
  if (typeof inner === 'string') return inner;
  if (!Array.isArray(inner)) return '';
  return inner.map((one: { text?: unknown }) => (typeof one.text === 'string' ? one.text : '')).join('\n');
}

/** A tool that scenarios call by its MCP server may be one of the client's own, which has the same name and no server. */
function offered(tool: string, { tools }: Request): string {
  const own = tool.replace(/^mcp__/, '');
  return tools.includes(callee(own).namespace ?? '') ? own : tool;
}

/** Tools of a namespace, such as an MCP server's, are called by it and their own name. */
function callee(tool: string): { name: string; namespace?: string } {
  const [, namespace, name] = /^((?:mcp__)?[a-z0-9]+)__(.+)$/.exec(tool) ?? [];
  return namespace && name ? { namespace, name } : { name: tool };
}

function itemOf(part: Part, index: number, response: string): Record<string, unknown> {
  if (part.kind === 'tool')
    return {
      type: 'function_call',
      id: `fc_${response}_${index}`,
      call_id: part.id,
      ...callee(part.name),
      arguments: JSON.stringify(part.input),
      status: 'completed',
    };
  if (part.kind === 'thinking')
    return {
      type: 'reasoning',
      id: `rs_${response}_${index}`,
      summary: [{ type: 'summary_text', text: part.text }],
      encrypted_content: 'c2VhbGVk',
    };
  return {
    type: 'message',
    id: `msg_${response}_${index}`,
    role: 'assistant',
    status: 'completed',
    content: [{ type: 'output_text', text: part.text, annotations: [] }],
  };
}

function itemEvents(part: Part, index: number, response: string): ServerEvent[] {
  const item = itemOf(part, index, response);
  const event = (type: string, value: object): ServerEvent => ({
    event: type,
    data: { type, output_index: index, ...value },
  });
  const deltas =
    part.kind === 'text'
      ? inPieces(part.text).map((delta) =>
          event('response.output_text.delta', { item_id: item.id, content_index: 0, delta }),
        )
      : [];
  const begun = part.kind === 'text' ? { ...item, status: 'in_progress', content: [] } : item;
  return [
    event('response.output_item.added', { item: begun }),
    ...deltas,
    event('response.output_item.done', { item }),
  ];
}

/** OpenAI counts what was read from its cache as input, and reasoning as output. */
const usageOf = ({ input, output, cacheRead, cacheWrite, reasoning }: Answer['usage']) => ({
  input_tokens: input + cacheRead + cacheWrite,
  input_tokens_details: { cached_tokens: cacheRead, cache_write_tokens: cacheWrite },
  output_tokens: output + reasoning,
  output_tokens_details: { reasoning_tokens: reasoning },
  total_tokens: input + cacheRead + cacheWrite + output + reasoning,
});
