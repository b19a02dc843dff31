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
  ['chat', { model: 'a', models: ['b', 'b:online'] }, 'b:online'],
  ['chat', { model: 'b:online:free' }, 'b:online:free'],
  ['chat', { model: 'gpt-4o-search-preview-2025-03-11' }, 'gpt-4o-search-preview'],
  ['chat', { model: 'gpt-5-search-api' }, 'gpt-5-search-api'],
  ['chat', { model: 'groq/compound' }, 'groq/compound'],
  ['chat', { model: 'compound-beta-mini' }, 'compound-beta-mini'],
  ['chat', { model: 'perplexity/sonar-pro' }, 'sonar-pro'],
  ['responses', { model: 'o3-deep-research' }, 'o3-deep-research'],
  ['chat', { web_search: true }, 'web_search'],
  ['chat', { enable_search: true }, 'enable_search'],
  ['chat', { venice_parameters: { enable_web_search: 'on' } }, 'enable_web_search'],
  ['chat', { connectors: [{ id: 'web-search' }] }, 'connectors'],
  ['responses', { model: 'some/model:online' }, 'online'],
  ['responses', { plugins: [{ id: 'web' }] }, 'plugins'],
  ['messages', { model: 'some/model:online' }, 'online'],
  ['messages', { plugins: [{ id: 'web' }] }, 'plugins'],
  ['responses', { tools: [{ type: 'image_generation', input_image_mask: { image_url: EVIL } }] }, EVIL],
  ['chat', message([{ type: 'document_url', document_url: EVIL }]), EVIL],
  ['chat', message([{ image: EVIL }]), EVIL],
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
  ['chat', { model: 'gpt-5.1', models: ['qwen3-coder:free'], enable_search: false, web_search: null }],
  ['chat', { model: 'research-model', metadata: { search: 'x' }, provider: { order: ['a'] } }],
  ['chat', { messages: [{ role: 'assistant', annotations: [{ url_citation: { url: EVIL } }] }] }],
  ['responses', { tools: [{ type: 'image_generation', input_image_mask: { image_url: DATA } }] }],
  ['responses', { model: 'gpt-5-codex', background: false, include: ['web_search_call.action.sources'] }],
  ['generate', { tools: [{ functionDeclarations: [] }, { function_declarations: [] }] }],
  ['generate', { contents: [{ parts: [{ functionCall: { args: { fileUri: EVIL } } }] }] }],
] as const)('%s: %j sends nobody anywhere', (wire, body) => {
  expect(errandIn(wire, body)).toBeNull();
});
