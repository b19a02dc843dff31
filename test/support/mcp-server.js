// @ts-check
/**
 * A small MCP server on stdin and stdout: `lookup` answers with where it runs and what it was given, `remove` leaves a file.
 * Its argument is a word that its answers begin with.
 */
import fs from 'node:fs';
import path from 'node:path';
import readline from 'node:readline';

const [word = 'ANSWER'] = process.argv.slice(2);
const { SERVER_KEY = 'no key', FORGE_WORKSPACE = '', FORGE_ROLE = '' } = process.env;

const tool = (/** @type {string} */ name) => ({
  name,
  description: `A test: ${name}.`,
  inputSchema: { type: 'object', properties: { word: { type: 'string' } } },
});

/** @type {Record<string, (input: { word?: string }) => string>} */
const TOOLS = {
  lookup: (input) => `${word} ${input.word ?? ''} with ${SERVER_KEY} for ${FORGE_ROLE} in ${process.cwd()}`,
  remove() {
    fs.writeFileSync(path.join(FORGE_WORKSPACE, 'removed'), '');
    return 'removed';
  },
};

/** @param {string} method @param {any} params */
function answerTo(method, params) {
  if (method === 'initialize')
    return {
      protocolVersion: params.protocolVersion,
      capabilities: { tools: {}, resources: {}, prompts: {} },
      serverInfo: { name: 'test', version: '1' },
    };
  if (method === 'tools/list') return { tools: Object.keys(TOOLS).map(tool) };
  if (method === 'tools/call')
    return {
      content: [{ type: 'text', text: TOOLS[params.name]?.(params.arguments ?? {}) ?? 'no such tool' }],
    };
  if (method === 'resources/list') return { resources: [] };
  if (method === 'prompts/list') return { prompts: [] };
  return {};
}

process.stdout.write('a line that is no message\n');
const lines = readline.createInterface({ input: process.stdin });
lines.on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, result: answerTo(method, params) })}\n`);
});
lines.on('close', () => process.exit(0));
