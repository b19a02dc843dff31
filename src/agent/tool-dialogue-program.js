// @ts-check
/**
 * An MCP server on stdin and stdout whose tools are answered by the host, through files in the directory it is given:
 * `tools.json` lists them; in `calls`, `<n>.call` asks and `<n>.answer` is the answer. It uses nothing but node, knows nothing of the
 * loop, and ends with its stdin.
 *
 * For an agent that runs commands instead: `list` prints the tools, `call <name>` makes one call, whose input it reads.
 */
import { randomUUID } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import readline from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';

const [dir = '.', verb, tool = ''] = process.argv.slice(2);
const LOOK_EVERY_MS = 25;

/** @param {unknown} id @param {object} rest */
const send = (id, rest) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, ...rest })}\n`);

const tools = () => JSON.parse(fs.readFileSync(path.join(dir, 'tools.json'), 'utf8'));

/** @param {string} name @param {unknown} input @returns {Promise<{ text: string, isError: boolean }>} */
async function call(name, input) {
  const file = path.join(dir, 'calls', randomUUID());
  fs.writeFileSync(`${file}.aside`, JSON.stringify({ name, input: input ?? {} }));
  fs.renameSync(`${file}.aside`, `${file}.call`);
  while (!fs.existsSync(`${file}.answer`)) await delay(LOOK_EVERY_MS);
  return JSON.parse(fs.readFileSync(`${file}.answer`, 'utf8'));
}

/** @param {string} line */
async function take(line) {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  if (method === 'initialize')
    send(id, {
      result: {
        protocolVersion: params?.protocolVersion ?? '2025-06-18',
        capabilities: { tools: {} },
        serverInfo: { name: 'forge', version: '1' },
      },
    });
  else if (method === 'tools/list') send(id, { result: { tools: tools() } });
  else if (method === 'tools/call') {
    const { text, isError } = await call(params.name, params.arguments);
    send(id, { result: { content: [{ type: 'text', text }], isError } });
  } else if (method === 'ping') send(id, { result: {} });
  else send(id, { error: { code: -32601, message: `${method} is not known here` } });
}

function serve() {
  const lines = readline.createInterface({ input: process.stdin });
  lines.on('line', (line) => {
    take(line).catch((error) => process.stderr.write(`${String(error)}\n`));
  });
  lines.on('close', () => process.exit(0));
}

function list() {
  /** @param {{ name: string, description: string, inputSchema: object }} tool */
  const declared = ({ inputSchema, ...rest }) => ({ ...rest, parametersJsonSchema: inputSchema });
  process.stdout.write(JSON.stringify(tools().map(declared)));
}

async function callOnce() {
  const { text, isError } = await call(tool, JSON.parse(fs.readFileSync(0, 'utf8')));
  process.stdout.write(text);
  process.exitCode = isError ? 1 : 0;
}

if (verb === 'list') list();
else if (verb === 'call') await callOnce();
else serve();
