/** The tools of a turn behind a real MCP server on pipes. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { toolsOf } from '../core/words/turn-tools.ts';
import { openToolDialogue, type ToolDialogue } from './tool-dialogue.ts';

let dir = '';
let dialogue: ToolDialogue;
let child: ChildProcess;
let calls: unknown[] = [];
/** What happens while a call is answered. */
let meanwhile = async (): Promise<void> => {};
let replies: AsyncIterator<string>;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'forge-tools-'));
  calls = [];
  meanwhile = async () => {};
  dialogue = await openToolDialogue(dir, {
    list: toolsOf('coder', { hasPlan: false, asksForge: true }),
    call: async (name, input) => {
      calls.push([name, input]);
      await meanwhile();
      return { text: `answer to ${name}`, isError: name === 'finish' };
    },
  });
  child = spawn(dialogue.command, dialogue.args, { stdio: ['pipe', 'pipe', 'inherit'], env: {} });
  replies = createInterface({ input: child.stdout! })[Symbol.asyncIterator]();
});
afterEach(async () => {
  child.kill('SIGKILL');
  await dialogue.close();
  for (const path of [dir, `${dir}-tools`]) await rm(path, { recursive: true, force: true });
});

async function ask(method: string, params: object = {}): Promise<{ result?: unknown; error?: unknown }> {
  child.stdin?.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })}\n`);
  return JSON.parse((await replies.next()).value as string);
}

test('it introduces itself, lists the tools, and passes calls on', async () => {
  const hello = await ask('initialize', { protocolVersion: '2025-06-18' });
  expect(hello).toMatchObject({ result: { protocolVersion: '2025-06-18', capabilities: { tools: {} } } });
  const { result } = (await ask('tools/list')) as {
    result: { tools: { name: string; inputSchema: object }[] };
  };
  expect(result.tools.map(({ name }) => name)).toEqual(
    toolsOf('coder', { hasPlan: false, asksForge: true }).map(({ name }) => name),
  );
  expect(await ask('tools/call', { name: 'report_progress', arguments: { message: 'x' } })).toMatchObject({
    result: { content: [{ type: 'text', text: 'answer to report_progress' }], isError: false },
  });
  expect(await ask('tools/call', { name: 'finish' })).toMatchObject({ result: { isError: true } });
  expect(calls).toEqual([
    ['report_progress', { message: 'x' }],
    ['finish', {}],
  ]);
  expect(await ask('resources/list')).toMatchObject({ error: { code: -32601 } });
});

test('an agent that runs commands lists the tools, and calls one by its name', async () => {
  const ran = async (args: string[], input = '') => {
    const command = spawn(dialogue.command, [...dialogue.args, ...args], { env: {} });
    command.stdin.end(input);
    let said = '';
    for await (const chunk of command.stdout) said += chunk;
    return { said, code: command.exitCode ?? (await once(command, 'exit'))[0] };
  };
  const { said } = await ran(['list']);
  const listed = JSON.parse(said) as { name: string; parametersJsonSchema: object }[];
  expect(listed.map(({ name }) => name)).toEqual(
    toolsOf('coder', { hasPlan: false, asksForge: true }).map(({ name }) => name),
  );
  expect(listed[0]?.parametersJsonSchema).toMatchObject({ required: ['message'] });
  expect(await ran(['call', 'report_progress'], '{"message":"x"}')).toEqual({
    said: 'answer to report_progress',
    code: 0,
  });
  expect(await ran(['call', 'finish'], '{}')).toMatchObject({ code: 1 });
  expect(calls).toEqual([
    ['report_progress', { message: 'x' }],
    ['finish', {}],
  ]);
});

test('what else lies there is no call: links, floods, nonsense', async () => {
  await writeFile(join(dir, 'secret'), JSON.stringify({ name: 'finish', input: { summary: 'stolen' } }));
  await symlink(join(dir, 'secret'), join(`${dir}-tools`, 'calls', 'link.call'));
  await writeFile(
    join(`${dir}-tools`, 'calls', 'flood.call'),
    JSON.stringify({ name: 'finish', input: 'x'.repeat(100_000) }),
  );
  await writeFile(join(`${dir}-tools`, 'calls', 'half.call'), '{"name":');
  for (const name of ['link', 'flood', 'half'])
    await expect.poll(() => existsSync(join(`${dir}-tools`, 'calls', `${name}.answer`))).toBe(true);
  expect(calls).toEqual([]);
});

test('an answer is not written to another folder that was put in the place of its own', async () => {
  const [folder, away] = [join(`${dir}-tools`, 'calls'), join(dir, 'away')];
  await mkdir(away);
  const swapped = new Promise<void>((resolve) => {
    meanwhile = async () => {
      await rename(folder, `${folder}-before`);
      await symlink(away, folder);
      resolve();
    };
  });
  await writeFile(join(folder, 'x.call'), JSON.stringify({ name: 'finish', input: {} }));
  await swapped;
  await dialogue.close();
  expect(await readdir(away)).toEqual([]);
});

test('whatever lies where an answer belongs, others are answered', async () => {
  const folder = join(`${dir}-tools`, 'calls');
  await mkdir(join(folder, 'a.answer', 'full'), { recursive: true });
  await writeFile(join(folder, 'a.call'), JSON.stringify({ name: 'finish', input: {} }));
  await expect.poll(() => calls.length).toBe(1);
  expect(await ask('tools/call', { name: 'finish' })).toMatchObject({ result: { isError: true } });
  expect((await readdir(folder)).filter((name) => !/\.(call|answer)$/.test(name))).toEqual([]);
});

test('nothing is left of it when the turn is over', async () => {
  await dialogue.close();
  expect(existsSync(`${dir}-tools`)).toBe(false);
});
