/** The MCP server as a client meets it: in process, and over HTTP behind the guard. */
import {
  Client,
  InMemoryTransport,
  ProtocolErrorCode,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client';
import { afterEach, describe, expect, it } from 'vitest';
import { MINUTE, moved, openedRepository } from '../../test/support/opened-repository.ts';
import { BY_SHAPE } from '../core/access/redact.ts';
import { event } from '../core/event.ts';
import { startServer } from '../http/server.ts';
import { openContext } from '../main.ts';
import { OPERATIONS, type OperationName } from '../operations.ts';
import { INTAKE_LEASE, taskLease } from '../store/store.ts';
import { countCalls } from './calls.ts';
import { mcpOverHttp } from './http.ts';
import { mcpServer } from './server.ts';
import { grantProblem, toolsFor } from './tools.ts';

const here = openedRepository();
const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

async function connected(allow: string[] = [], maxCalls = 20): Promise<Client> {
  here.configure(
    `agent: { command: "true" }\ngate: none\nserver: { mcp: { allow: [${allow}], max_calls: ${maxCalls} } }`,
  );
  await here.reopen();
  const server = mcpServer(
    (work) => work(here.context),
    countCalls(() => 0, null),
    '1.2.3',
  );
  const [theirs, ours] = InMemoryTransport.createLinkedPair();
  const client = new Client({ name: 'test', version: '0' });
  await server.connect(ours as never);
  await client.connect(theirs);
  closing.push(() => client.close());
  return client;
}

type Said = { content: { text: string }[]; isError?: boolean };
const call = async (client: Client, name: string, input: Record<string, unknown> = {}) => {
  const { content, isError } = (await client.callTool({ name, arguments: input })) as unknown as Said;
  return { text: content[0]!.text, isError: isError === true };
};
const read = async (client: Client, uri: string): Promise<unknown> => {
  const { contents } = await client.readResource({ uri });
  return JSON.parse((contents[0] as { text: string }).text);
};

/** Issues 1 to `count`, each abandoned a moment after the one before. */
async function manyEnded(count: number): Promise<void> {
  const store = await here.context.writing();
  const contract = { title: 'Title', body: 'Body', hash: 'h', criteria: [] };
  const lease = (await store.acquireLease(INTAKE_LEASE, 'test', 0, MINUTE, () => true))!;
  for (let issue = 1; issue <= count; issue++) {
    const taskId = `t${issue}`;
    const of = { kind: 'issue', issue, attempt: 1, slug: 's', branch: `loop/${issue}-s`, contract } as const;
    const events = [event('task_created', of)];
    const { version } = (await store.claim({ lease, taskId, issue, events, actions: [], at: issue }))!;
    const mine = (await store.acquireLease(taskLease(taskId), 'test', 0, MINUTE, () => true))!;
    const end = [moved('queued', 'abandoned', 'cancelled')];
    await store.commit({ lease: mine, taskId, expectedVersion: version, events: end, at: issue });
  }
}

describe('tools', () => {
  it('are what reads, without what is for terminals, and of what writes only what was granted', async () => {
    const reading = (Object.keys(OPERATIONS) as OperationName[]).filter(
      (name) => OPERATIONS[name].access === 'read' && name !== 'replay.file',
    );
    const names = async (client: Client) => (await client.listTools()).tools.map(({ name }) => name).sort();
    const expected = reading.map((name) => name.replace('.', '_'));
    expect(await names(await connected())).toEqual([...expected].sort());
    expect(await names(await connected(['pause', 'issue.new']))).toEqual(
      [...expected, 'pause', 'issue_new'].sort(),
    );
  });

  it('never take a setting, a secret or a model', () => {
    for (const { name, inputSchema } of toolsFor(Object.keys(OPERATIONS)))
      for (const key of Object.keys(inputSchema.properties ?? {}))
        expect(key, name).not.toMatch(/model|budget|sandbox|maxTurns|maxIterations|token|secret|agents/i);
    expect(toolsFor(Object.keys(OPERATIONS)).map(({ name }) => name)).not.toContain('uninstall');
  });

  it('answer as the command does with --json; a mistake is told with what to do', async () => {
    const client = await connected();
    await here.ready('One');
    await here.commit(await here.taskOf(1, 'aaaa0001'), moved('queued', 'abandoned', 'no_progress'));
    const shown = await call(client, 'task_show', { task: '1' });
    expect(JSON.parse(shown.text)).toMatchObject({ id: 'aaaa0001', state: 'abandoned' });
    expect(await call(client, 'task_show', { task: 'zzz' })).toEqual({
      text: expect.stringMatching(/^There is no task zzz\.\nKnown: aaaa0001/),
      isError: true,
    });
    expect(await call(client, 'task_show', {})).toMatchObject({ isError: true });
  });

  it('refuse what was not granted, and name who grants it', async () => {
    const client = await connected();
    expect(await call(client, 'pause')).toEqual({
      text: 'pause is not granted. A person may add pause to server.mcp.allow in WORKFLOW.md.',
      isError: true,
    });
    expect(await call(client, 'uninstall', { yes: true })).toMatchObject({
      text: 'There is no tool uninstall.',
    });
    expect((await call(client, 'backup', { file: 'x' })).isError).toBe(true);
    expect((await (await here.context.reading())?.loop())?.pausedBy ?? null).toBeNull();
  });

  it('change what was granted, but take no argument that is the operator’s', async () => {
    const client = await connected(['pause', 'loop.start']);
    expect(JSON.parse((await call(client, 'pause')).text)).toMatchObject({ paused: 'Eva' });
    expect(await call(client, 'loop_start', { goal: 'tidy', model: 'best' })).toEqual({
      text: 'loop_start takes no "model".',
      isError: true,
    });
  });

  it('are called so often and no more, each counted by itself', async () => {
    const client = await connected([], 2);
    expect((await call(client, 'status')).isError).toBe(false);
    expect((await call(client, 'status')).isError).toBe(false);
    expect(await call(client, 'status')).toMatchObject({
      text: expect.stringContaining('status was called 2 times'),
      isError: true,
    });
    expect((await call(client, 'why')).isError).toBe(false);
  });

  it('show the newest of very many tasks, with how many more there are, and how to ask for less', async () => {
    await manyEnded(400);
    const client = await connected();
    const seen = JSON.parse((await call(client, 'status')).text);
    expect(seen.tasks.map(({ issue }: { issue: number }) => issue)).toEqual(
      Array.from({ length: 20 }, (_, at) => 381 + at),
    );
    expect(seen.endedLeftOut).toBe(380);
    expect(JSON.parse((await call(client, 'status', { live: true })).text)).toMatchObject({
      ...{ tasks: [], endedLeftOut: 400 },
    });
    expect(await call(client, 'status', { all: true })).toEqual({
      text: expect.stringMatching(/^The answer has \d+ characters, .* Ask without `all`\.$/),
      isError: true,
    });
    expect(await call(client, 'events', {})).toEqual({
      text: expect.stringContaining('Ask for less with `task`, `type`, `last`, `limit`.'),
      isError: true,
    });
  });

  it('say nothing that is secret', async () => {
    const client = await connected();
    const key = `ghp_${'a1B2'.repeat(9)}`;
    await here.ready(`Use ${key}`);
    const { text } = await call(client, 'issue_list');
    expect(text).toContain('[redacted]');
    expect(text).not.toContain(key);
  });
});

describe('a cap', () => {
  it('over HTTP ends by itself', () => {
    let now = 0;
    const calls = countCalls(() => now, 1000);
    expect([calls.take('a', 1), calls.take('a', 1)]).toEqual([true, false]);
    now = 1001;
    expect(calls.take('a', 1)).toBe(true);
  });
});

it('names what can’t be granted', () => {
  expect(grantProblem(['pause'])).toBeNull();
  expect(grantProblem(['status', 'restore', 'x'])).toContain('has status, restore, x, which');
});

describe('resources', () => {
  it('are tasks, plans, findings and events, all or one', async () => {
    const client = await connected();
    await here.ready('One');
    await here.taskOf(1, 'aaaa0001');
    const { resources } = await client.listResources();
    expect(resources.map(({ uri }) => uri)).toEqual([
      'forge-loop://tasks',
      'forge-loop://plans',
      'forge-loop://findings',
      'forge-loop://events',
    ]);
    expect((await client.listResourceTemplates()).resourceTemplates).toHaveLength(4);
    expect(await read(client, 'forge-loop://tasks')).toMatchObject([{ id: 'aaaa0001' }]);
    expect(await read(client, 'forge-loop://tasks/1')).toMatchObject({ id: 'aaaa0001' });
    expect(await read(client, 'forge-loop://events/aaaa0001')).toMatchObject([{ type: 'task_created' }]);
    expect(await read(client, 'forge-loop://plans')).toEqual([]);
    expect(await read(client, 'forge-loop://findings/1')).toEqual([]);
    await expect(read(client, 'forge-loop://settings')).rejects.toThrow();
    await expect(read(client, 'forge-loop://tasks/zzz')).rejects.toThrow('There is no task zzz');
    await expect(read(client, 'forge-loop://tasks/%E0')).rejects.toMatchObject({
      code: ProtocolErrorCode.InvalidParams,
      message: expect.stringContaining('%E0 is no name in an address'),
    });
  });
});

describe('over HTTP', () => {
  const bugs: string[] = [];
  const start = async (): Promise<URL> => {
    const serving = await startServer({
      port: 0,
      bind: '127.0.0.1',
      token: 'right',
      hosts: [],
      version: '0.0.0',
      redact: BY_SHAPE,
      open: () => openContext(here.root),
      pages: here.root,
      schemas: here.root,
      mcp: ({ use }) => mcpOverHttp(use, '0.0.0', () => {}),
      webhook: null,
      log: (message) => void bugs.push(message),
    });
    closing.push(serving.close);
    return new URL('mcp', serving.url);
  };
  const connect = async (url: URL, headers: Record<string, string>): Promise<Client> => {
    const client = new Client({ name: 'test', version: '0' });
    await client.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers } }));
    closing.unshift(() => client.close());
    return client;
  };

  it('answers who has the token', async () => {
    const client = await connect(await start(), { authorization: 'Bearer right' });
    expect(JSON.parse((await call(client, 'status')).text)).toMatchObject({ tasks: [] });
    expect(await read(client, 'forge-loop://plans')).toEqual([]);
    expect(bugs).toEqual([]);
  });

  it('answers nobody else', async () => {
    const url = await start();
    await expect(connect(url, {})).rejects.toThrow();
    await expect(
      connect(url, { authorization: 'Bearer right', origin: 'https://elsewhere.example' }),
    ).rejects.toThrow();
  });
});
