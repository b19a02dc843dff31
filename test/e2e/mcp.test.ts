/** `mcp serve` as a client starts it: a program on standard input and output, and the official SDK's client at the other end. */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { afterEach, expect, test } from 'vitest';
import { type Project, project } from '../support/command-line.ts';

const bin = fileURLToPath(new URL('../../bin/forge-loop.js', import.meta.url));
let repo: Project;
let client: Client;
afterEach(async () => {
  await client?.close();
  repo.remove();
});

/** What it gets of the environment is what the SDK passes on by default, and what is given here. */
async function connect(env: Record<string, string> = {}): Promise<StdioClientTransport> {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [bin, 'mcp', 'serve', '-C', repo.path],
    env: { PATH: process.env.PATH!, HOME: repo.folder, XDG_STATE_HOME: repo.state, ...env },
    stderr: 'pipe',
  });
  client = new Client({ name: 'test', version: '0' });
  await client.connect(transport);
  return transport;
}

type Said = { content: { text: string }[]; isError?: boolean };
const call = async (name: string, input: Record<string, unknown> = {}) => {
  const { content, isError } = (await client.callTool({ name, arguments: input })) as unknown as Said;
  return { text: content[0]!.text, isError: isError === true };
};

test('a client reads a task that ran, changes what it was granted, and is granted more', async () => {
  repo = project('server: { mcp: { allow: [issue.new] } }\n');
  await repo.issue('Add one', 'result-1.txt must contain "ok"');
  expect(await repo.run('run', '--until-idle')).toMatchObject({ code: 0 });
  await connect();
  expect(JSON.parse((await call('task_show', { task: '1' })).text)).toMatchObject({ state: 'merged' });
  expect(JSON.parse((await call('logs', { task: '1' })).text)).toMatchObject({
    turns: [{ role: 'coder' }, { role: 'critic' }],
  });
  expect(JSON.parse((await call('replay', { task: '1', at: 'checkpointed' })).text).at.diff.patch).toContain(
    '+ok',
  );
  const made = await call('issue_new', { title: 'Add two', body: 'result-2.txt must contain "ok"' });
  expect(JSON.parse(made.text)).toMatchObject({ number: 2 });
  expect((await call('pause')).text).toContain('not granted');
  // Settings are read anew when they change.
  repo.write(
    'WORKFLOW.md',
    '---\nagent: { command: "true" }\ngate: none\nserver: { mcp: { allow: [pause] } }\n---\n{{ issue.body }}\n',
  );
  expect(JSON.parse((await call('pause')).text)).toMatchObject({ paused: 'Eva' });
});

test('it ends with its client, and says nothing but MCP', async () => {
  repo = project();
  const transport = await connect();
  const { pid } = transport;
  expect(pid).toBeTypeOf('number');
  await client.close();
  await expect.poll(() => isThere(pid!)).toBe(false);
});

test('a client that closes its end at once is answered all that it asked', async () => {
  repo = project();
  const clientInfo = { name: 'pipe', version: '0' };
  const asked = [
    { id: 1, method: 'initialize', params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo } },
    { method: 'notifications/initialized' },
    { id: 2, method: 'tools/call', params: { name: 'status', arguments: {} } },
    { id: 3, method: 'tools/call', params: { name: 'why', arguments: {} } },
  ];
  const input = asked.map((one) => `${JSON.stringify({ jsonrpc: '2.0', ...one })}\n`).join('');
  const said = execFileSync(process.execPath, [bin, 'mcp', 'serve', '-C', repo.path], {
    ...{ input, encoding: 'utf8' },
    env: { PATH: process.env.PATH!, HOME: repo.folder, XDG_STATE_HOME: repo.state },
  });
  const answers = said
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(answers.map(({ id }) => id).sort()).toEqual([1, 2, 3]);
});

test('an agent that starts it in its turn steers nothing', async () => {
  repo = project('server: { mcp: { allow: [pause] } }\n');
  await connect({ FORGE_ROLE: 'coder', FORGE_SESSION_DIR: repo.folder });
  expect(await call('pause')).toMatchObject({ isError: true, text: expect.stringContaining('Refused') });
  expect((await call('status')).isError).toBe(false);
});

test('a grant of what nobody can grant is refused at the start', async () => {
  repo = project('server: { mcp: { allow: [restore] } }\n');
  const { process: child, ended } = repo.start('mcp', 'serve');
  child.stdin?.end();
  await once(child, 'exit');
  expect(await ended).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('restore') });
});

function isThere(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
