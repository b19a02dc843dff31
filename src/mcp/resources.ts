/** Tasks, plans, findings and events as MCP resources: what a client can attach to a conversation without calling a tool. */
import { redactValue } from '../core/access/redact.ts';
import { UserError } from '../errors.ts';
import { type OperationName, perform } from '../operations.ts';
import type { Open } from './server.ts';

interface Room {
  /** The first part of the address. */
  name: 'tasks' | 'plans' | 'findings' | 'events';
  all: { description: string; operation: OperationName; input: Record<string, unknown> };
  one: { description: string; operation: OperationName; input(id: string): Record<string, unknown> };
}

const NEWEST = 100;

const ROOMS: readonly Room[] = [
  {
    name: 'tasks',
    all: { description: 'Tasks in flight.', operation: 'task.list', input: {} },
    one: {
      description: 'One task, by its id or the number of its issue.',
      operation: 'task.show',
      input: (task) => ({ task }),
    },
  },
  {
    name: 'plans',
    all: { description: 'Plans that are kept.', operation: 'plan.list', input: {} },
    one: {
      description: 'One plan with its text.',
      operation: 'plan.show',
      input: (plan) => ({ plan }),
    },
  },
  {
    name: 'findings',
    all: { description: 'Open findings of all tasks.', operation: 'findings.list', input: { open: true } },
    one: {
      description: 'All findings of one task.',
      operation: 'findings.list',
      input: (task) => ({ task }),
    },
  },
  {
    name: 'events',
    all: { description: `The last ${NEWEST} events.`, operation: 'events', input: { last: NEWEST } },
    one: {
      description: `The last ${NEWEST} events of one task.`,
      operation: 'events',
      input: (task) => ({ task, last: NEWEST }),
    },
  },
];

const SCHEME = 'forge-loop://';
const mimeType = 'application/json';

export const RESOURCES = ROOMS.map(({ name, all: { description } }) => ({
  uri: `${SCHEME}${name}`,
  name,
  description,
  mimeType,
}));

export const TEMPLATES = ROOMS.map(({ name, one: { description } }) => ({
  uriTemplate: `${SCHEME}${name}/{id}`,
  name: `one of ${name}`,
  description,
  mimeType,
}));

function decoded(id: string): string {
  try {
    return decodeURIComponent(id);
  } catch {
    throw new UserError(`${id} is no name in an address: its % signs encode no text.`);
  }
}

/** Null when there is no such address. */
export async function readResource(open: Open, uri: string): Promise<string | null> {
  const [, name, id] = /^forge-loop:\/\/([a-z]+)(?:\/([^/]+))?$/.exec(uri) ?? [];
  const room = ROOMS.find((one) => one.name === name);
  if (!room) return null;
  const { operation, input } =
    id === undefined ? room.all : { operation: room.one.operation, input: room.one.input(decoded(id)) };
  return open(async (context) =>
    JSON.stringify(redactValue(await perform(context, operation, input), context.redact)),
  );
}
