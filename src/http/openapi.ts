/** The interface described by what it is made of: the table of operations. */
import { OPERATIONS } from '../operations.ts';
import { OFFERED } from './api.ts';
import { inputSchema } from './input-schema.ts';

const ERROR = { $ref: '#/components/responses/Error' };

export function openApi(version: string): Record<string, unknown> {
  return {
    openapi: '3.1.0',
    info: { title: 'forge-loop', version, description: 'Everything that can be asked of the loop.' },
    paths: Object.fromEntries(OFFERED.map((name) => [`/api/${name}`, path(name)])),
    components: {
      responses: {
        Error: {
          description: 'What went wrong, and what to do.',
          content: {
            'application/json': {
              schema: {
                type: 'object',
                required: ['error'],
                properties: {
                  error: {
                    type: 'object',
                    required: ['code', 'message', 'hint'],
                    properties: {
                      code: { type: 'string' },
                      message: { type: 'string' },
                      hint: { type: ['string', 'null'] },
                    },
                  },
                },
              },
            },
          },
        },
      },
    },
  };
}

function path(name: (typeof OFFERED)[number]): Record<string, unknown> {
  const { access, description } = OPERATIONS[name];
  const { properties = {}, required = [] } = inputSchema(name);
  const asked = {
    operationId: name,
    summary: description,
    responses: {
      200: { description: 'The answer.', content: { 'application/json': { schema: {} } } },
      default: ERROR,
    },
  };
  if (access === 'write')
    return {
      post: { ...asked, requestBody: { content: { 'application/json': { schema: inputSchema(name) } } } },
    };
  const parameters = Object.entries(properties).map(([key, schema]) => ({
    name: key,
    in: 'query',
    required: required.includes(key),
    schema,
  }));
  return { get: { ...asked, parameters } };
}
