/** The same turn without us: the provider's own SDK or program, called as its documentation says, and nothing else. */
import { execFileSync, spawn } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { appServer } from '../../src/agent/codex/app-server.ts';
import { configFile } from '../../src/agent/codex/settings.ts';
import { accessOf } from '../../src/core/role.ts';
import type { Hero } from './heroes.ts';

const installed = (path: string): string =>
  fileURLToPath(new URL(`../node_modules/${path}`, import.meta.url));

export interface Bare {
  how: string;
  /** How long it took, in milliseconds. */
  take(env: Record<string, string>, prompt: string): Promise<number>;
}

/** Codex's program as npm installs it is a node process around the native one, which its own SDK starts directly. */
export function bareTurns({ kind, model }: Hero): Bare[] {
  if (kind === 'claude') return [timed('its SDK', (...turn) => claude(model, ...turn))];
  return [
    timed('its program', (...turn) => codex([process.execPath, CODEX], model, ...turn)),
    timed('its program without the wrapper', (...turn) => codex([nativeCodex()], model, ...turn)),
  ];
}

const CODEX = installed('@openai/codex/bin/codex.js');

function nativeCodex(): string {
  const vendor = installed(`@openai/codex-${process.platform}-${process.arch}/vendor/`);
  return join(vendor, readdirSync(vendor)[0]!, 'bin/codex');
}

function timed(
  how: string,
  turn: (cwd: string, env: Record<string, string>, prompt: string) => Promise<void>,
): Bare {
  return {
    how,
    async take(env, prompt) {
      const home = await mkdtemp(join(tmpdir(), 'forge-bare-'));
      const cwd = join(home, 'work');
      await mkdir(cwd);
      await fill(cwd);
      const startedAt = performance.now();
      try {
        await turn(cwd, { PATH: process.env.PATH ?? '', HOME: home, ...env }, prompt);
        return performance.now() - startedAt;
      } finally {
        await rm(home, { recursive: true, force: true, maxRetries: 5 });
      }
    },
  };
}

/** A repository, as every workspace is: agents look at it before they begin. */
async function fill(cwd: string): Promise<void> {
  await writeFile(join(cwd, 'README.md'), '# A project\n');
  const who = ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.com'];
  for (const args of [
    ['init', '--quiet'],
    ['add', '--all'],
    [...who, 'commit', '--quiet', '--message=Begin'],
  ])
    execFileSync('git', args, { cwd });
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

async function codex(
  argv: readonly string[],
  model: string,
  cwd: string,
  env: Record<string, string>,
  prompt: string,
): Promise<void> {
  const codexHome = join(env.HOME!, 'codex');
  await mkdir(codexHome);
  await writeFile(
    join(codexHome, 'config.toml'),
    await configFile(
      env,
      { source: 'OPENAI_API_KEY', key: env.OPENAI_API_KEY ?? '' },
      { cwd, access: accessOf('coder', { cwd, home: codexHome, session: codexHome }) },
    ),
  );
  const child = spawn(argv[0]!, [...argv.slice(1), 'app-server'], {
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
