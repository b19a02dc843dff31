/**
 * The table of operations as MCP tools: what reads, and of what writes only what the operator granted. No tool takes what only the
 * operator may say (a model, a budget, a sandbox), and none names files of this machine.
 */
import type { Tool } from '@modelcontextprotocol/server';
import { redactValue } from '../core/access/redact.ts';
import { UserError } from '../errors.ts';
import { inputSchema } from '../operations/input-schema.ts';
import { isForTerminal, OPERATIONS, type OperationName, perform } from '../operations.ts';
import type { Calls } from './calls.ts';
import type { Open } from './server.ts';

interface Answer {
  content: [{ type: 'text'; text: string }];
  isError?: true;
  [key: string]: unknown;
}

/** A model has to read all of it. */
const MOST_CHARS = 200_000;

const NAMES = (Object.keys(OPERATIONS) as OperationName[]).filter((name) => !isForTerminal(name));
/** Names of tools have no dots. */
const toolName = (name: OperationName): string => name.replace('.', '_');

export function toolsFor(allow: readonly string[]): Tool[] {
  return NAMES.filter((name) => isOffered(name, allow)).map((name) => {
    const { description, access } = OPERATIONS[name];
    const { properties, required } = inputSchema(name);
    return {
      name: toolName(name),
      description,
      inputSchema: { type: 'object', properties, required, additionalProperties: false },
      annotations: {
        readOnlyHint: access === 'read',
        destructiveHint: access === 'write',
        openWorldHint: false,
      },
    };
  });
}

export async function callTool(
  open: Open,
  calls: Calls,
  tool: string,
  input: Record<string, unknown>,
): Promise<Answer> {
  return open(async (context) => {
    const { allow, max_calls: most } = (await context.settings()).settings.workflow.server.mcp;
    const name = NAMES.find((one) => toolName(one) === tool && isOffered(one, allow));
    if (!name) return refused(unknownText(tool));
    if (!calls.take(tool, most)) return refused(calls.says(tool, most));
    const known = Object.keys(toolsFor(allow).find((one) => one.name === tool)!.inputSchema.properties ?? {});
    const strange = Object.keys(input).find((key) => !known.includes(key));
    if (strange !== undefined) return refused(`${tool} takes no ${JSON.stringify(strange)}.`);
    try {
      const text = JSON.stringify(redactValue(await perform(context, name, input), context.redact));
      return text.length > MOST_CHARS ? refused(tooLongText(name, input, text.length)) : answer(text);
    } catch (error) {
      const { message } = error as Error;
      const hint = error instanceof UserError ? error.hint : null;
      return refused(context.redact.text([message, hint].filter(Boolean).join('\n')));
    }
  });
}

/** Of what is granted, what can't be: in words, or null. */
export function grantProblem(allow: readonly string[]): string | null {
  const wrong = allow.filter((name) => !GRANTABLE.includes(name as OperationName));
  if (wrong.length === 0) return null;
  return `server.mcp.allow has ${wrong.join(', ')}, which can't be granted. It takes: ${GRANTABLE.join(', ')}.`;
}

const GRANTABLE = NAMES.filter((name) => OPERATIONS[name].access === 'write');

const isOffered = (name: OperationName, allow: readonly string[]): boolean =>
  OPERATIONS[name].access === 'read' || allow.includes(name);

function unknownText(tool: string): string {
  const granted = GRANTABLE.find((name) => toolName(name) === tool);
  if (granted === undefined) return `There is no tool ${tool}.`;
  return `${tool} is not granted. A person may add ${granted} to server.mcp.allow in WORKFLOW.md.`;
}

function tooLongText(name: OperationName, input: Record<string, unknown>, chars: number): string {
  const size = `The answer has ${chars} characters, and ${MOST_CHARS} are passed on.`;
  if (input.all === true) return `${size} Ask without \`all\`.`;
  const narrower = Object.keys(inputSchema(name).properties ?? {}).filter((key) => NARROWING.includes(key));
  return narrower.length === 0
    ? `${size} ${toolName(name)} can't be asked for less.`
    : `${size} Ask for less with ${narrower.map((key) => `\`${key}\``).join(', ')}.`;
}

/** Fields of inputs by which an answer gets shorter. */
const NARROWING: readonly string[] = [
  ...['task', 'issue', 'file', 'pattern', 'search', 'type', 'role', 'turn', 'since', 'last', 'limit', 'live'],
];

const answer = (text: string): Answer => ({ content: [{ type: 'text', text }] });
const refused = (text: string): Answer => ({ ...answer(text), isError: true });
