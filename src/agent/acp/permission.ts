/**
 * What an agent that speaks ACP is allowed when it asks. Who only reads may read; who works may work in its workspace; a call
 * that can't be read is refused, like one that must not be. Whoever does not ask can't be refused: see docs/agents.md.
 */
import { z } from 'zod';
import { type AgentPolicy, TOOL_SERVER } from '../../core/policy.ts';
import type { Access } from '../../core/role.ts';
import type { Progress } from '../../core/tell/progress.ts';
import { refusedPath } from '../refusal.ts';

type Refusal = Pick<Extract<Progress, { kind: 'refused' }>, 'code' | 'why'>;

interface Asked {
  tool: string;
  detail: string;
  /** Its name, where it has one. */
  call: string | null;
  /** Null when it is allowed. */
  refusal: Refusal | null;
  /** What to answer the agent. */
  answer: { outcome: { outcome: 'selected'; optionId: string } | { outcome: 'cancelled' } };
}

const request = z.object({
  toolCall: z.object({
    toolCallId: z.string().nullish(),
    kind: z.string().nullish(),
    title: z.string().nullish(),
    rawInput: z.unknown().optional(),
    locations: z.array(z.object({ path: z.string() })).nullish(),
    content: z.array(z.looseObject({ type: z.string(), path: z.string().optional() })).nullish(),
  }),
  options: z.array(z.object({ optionId: z.string(), kind: z.string() })),
  _meta: z.looseObject({ is_mcp_tool_approval: z.boolean().nullish() }).nullish().catch(null),
});
type ToolCall = z.output<typeof request>['toolCall'];

export function answerPermission(
  given: unknown,
  { cwd, access, policy }: { cwd: string; access: Access; policy: Pick<AgentPolicy, 'mcp'> },
): Asked {
  const { data } = request.safeParse(given);
  if (!data)
    return {
      tool: 'unknown',
      detail: '',
      call: null,
      refusal: { code: 'permission', why: 'the request could not be read' },
      answer: { outcome: { outcome: 'cancelled' } },
    };
  const { options, toolCall } = data;
  const refusal =
    access.tools === 'work'
      ? refusedWork(toolCall, cwd, access.writeRoots)
      : isGranted(data, [TOOL_SERVER, ...policy.mcp.map(({ name }) => name)])
        ? null
        : refusedReading(toolCall);
  const choose = (...kinds: string[]) => {
    const option = kinds.map((kind) => options.find((one) => one.kind === kind)).find(Boolean);
    return option
      ? { outcome: { outcome: 'selected' as const, optionId: option.optionId } }
      : { outcome: { outcome: 'cancelled' as const } };
  };
  return {
    tool: toolCall.kind ?? 'unknown',
    detail: (commandIn(toolCall) ?? toolCall.title ?? '').slice(0, 500),
    call: toolCall.toolCallId ?? null,
    refusal,
    answer: refusal === null ? choose('allow_once', 'allow_always') : choose('reject_once', 'reject_always'),
  };
}

const READING = ['read', 'search', 'think'];
const CHANGING = ['edit', 'delete', 'move'];

const refusedReading = ({ kind }: ToolCall): Refusal | null =>
  kind && READING.includes(kind) ? null : { code: 'permission', why: 'you may read and nothing else' };

/** A call of a server that it was given: Claude's adapter names it, Codex's says that it is of one, and it has no other. */
const isGranted = (
  { toolCall: { kind, title }, _meta }: z.output<typeof request>,
  servers: readonly string[],
): boolean =>
  _meta?.is_mcp_tool_approval === true ||
  (kind === 'other' && servers.some((name) => title?.startsWith(`mcp__${name}__`)));

function refusedWork(call: ToolCall, cwd: string, roots: readonly string[]): Refusal | null {
  if (call.kind && CHANGING.includes(call.kind)) {
    const paths = pathsIn(call);
    if (paths.length === 0) return { code: 'permission', why: 'the change could not be read' };
    const why = paths.map((path) => refusedPath(path, cwd, roots)).find((said) => said !== null);
    return why ? { code: 'path', why } : null;
  }
  return call.kind === 'switch_mode'
    ? { code: 'input_requested', why: 'nobody will approve this: proceed without it' }
    : null;
}

const shell = z.object({ command: z.union([z.string().min(1), z.array(z.string()).min(1)]) });

function commandIn({ rawInput }: ToolCall): string | null {
  const command = shell.safeParse(rawInput).data?.command;
  return command === undefined ? null : typeof command === 'string' ? command : command.join(' ');
}

const file = z.object({
  file_path: z.string().optional(),
  filePath: z.string().optional(),
  filepath: z.string().optional(),
  path: z.string().optional(),
});

function pathsIn({ locations, content, rawInput }: ToolCall): string[] {
  const named = Object.values(file.safeParse(rawInput).data ?? {}).filter((path) => path !== undefined);
  const shown = (content ?? []).flatMap(({ type, path }) => (type === 'diff' && path ? [path] : []));
  return [...(locations ?? []).map(({ path }) => path), ...shown, ...named];
}
