// @ts-check
/**
 * A granted MCP server, as an agent starts it: the server that the file it is given describes, with the environment of the
 * turn, whatever of it the agent hands on. Where single tools were granted, no other one is listed or called, and of
 * resources and prompts nothing is offered. One that ends before the agent is done with it leaves a note for the loop.
 */
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import readline from 'node:readline';

/**
 * @typedef {{ command: string[], env: Record<string, string>, around: Record<string, string>, cwd: string,
 *   tools: string[] | null, note: string }} Description
 * @typedef {{ id?: unknown, method?: string, params?: any, result?: any, error?: any }} Message
 */

const [file = ''] = process.argv.slice(2);
/** @type {Description} */
const { command, env, around, cwd, tools, note } = JSON.parse(fs.readFileSync(file, 'utf8'));
const [program = '', ...args] = command;

const LONGEST_TAIL = 1000;
const ENDED_BY_US = ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGPIPE'];
let isOver = false;
let tail = '';

/** What the confinement sets, whoever of the two starts it. */
const { PATH, TMPDIR } = process.env;
const set = { ...(PATH && { PATH }), ...(TMPDIR && { TMPDIR }) };
const server = spawn(program, args, { cwd, env: { ...around, ...set, ...env }, stdio: 'pipe' });
server.on('error', (error) => ended(error.message, 1));
server.on('close', (code, signal) => {
  const isOurs = isOver || (signal !== null && ENDED_BY_US.includes(signal));
  ended(isOurs ? null : signal === null ? `it exited with ${code}` : `it was killed by ${signal}`, code ?? 1);
});
server.stderr.on('data', (data) => {
  tail = `${tail}${data}`.slice(-LONGEST_TAIL);
  process.stderr.write(data);
});
server.stdin.on('error', () => {});
for (const signal of /** @type {const} */ (['SIGTERM', 'SIGINT', 'SIGHUP']))
  process.on(signal, () => {
    isOver = true;
    server.kill(signal);
  });

/** @param {string | null} why @param {number} code */
function ended(why, code) {
  if (why !== null) fs.writeFileSync(note, `${why}: ${tail.trim() || 'it said nothing'}`);
  process.exit(why === null ? 0 : code || 1);
}

/** @param {NodeJS.WritableStream} to @param {Message} message */
const send = (to, message) => to.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);

/** @param {NodeJS.ReadableStream} from @param {(message: Message) => void} take */
function read(from, take) {
  const lines = readline.createInterface({ input: from });
  lines.on('line', (line) => {
    const message = parsed(line);
    if (message !== null) take(message);
  });
  return lines;
}

/** What is no message of its own is not passed on: nobody could say what the other side makes of it. */
/** @param {string} line @returns {Message | null} */
function parsed(line) {
  try {
    const value = JSON.parse(line);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : null;
  } catch {
    return null;
  }
}

/** @param {string} name */
const isGranted = (name) => tools === null || tools.includes(name);

/** Methods of a client that reach a server of which only some tools were granted. */
const PASSED = /^(initialize|ping|logging\/setLevel|tools\/list|tools\/call|notifications\/.*)$/;

/** @param {Message} message @param {string | undefined} answered @returns {Message} */
function limited(message, answered) {
  const { result } = message;
  if (answered === 'tools/list' && Array.isArray(result?.tools))
    return {
      ...message,
      result: {
        ...result,
        tools: result.tools.filter((/** @type {{ name: string }} */ { name }) => isGranted(name)),
      },
    };
  if (answered === 'initialize' && result?.capabilities) {
    const { tools: own, logging } = result.capabilities;
    return {
      ...message,
      result: { ...result, capabilities: { ...(own && { tools: own }), ...(logging && { logging }) } },
    };
  }
  return message;
}

/** Requests of the agent that wait for their answer: which method each asked for. */
/** @type {Map<unknown, string>} */
const asked = new Map();
const lines = read(process.stdin, (message) => {
  const { id, method, params } = message;
  const why =
    tools === null || method === undefined
      ? null
      : !PASSED.test(method)
        ? `${method} is not granted`
        : method === 'tools/call' && !isGranted(params?.name)
          ? `the tool ${params?.name} is not granted`
          : null;
  if (why !== null) {
    if (id !== undefined) send(process.stdout, { id, error: { code: -32601, message: why } });
    return;
  }
  if (id !== undefined && method !== undefined) asked.set(id, method);
  send(server.stdin, message);
});
lines.on('close', () => {
  isOver = true;
  server.stdin.end();
});
read(server.stdout, (message) => {
  const method = message.method === undefined ? asked.get(message.id) : undefined;
  asked.delete(message.method === undefined ? message.id : undefined);
  send(process.stdout, tools === null ? message : limited(message, method));
});
