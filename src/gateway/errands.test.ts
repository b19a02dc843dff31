/** What would send a provider somewhere, on each wire; and what agents ask every day, which does not. */
import { expect, test } from 'vitest';
import { errandIn } from './errands.ts';

const EVIL = 'https://evil.example/?data';
const message = (content: unknown) => ({ messages: [{ role: 'user', content }] });

test.each([
  ['messages', { tools: [{ type: 'web_search_20250305', name: 'web_search' }] }, 'web_search_20250305'],
  ['messages', { tools: [{ name: 'mine' }, { type: 'web_fetch_20250910', name: 'web_fetch' }] }, 'web_fetch'],
  ['messages', { tools: [{ type: 'code_execution_20250825', name: 'x' }] }, 'code_execution'],
  ['messages', { tools: [{ type: 'mcp_toolset', mcp_server_name: 'x' }] }, 'mcp_toolset'],
  ['messages', { tools: [{ type: 'one_of_tomorrow' }] }, 'one_of_tomorrow'],
  ['messages', { mcp_servers: [{ type: 'url', url: EVIL, name: 'x' }] }, EVIL],
  ['messages', message([{ type: 'image', source: { type: 'url', url: EVIL } }]), EVIL],
  ['messages', message([{ type: 'document', source: { type: 'url', url: EVIL } }]), EVIL],
  [
    'messages',
    message([{ type: 'tool_result', content: [{ type: 'image', source: { type: 'url', url: EVIL } }] }]),
    EVIL,
  ],
  ['responses', { tools: [{ type: 'web_search' }] }, 'web_search'],
  ['responses', { tools: [{ type: 'web_search_preview' }] }, 'web_search_preview'],
  ['responses', { tools: [{ type: 'mcp', server_url: EVIL }] }, 'mcp'],
  ['responses', { tools: [{ type: 'code_interpreter', container: { type: 'auto' } }] }, 'code_interpreter'],
  ['responses', { tools: [{ type: 'shell', environment: { type: 'container_auto' } }] }, 'shell'],
  ['responses', { tools: [{ type: 'namespace', tools: [{ type: 'mcp', server_url: EVIL }] }] }, 'mcp'],
  ['responses', { input: [{ type: 'tool_search_output', tools: [{ type: 'mcp' }] }] }, 'mcp'],
  ['responses', { input: [{ content: [{ type: 'input_image', image_url: EVIL }] }] }, EVIL],
  ['responses', { input: [{ content: [{ type: 'input_file', file_url: EVIL }] }] }, EVIL],
  [
    'responses',
    { input: [{ type: 'function_call_output', output: [{ type: 'input_image', image_url: EVIL }] }] },
    EVIL,
  ],
  ['responses', { prompt: { id: 'p', variables: { response: { image_url: EVIL } } } }, EVIL],
  ['chat', { web_search_options: {} }, 'web_search_options'],
  ['chat', { search_parameters: { mode: 'on' } }, 'search_parameters'],
  ['chat', { plugins: [{ id: 'web' }] }, 'plugins'],
  ['chat', { model: 'some/model:online' }, 'online'],
  ['chat', { tools: [{ type: 'browser_search' }] }, 'browser_search'],
  ['chat', message([{ type: 'image_url', image_url: { url: EVIL } }]), EVIL],
  ['chat', message([{ type: 'file', file: { file_data: EVIL } }]), EVIL],
  ['generate', { tools: [{ googleSearch: {} }] }, 'googleSearch'],
  ['generate', { tools: [{ google_search: {} }] }, 'google_search'],
  ['generate', { tools: [{ urlContext: {} }] }, 'urlContext'],
  ['generate', { tools: { url_context: {} } }, 'url_context'],
  ['generate', { contents: [{ parts: [{ fileData: { fileUri: EVIL } }] }] }, EVIL],
  ['generate', { contents: [{ parts: [{ file_data: { file_uri: EVIL } }] }] }, EVIL],
] as const)('%s: %j', (wire, body, named) => {
  const errand = errandIn(wire, body);
  expect(`${errand?.what} ${errand?.url}`).toContain(named);
});

const DATA = 'data:image/png;base64,AAAA';
const SCHEMA = { type: 'object', properties: { url: { type: 'string' } } };

test.each([
  [
    'messages',
    {
      tools: [
        { name: 'WebFetch', input_schema: SCHEMA },
        { type: 'custom', name: 'x' },
      ],
    },
  ],
  ['messages', { tools: [{ type: 'bash_20250124', name: 'bash' }], mcp_servers: [] }],
  ['messages', message([{ type: 'image', source: { type: 'base64', data: 'AAAA' } }])],
  ['messages', message([{ type: 'tool_use', input: { source: { type: 'url', url: EVIL } } }])],
  ['messages', message(`see ${EVIL}`)],
  ['responses', { tools: [{ type: 'function', parameters: SCHEMA }, { type: 'local_shell' }] }],
  ['responses', { input: [{ content: [{ type: 'input_image', image_url: DATA }] }] }],
  ['chat', { tools: [{ type: 'function', function: { parameters: SCHEMA } }] }],
  ['chat', message([{ type: 'image_url', image_url: { url: DATA } }])],
  ['chat', message(EVIL)],
  ['generate', { tools: [{ functionDeclarations: [] }, { function_declarations: [] }] }],
  ['generate', { contents: [{ parts: [{ functionCall: { args: { fileUri: EVIL } } }] }] }],
] as const)('%s: %j sends nobody anywhere', (wire, body) => {
  expect(errandIn(wire, body)).toBeNull();
});
