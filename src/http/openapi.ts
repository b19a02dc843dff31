/** The interface described by what it is made of: the table of operations, and the schemas of their answers (`schema/json/v1`). */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { inputSchema } from '../operations/input-schema.ts';
import { OPERATIONS } from '../operations.ts';
import { OFFERED } from './api.ts';

type Schema = Record<string, unknown>;

/** `folder` has the schemas. */
export function openApi(version: string, folder: string): Schema {
  const { types, ...answers } = schemasIn(folder);
  const error = { description: 'What went wrong, and what to do.', content: json('http.error') };
  return {
    openapi: '3.1.0',
    info: { title: 'forge-loop', version, description: 'Everything that can be asked of the loop.' },
    security: [{ token: [] }, { cookie: [] }],
    paths: { ...Object.fromEntries(OFFERED.map((name) => [`/api/${name}`, operation(name)])), ...OTHERS },
    components: {
      securitySchemes: {
        token: { type: 'http', scheme: 'bearer', description: 'The token of `server.token`.' },
        cookie: {
          ...{ type: 'apiKey', in: 'cookie', name: 'forge-loop-<port>' },
          description: 'What a browser has after `/login`.',
        },
      },
      responses: { Error: error },
      schemas: { ...(types!.$defs as Schema), ...answers },
    },
  };
}

/** Of an operation, or of another answer, by the name of its file. */
const json = (name: string): Schema => ({
  'application/json': { schema: { $ref: `#/components/schemas/${name}` } },
});
const answered = (name: string, status = 200): Schema => ({
  [status]: { description: 'The answer.', content: json(name) },
  default: { $ref: '#/components/responses/Error' },
});

function operation(name: (typeof OFFERED)[number]): Schema {
  const { access, description } = OPERATIONS[name];
  const input = inputSchema(name);
  const asked = { operationId: name, summary: description, responses: answered(name) };
  if (access === 'write')
    return { post: { ...asked, requestBody: { content: { 'application/json': { schema: input } } } } };
  const parameters = Object.entries(input.properties).map(([key, schema]) => ({
    name: key,
    in: 'query',
    required: input.required.includes(key),
    schema,
  }));
  return { get: { ...asked, parameters } };
}

const inPath = (name: string): Schema => ({ name, in: 'path', required: true, schema: { type: 'string' } });
const inHeader = (name: string): Schema => ({
  ...{ name, in: 'header', required: true, schema: { type: 'string' } },
});

const OTHERS: Schema = {
  '/api/events.stream': {
    get: {
      operationId: 'events.stream',
      summary:
        'Events as they are recorded, as server-sent events: each with its number as id and `events.line` as data; between them `doing`, without a number, with `http.doing`.',
      parameters: [
        {
          ...{ name: 'after', in: 'query', schema: { type: 'integer', minimum: 0 } },
          description: 'The number of the last event that is known. Default: from now on.',
        },
        {
          ...{ name: 'Last-Event-ID', in: 'header', schema: { type: 'integer', minimum: 0 } },
          description: 'The same, as a browser says it when it reconnects.',
        },
      ],
      responses: {
        200: {
          description: 'The stream.',
          content: { 'text/event-stream': { schema: { type: 'string' } } },
        },
        default: { $ref: '#/components/responses/Error' },
      },
    },
  },
  '/api/v1/state': {
    get: {
      operationId: 'symphony.state',
      summary: 'What runs and what is tried again, as the Symphony specification has it.',
      responses: answered('symphony.state'),
    },
  },
  '/api/v1/refresh': {
    post: {
      operationId: 'symphony.refresh',
      summary: 'Make every runner look at the forge now.',
      responses: answered('symphony.refresh', 202),
    },
  },
  '/api/v1/{identifier}': {
    get: {
      operationId: 'symphony.issue',
      summary: 'One issue, by its number, or one plan, by its name.',
      parameters: [inPath('identifier')],
      responses: answered('symphony.issue'),
    },
  },
  '/metrics': {
    get: {
      operationId: 'metrics',
      summary: 'Figures for Prometheus.',
      responses: {
        200: { description: 'Its text format.', content: { 'text/plain': { schema: { type: 'string' } } } },
        default: { $ref: '#/components/responses/Error' },
      },
    },
  },
  '/mcp': {
    post: {
      operationId: 'mcp',
      summary: 'The MCP server, over streamable HTTP.',
      security: [{ token: [] }],
      requestBody: { content: { 'application/json': { schema: { type: 'object' } } } },
      responses: { 200: { description: 'An answer of MCP, as JSON or as server-sent events.' } },
    },
  },
  '/webhook': {
    post: {
      operationId: 'webhook',
      summary: 'Takes a delivery of GitHub, where `webhook.secret` is set. It only wakes the loop.',
      security: [],
      parameters: ['X-Hub-Signature-256', 'X-GitHub-Event', 'X-GitHub-Delivery'].map(inHeader),
      requestBody: { content: { 'application/json': { schema: { type: 'object' } } } },
      responses: {
        202: { description: 'It was signed with the secret.' },
        200: { description: 'It was, but is known already or changes nothing here.' },
        401: { description: 'It was not.' },
      },
    },
  },
  '/login': {
    get: {
      operationId: 'login',
      summary: 'Sets the cookie and leads to the dashboard.',
      security: [],
      parameters: ['token', 'to'].map((name) => ({ name, in: 'query', schema: { type: 'string' } })),
      responses: {
        200: { description: 'A page that asks for the token.' },
        303: { description: 'Logged in.' },
        401: { description: 'This was not the token.' },
      },
    },
  },
};

/** By the name of their file; what they refer to is all in `types`. */
function schemasIn(folder: string): Record<string, Schema> {
  const files = readdirSync(folder).sort();
  return Object.fromEntries(
    files.map((file) => {
      const text = readFileSync(join(folder, file), 'utf8');
      const { $schema: _, ...schema } = JSON.parse(
        text.replaceAll('"types.json#/$defs/', '"#/components/schemas/'),
      ) as Schema;
      return [file.replace(/\.json$/, ''), schema];
    }),
  );
}
