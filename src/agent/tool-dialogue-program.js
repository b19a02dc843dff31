// @ts-check
/**
 * An MCP server on stdin and stdout whose tools are answered by the host, through files in the directory it is given:
 * `tools.json` lists them, `<n>.call` asks, `<n>.answer` is the answer. It uses nothing but node, knows nothing of the
 * loop, and ends with its stdin.
 */
import { randomUUID } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import readline from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';

const dir = process.argv[2] ?? '.';
const LOOK_EVERY_MS = 25;

/** @param {unknown} id @param {object} rest */
const send = (id, rest) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, ...rest })}\n`);

/** @param {{ name: string, arguments?: unknown }} params */
async function call({ name, arguments: input }) {
  const file = path.join(dir, randomUUID());
  fs.writeFileSync(`${file}.aside`, JSON.stringify({ name, input: input ?? {} }));
  fs.renameSync(`${file}.aside`, `${file}.call`);
  while (!fs.existsSync(`${file}.answer`)) await delay(LOOK_EVERY_MS);
  const { text, isError } = JSON.parse(fs.readFileSync(`${file}.answer`, 'utf8'));
  return { content: [{ type: 'text', text }], isError };
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
  else if (method === 'tools/list')
    send(id, { result: { tools: JSON.parse(fs.readFileSync(path.join(dir, 'tools.json'), 'utf8')) } });
  else if (method === 'tools/call') send(id, { result: await call(params) });
  else if (method === 'ping') send(id, { result: {} });
  else send(id, { error: { code: -32601, message: `${method} is not known here` } });
}

const lines = readline.createInterface({ input: process.stdin });
lines.on('line', (line) => {
  take(line).catch((error) => process.stderr.write(`${String(error)}\n`));
});
lines.on('close', () => process.exit(0));
