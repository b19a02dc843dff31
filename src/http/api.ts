/**
 * The table of operations over HTTP: `GET /api/<name>` for what reads, its input in the query; `POST /api/<name>` for what writes,
 * its input as JSON. Nothing is decided here.
 */
import { type Context as Asked, Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { type Redaction, redactValue } from '../core/access/redact.ts';
import { UsageError } from '../errors.ts';
import { inputSchema } from '../operations/input-schema.ts';
import { isForTerminal, OPERATIONS, type OperationName, perform } from '../operations.ts';
import { envelope } from './envelope.ts';
import type { LiveContext } from './live-context.ts';

/** A plan, or an issue with everything in it, is far below this. */
const MOST_BYTES = 2 * 1024 * 1024;

/** Of an answer: the numbers of the events that this call wrote. */
const EVENTS = 'Forge-Loop-Events';

/** What is offered here: all but what only the command line may ask for. */
export const OFFERED = (Object.keys(OPERATIONS) as OperationName[]).filter((name) => !isForTerminal(name));

export function api(live: LiveContext, redact: Redaction): Hono {
  const app = new Hono();
  for (const name of OFFERED) {
    const answer = async (asked: Asked, input: Record<string, unknown>) => {
      refuseOperatorOnly(name, input);
      const { result, written } = await live.use((context) =>
        context.withWritten(() => perform(context, name, input)),
      );
      if (written.length > 0) asked.header(EVENTS, written.join(', '));
      return asked.json(redactValue(result, redact));
    };
    if (OPERATIONS[name].access === 'read')
      app.get(`/${name}`, (asked) => answer(asked, fromQuery(name, asked.req.queries())));
    else
      app.post(`/${name}`, bodyLimit({ maxSize: MOST_BYTES, onError: tooLarge }), async (asked) =>
        answer(asked, await fromBody(asked)),
      );
    app.all(`/${name}`, (asked) => {
      const method = OPERATIONS[name].access === 'read' ? 'GET' : 'POST';
      asked.header('Allow', method);
      return asked.json(envelope('method_not_allowed', `${name} is asked for by ${method}.`), 405);
    });
  }
  return app;
}

function refuseOperatorOnly(name: OperationName, input: Record<string, unknown>): void {
  const given = OPERATIONS[name].operatorOnly.find((key) => key in input);
  if (given !== undefined)
    throw new UsageError(`${name} takes no ${given} here.`, 'Only the command line has it.');
}

/** A page of another site can send a form or plain text without being asked, but not this. */
async function fromBody(asked: Asked): Promise<Record<string, unknown>> {
  const type = asked.req.header('content-type') ?? '';
  const text = await asked.req.text();
  if (text === '') return {};
  if (!/^application\/json\b/i.test(type))
    throw new UsageError('The body must be JSON.', 'Send `Content-Type: application/json`.');
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    throw new UsageError('The body is not valid JSON.');
  }
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw new UsageError('The body must be a JSON object.');
  return body as Record<string, unknown>;
}

/** A query is all text; what a number or a switch is, the operation's schema knows. */
function fromQuery(name: OperationName, query: Record<string, string[]>): Record<string, unknown> {
  const { properties } = inputSchema(name);
  return Object.fromEntries(
    Object.entries(query).map(([key, values]) => {
      const types = typesOf(properties[key]);
      if (types.has('array')) return [key, values];
      return [key, typed(values.at(-1) ?? '', types)];
    }),
  );
}

function typed(text: string, types: ReadonlySet<string>): unknown {
  if (types.has('boolean') && /^(true|false|)$/.test(text)) return text !== 'false';
  if (types.has('string')) return text;
  if ((types.has('integer') || types.has('number')) && /^-?\d+(\.\d+)?$/.test(text)) return Number(text);
  return text;
}

type Schema = { type?: string | string[]; anyOf?: Schema[] };

const typesOf = (schema: Schema | undefined): Set<string> =>
  new Set([schema?.type ?? [], ...(schema?.anyOf ?? []).map((one) => [...typesOf(one)])].flat());

const tooLarge = (asked: Asked) =>
  asked.json(envelope('too_large', `The body is larger than ${MOST_BYTES / 1024 / 1024} MB.`), 413);
