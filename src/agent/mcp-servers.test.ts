/** Granted MCP servers, started as an agent starts them. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { IDLE_POLICY } from '../../test/support/agent-stage.ts';
import { BARE } from '../../test/support/policy.ts';
import type { AgentPolicy, McpServer } from '../core/policy.ts';
import { accessOf } from '../core/role.ts';
import type { Progress, TurnRequest } from './agent.ts';
import { type GrantedServer, withServers } from './mcp-servers.ts';

const SERVER = fileURLToPath(new URL('../../test/support/mcp-server.js', import.meta.url));
const DOCS: McpServer = {
  name: 'docs',
  command: [process.execPath, SERVER, 'FOUND'],
  env: { SERVER_KEY: 'sk-docs' },
  tools: null,
};

let dir = '';
let told: Progress[] = [];

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'forge-mcp-'));
  told = [];
  for (const name of ['work', 'home']) await mkdir(join(dir, name));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

function turnWith(server: McpServer, env: AgentPolicy['env'] = BARE): TurnRequest {
  const [cwd, home, sessionDir] = [join(dir, 'work'), join(dir, 'home'), join(dir, 'session')];
  return {
    task: 't-1',
    role: 'critic',
    number: 1,
    cwd,
    home,
    prompt: '',
    sessionId: 's-1',
    sessionDir,
    resume: false,
    policy: { ...IDLE_POLICY, env, mcp: [server] },
    access: accessOf('critic', { cwd, home, session: sessionDir }),
    identity: { name: 'Ada', email: 'ada@example.com' },
    logPath: join(dir, 'log'),
    mark: 't-1',
  };
}

const granted = <T>(turn: TurnRequest, take: (servers: GrantedServer, turn: TurnRequest) => Promise<T>) =>
  withServers(turn, { onProgress: (said) => said && told.push(said) }, (place, [server]) =>
    take(server!, place),
  );

/** As agents do that hand on little: the PATH and nothing else. */
async function talkTo<T>(
  { command, args }: GrantedServer,
  talk: (ask: (method: string, params?: object) => Promise<Answer>, child: ChildProcess) => Promise<T>,
): Promise<T> {
  const child = spawn(command, args, {
    stdio: ['pipe', 'pipe', 'ignore'],
    env: { PATH: process.env.PATH },
  });
  const replies = createInterface({ input: child.stdout! })[Symbol.asyncIterator]();
  let last = 0;
  const ask = async (method: string, params: object = {}) => {
    last += 1;
    child.stdin?.write(`${JSON.stringify({ jsonrpc: '2.0', id: last, method, params })}\n`);
    return JSON.parse((await replies.next()).value as string) as Answer;
  };
  const exited = once(child, 'exit');
  try {
    return await talk(ask, child);
  } finally {
    child.stdin?.end();
    await exited;
  }
}

interface Answer {
  id: number;
  result?: { tools?: { name: string }[]; content?: { text: string }[]; capabilities?: object };
  error?: { code: number; message: string };
}

const HELLO = { protocolVersion: '2025-06-18' };
const names = ({ result }: Answer) => result?.tools?.map(({ name }) => name);

test('a server answers in the role’s home, with the turn’s environment and its own', async () => {
  await granted(turnWith(DOCS), (server) =>
    talkTo(server, async (ask) => {
      expect(await ask('initialize', HELLO)).toMatchObject({ id: 1, result: HELLO });
      expect(names(await ask('tools/list'))).toEqual(['lookup', 'remove']);
      const { result } = await ask('tools/call', { name: 'lookup', arguments: { word: 'x' } });
      expect(result?.content?.[0]?.text).toBe(`FOUND x with sk-docs for critic in ${join(dir, 'home')}`);
      await ask('tools/call', { name: 'remove' });
      expect(existsSync(join(dir, 'work', 'removed'))).toBe(true);
      expect(await ask('resources/list')).toMatchObject({ result: { resources: [] } });
    }),
  );
  expect(told).toEqual([]);
});

test('of a server whose single tool was granted, nothing else is listed or called', async () => {
  await granted(turnWith({ ...DOCS, tools: ['lookup'] }), (server) =>
    talkTo(server, async (ask) => {
      const hello = await ask('initialize', HELLO);
      expect(hello.result?.capabilities).toEqual({ tools: {} });
      expect(names(await ask('tools/list'))).toEqual(['lookup']);
      expect(await ask('tools/call', { name: 'remove' })).toMatchObject({
        id: 3,
        error: { code: -32601, message: 'the tool remove is not granted' },
      });
      expect(existsSync(join(dir, 'work', 'removed'))).toBe(false);
      expect(await ask('resources/list')).toMatchObject({
        error: { message: 'resources/list is not granted' },
      });
      expect((await ask('tools/call', { name: 'lookup' })).result?.content?.[0]?.text).toContain('FOUND');
    }),
  );
});

test('one that ends at once is told to the operator, with its last words', async () => {
  const broken = { ...DOCS, command: ['/bin/sh', '-c', 'echo no such package >&2; exit 3'] };
  await granted(turnWith(broken), (server) =>
    talkTo(server, async (_, child) => {
      expect(await once(child, 'exit')).toEqual([3, null]);
    }),
  );
  expect(told).toMatchObject([
    { kind: 'refused', code: 'tool_missing', tool: 'docs', detail: 'it exited with 3: no such package' },
  ]);
});

test('one that is not installed is told, too', async () => {
  await granted(turnWith({ ...DOCS, command: ['no-such-server'] }), (server) =>
    talkTo(server, async (_, child) => void (await once(child, 'exit'))),
  );
  expect(told).toMatchObject([{ tool: 'docs', detail: expect.stringContaining('no-such-server ENOENT') }]);
});

test('a note that an agent put in the place of one is not followed', async () => {
  writeFileSync(join(dir, 'secret'), 'of the operator');
  await granted(turnWith(DOCS), (_, { sessionDir }) =>
    symlink(join(dir, 'secret'), join(`${sessionDir}-mcp`, 'notes', 'docs')),
  );
  expect(JSON.stringify(told)).not.toContain('of the operator');
});

test('its value is in no argument, a key that is passed on is not with it, and nothing is left', async () => {
  process.env.FORGE_TEST_API_KEY = 'sk-passed';
  const env = { ...BARE, pass: ['FORGE_TEST_API_KEY'], set: { OTHER_TOKEN: 'sk-set', PLAIN: 'plain' } };
  try {
    const folder = await granted(turnWith(DOCS, env), async (server, { access, sessionDir }) => {
      expect(JSON.stringify(server)).not.toContain('sk-docs');
      const described = readFileSync(server.args[1]!, 'utf8');
      expect(described).toContain('sk-docs');
      expect(described).toContain('"PLAIN":"plain"');
      expect(described).not.toMatch(/sk-passed|sk-set/);
      expect(access.readRoots).toEqual(expect.arrayContaining([`${sessionDir}-mcp`, SERVER]));
      expect(access.writeRoots).not.toContain(`${sessionDir}-mcp`);
      return `${sessionDir}-mcp`;
    });
    expect(existsSync(folder)).toBe(false);
  } finally {
    delete process.env.FORGE_TEST_API_KEY;
  }
});
