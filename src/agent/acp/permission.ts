/**
 * What an agent that speaks ACP is allowed when it asks. A reader may read; a coder may work in its workspace; a call that
 * can't be read is refused, like one that must not be. Whoever does not ask can't be refused: see docs/agents.md.
 */
import { z } from 'zod';
import type { Role } from '../../core/policy.ts';
import { refusedCommand, refusedPath } from '../refusal.ts';

export interface Asked {
  tool: string;
  detail: string;
  /** Null when it is allowed. */
  why: string | null;
  /** What to answer the agent. */
  answer: { outcome: { outcome: 'selected'; optionId: string } | { outcome: 'cancelled' } };
}

const request = z.object({
  toolCall: z.object({
    kind: z.string().nullish(),
    title: z.string().nullish(),
    rawInput: z.unknown().optional(),
    locations: z.array(z.object({ path: z.string() })).nullish(),
    content: z.array(z.looseObject({ type: z.string(), path: z.string().optional() })).nullish(),
  }),
  options: z.array(z.object({ optionId: z.string(), kind: z.string() })),
});
type ToolCall = z.output<typeof request>['toolCall'];

export function answerPermission(
  given: unknown,
  { role, cwd, home }: { role: Role; cwd: string; home: string },
  commandIsTitle = false,
): Asked {
  const { data } = request.safeParse(given);
  if (!data)
    return {
      tool: 'unknown',
      detail: '',
      why: 'the request could not be read',
      answer: { outcome: { outcome: 'cancelled' } },
    };
  const { options } = data;
  const toolCall = commandIsTitle ? withCommand(data.toolCall) : data.toolCall;
  const why = role === 'coder' ? refusedToCoder(toolCall, cwd, [cwd, home]) : refusedToReader(toolCall);
  const choose = (...kinds: string[]) => {
    const option = kinds.map((kind) => options.find((one) => one.kind === kind)).find(Boolean);
    return option
      ? { outcome: { outcome: 'selected' as const, optionId: option.optionId } }
      : { outcome: { outcome: 'cancelled' as const } };
  };
  return {
    tool: toolCall.kind ?? 'unknown',
    detail: (commandIn(toolCall) ?? toolCall.title ?? '').slice(0, 500),
    why,
    answer: why === null ? choose('allow_once', 'allow_always') : choose('reject_once', 'reject_always'),
  };
}

const READING = ['read', 'search', 'think'];
const CHANGING = ['edit', 'delete', 'move'];

const refusedToReader = ({ kind }: ToolCall): string | null =>
  kind && READING.includes(kind) ? null : 'you may read and nothing else';

function refusedToCoder(call: ToolCall, cwd: string, roots: readonly string[]): string | null {
  if (call.kind === 'execute') {
    const command = commandIn(call);
    return command === null ? 'the command could not be read' : refusedCommand(command);
  }
  if (call.kind && CHANGING.includes(call.kind)) {
    const paths = pathsIn(call);
    if (paths.length === 0) return 'the change could not be read';
    return paths.map((path) => refusedPath(path, cwd, roots)).find((said) => said !== null) ?? null;
  }
  return call.kind === 'switch_mode' ? 'nobody is there to agree: go on as you are' : null;
}

/** Of a program that names what it wants to run in the title and nowhere else. */
const withCommand = (call: ToolCall): ToolCall =>
  call.kind === 'execute' ? { ...call, rawInput: { command: call.title } } : call;

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
