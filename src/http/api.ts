/**
 * The table of operations over HTTP: `GET /api/<name>` for what reads, its input in the query; `POST /api/<name>` for what writes,
 * its input as JSON. Nothing is decided here.
 */
import { type Context as Asked, Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { type Redaction, redactValue } from '../core/redact.ts';
import { UsageError } from '../errors.ts';
import { isForTerminal, OPERATIONS, type OperationName, perform } from '../operations.ts';
import { envelope } from './envelope.ts';
import { inputSchema } from './input-schema.ts';
import type { LiveContext } from './live-context.ts';

/** A plan, or an issue with everything in it, is far below this. */
const MOST_BYTES = 2 * 1024 * 1024;

/** What is offered here: all but what names files of whoever types it. */
export const OFFERED = (Object.keys(OPERATIONS) as OperationName[]).filter((name) => !isForTerminal(name));

export function api(live: LiveContext, redact: Redaction): Hono {
  const app = new Hono();
  for (const name of OFFERED) {
    const answer = async (asked: Asked, input: Record<string, unknown>) =>
      asked.json(redactValue(await live.use((context) => perform(context, name, input)), redact));
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
  const { properties = {} } = inputSchema(name);
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
