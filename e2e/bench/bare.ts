/** The same turn without us: the provider's own SDK or program, called as its documentation says, and nothing else. */
import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { appServer } from '../../src/agent/codex/app-server.ts';
import { configFile } from '../../src/agent/codex/settings.ts';
import type { Hero } from './heroes.ts';

const installed = (path: string): string =>
  fileURLToPath(new URL(`../node_modules/${path}`, import.meta.url));

/** How long it took, in milliseconds. */
export async function bareTurn(hero: Hero, env: Record<string, string>, prompt: string): Promise<number> {
  const home = await mkdtemp(join(tmpdir(), 'forge-bare-'));
  const cwd = join(home, 'work');
  await mkdir(cwd);
  const whole = { PATH: process.env.PATH ?? '', HOME: home, ...env };
  const startedAt = performance.now();
  try {
    await (hero.kind === 'claude'
      ? claude(hero.model, cwd, whole, prompt)
      : codex(hero.model, cwd, whole, prompt));
    return performance.now() - startedAt;
  } finally {
    await rm(home, { recursive: true, force: true, maxRetries: 5 });
  }
}

async function claude(
  model: string,
  cwd: string,
  env: Record<string, string>,
  prompt: string,
): Promise<void> {
  const { query } = await import(installed('@anthropic-ai/claude-agent-sdk/sdk.mjs'));
  const options = {
    cwd,
    model,
    env: { ...env, CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1', IS_SANDBOX: '1' },
    settingSources: [],
    permissionMode: 'bypassPermissions',
    allowDangerouslySkipPermissions: true,
    systemPrompt: { type: 'preset', preset: 'claude_code' },
  };
  let isError = true;
  for await (const message of query({ prompt, options }))
    if (message.type === 'result') isError = message.is_error;
  if (isError) throw new Error('the bare turn of Claude failed');
}

async function codex(model: string, cwd: string, env: Record<string, string>, prompt: string): Promise<void> {
  const codexHome = join(env.HOME!, 'codex');
  await mkdir(codexHome);
  await writeFile(join(codexHome, 'config.toml'), await configFile(env, { cwd, role: 'coder' }, null));
  const child = spawn(process.execPath, [installed('@openai/codex/bin/codex.js'), 'app-server'], {
    cwd,
    env: { ...env, CODEX_HOME: codexHome },
    stdio: ['pipe', 'pipe', 'ignore'],
    detached: true,
  });
  try {
    let finish: (status: unknown) => void = () => {};
    const completed = new Promise<unknown>((resolve) => {
      finish = resolve;
    });
    const server = appServer(child.stdin, child.stdout, {
      onNotification: (method, params) => {
        if (method === 'turn/completed') finish((params as { turn: { status: string } }).turn.status);
      },
      onRequest: () => ({ decision: 'accept' }),
    });
    await server.request('initialize', { clientInfo: { name: 'bench', title: 'bench', version: '1' } });
    server.notify('initialized');
    const how = { cwd, model, approvalPolicy: 'never', sandbox: 'danger-full-access' };
    const { thread } = (await server.request('thread/start', how)) as { thread: { id: string } };
    const input = [{ type: 'text', text: prompt, text_elements: [] }];
    await server.request('turn/start', { threadId: thread.id, input });
    if ((await completed) !== 'completed') throw new Error('the bare turn of Codex failed');
  } finally {
    if (child.pid) process.kill(-child.pid, 'SIGKILL');
  }
}
