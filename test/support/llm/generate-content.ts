/** Google's generateContent, as far as Gemini CLI uses it. The model and whether it streams are in the path. */
import { join } from 'node:path';
import { z } from 'zod';
import { automaticSegments } from './prompt-cache.ts';
import type { Reply } from './scenario.ts';
import { type Answer, inPieces, type Part, type Request, spoken, toolCalls, type Wire } from './wire.ts';

const content = z.looseObject({ role: z.string().optional(), parts: z.array(z.looseObject({})).default([]) });
const body = z.looseObject({
  contents: z.array(content),
  systemInstruction: content.optional(),
  tools: z
    .array(z.looseObject({ functionDeclarations: z.array(z.looseObject({ name: z.string() })).default([]) }))
    .default([]),
  generationConfig: z.looseObject({ responseJsonSchema: z.unknown() }).partial().optional(),
});

export const generateContentPath = /\/models\/([^/:]+):(generateContent|streamGenerateContent)$/;

export const generateContentWire: Wire = {
  protocol: 'generateContent',

  read(given, _, path): Request {
    const { contents, systemInstruction, tools, generationConfig } = body.parse(given);
    const [, model = '', verb] = generateContentPath.exec(path) ?? [];
    const texts = contents.filter(({ role }) => role !== 'model').flatMap(({ parts }) => parts.map(textOf));
    const names = tools.flatMap((one) => one.functionDeclarations.map(({ name }) => name));
    return {
      protocol: 'generateContent',
      model,
      stream: verb === 'streamGenerateContent',
      session: null,
      texts,
      tools: names,
      cwd: /\*\*Workspace Directories:\*\*\n\s*- (.+)/.exec(texts.join('\n'))?.[1] ?? '',
      segments: automaticSegments(
        [systemInstruction, tools, ...contents].map((one) => JSON.stringify(one)).join('\n'),
      ),
      cacheKey: null,
      wantsSchema: generationConfig?.responseJsonSchema !== undefined,
      aside: names.length === 0,
      body: given,
    };
  },

  parts(reply, request, newId) {
    const { run, write, call, answer } = reply;
    const tool = toolCalls(() => `call_${newId()}`);
    return [
      ...spoken(reply),
      ...(run === undefined
        ? []
        : [tool('run_shell_command', { command: run, description: 'Run a command' })]),
      ...(write === undefined
        ? []
        : [tool('write_file', { file_path: join(request.cwd, write.path), content: write.text })]),
      ...(call === undefined ? [] : [tool(call.tool, call.input)]),
      ...(answer === undefined ? [] : [{ kind: 'text' as const, text: JSON.stringify(answer) }]),
    ];
  },

  /** Each piece tells what was used so far: the prompt with the first, all of it with the last. */
  events(answer) {
    const begun = { ...answer.usage, output: 0, reasoning: 0 };
    return [
      ...answer.parts.flatMap(piecesOf).map((part) => ({ data: chunk(answer, [part], begun), tells: begun })),
      { data: chunk(answer, [], answer.usage, finishReason(answer.stop)), tells: answer.usage },
    ];
  },

  whole: (answer) => chunk(answer, answer.parts.flatMap(piecesOf), answer.usage, finishReason(answer.stop)),

  failure: ({ status, type, message, headers, resetsInSeconds }) => ({
    status,
    headers,
    body: {
      error: {
        code: status,
        message,
        type,
        status: STATUS[status] ?? 'UNAVAILABLE',
        ...(resetsInSeconds !== undefined && {
          details: [
            { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: `${resetsInSeconds}s` },
          ],
        }),
      },
    },
  }),
};

const STATUS: Readonly<Record<number, string>> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  429: 'RESOURCE_EXHAUSTED',
};

const functionResponse = z.object({ functionResponse: z.object({ response: z.unknown() }) });

function textOf(part: Record<string, unknown>): string {
  if (typeof part.text === 'string') return part.text;
  const { data } = functionResponse.safeParse(part);
  return data ? JSON.stringify(data.functionResponse.response) : '';
}

const piecesOf = (part: Part): object[] =>
  part.kind === 'tool'
    ? [{ functionCall: { id: part.id, name: part.name, args: part.input } }]
    : inPieces(part.text).map((text) => ({ text, ...(part.kind === 'thinking' && { thought: true }) }));

const chunk = ({ id, model }: Answer, parts: object[], usage: Answer['usage'], finish?: string) => ({
  candidates: [{ index: 0, content: { role: 'model', parts }, ...(finish && { finishReason: finish }) }],
  usageMetadata: usageOf(usage),
  modelVersion: model,
  responseId: id,
});

const finishReason = (stop: Reply['stop']): string =>
  stop === 'refusal' ? 'SAFETY' : stop === 'max_tokens' ? 'MAX_TOKENS' : 'STOP';

/** What was read from the cache is part of the prompt; thoughts are beside the candidates. */
const usageOf = ({ input, output, cacheRead, cacheWrite, reasoning }: Answer['usage']) => ({
  promptTokenCount: input + cacheRead + cacheWrite,
  candidatesTokenCount: output,
  cachedContentTokenCount: cacheRead,
  thoughtsTokenCount: reasoning,
  totalTokenCount: input + cacheRead + cacheWrite + output + reasoning,
});
