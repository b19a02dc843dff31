/** The MCP server seen by the official inspector's command line, which wants a newer Node than ours. */
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Project, project, type Running } from '../test/support/command-line.ts';

const INSPECTOR = [
  '-y',
  '-p',
  'node@24',
  '-p',
  '@modelcontextprotocol/inspector@2.12.0',
  'mcp-inspector',
  '--cli',
];
const bin = fileURLToPath(new URL('../bin/forge-loop.js', import.meta.url));
const TOKEN = 'a-token-of-the-test';
let repo: Project;
let dashboard: Running | null = null;

beforeAll(async () => {
  repo = project(`server: { token: "${TOKEN}" }\n`);
  await repo.issue('Add one', 'result-1.txt must contain "ok"');
});
afterAll(async () => {
  dashboard?.process.kill('SIGINT');
  await dashboard?.ended;
  repo.remove();
});

const asked = (...args: string[]) =>
  JSON.parse(execFileSync('npx', [...INSPECTOR, ...args], { cwd: repo.folder, encoding: 'utf8' }));
const overStdio = [process.execPath, bin, 'mcp', 'serve', '-C'];

test('lists the tools, calls one and lists the resources, over standard input and output', () => {
  const server = [...overStdio, repo.path];
  const { tools } = asked(...server, '--method', 'tools/list');
  expect(tools.map(({ name }: { name: string }) => name)).toEqual(expect.arrayContaining(['status', 'why']));
  const { content } = asked(...server, '--method', 'tools/call', '--tool-name', 'why');
  expect(JSON.parse(content[0].text).issues).toMatchObject([{ name: '#1', title: 'Add one' }]);
  const { resources } = asked(...server, '--method', 'resources/list');
  expect(resources.map(({ uri }: { uri: string }) => uri)).toContain('forge-loop://tasks');
});

test('and over HTTP, with the token', async () => {
  dashboard = repo.start('dashboard', '--port', '0');
  let said = '';
  dashboard.process.stdout!.on('data', (piece) => (said += piece));
  await dashboard.says(/Dashboard at/);
  const url = new URL('/mcp', /http:\S+/.exec(said)![0]).href;
  const server = [url, '--transport', 'http', '--header', `Authorization: Bearer ${TOKEN}`];
  const { tools } = asked(...server, '--method', 'tools/list');
  expect(tools.map(({ name }: { name: string }) => name)).toContain('status');
});
