/** The real Codex, pointed at a scripted model. */
import { spawnSync } from 'node:child_process';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { codexAgent } from '../src/agent/codex/codex.ts';
import { withoutWrapper } from '../src/agent/codex/program.ts';
import { codexHome } from '../src/agent/codex/thread.ts';
import type { AgentUnderTest } from '../src/agent/contract.ts';
import { noSandbox } from '../src/sandbox/none.ts';
import type { Sandbox } from '../src/sandbox/sandbox.ts';
import { chatgptLogin } from '../test/support/chatgpt-login.ts';
import { repliesFor } from '../test/support/llm/acts.ts';
import type { Llm } from '../test/support/llm/server.ts';
import { hostParts } from '../test/support/programs.ts';

export const CODEX_MODEL = 'gpt-5.2-codex';

const packagePath = fileURLToPath(new URL('./node_modules/@openai/codex/bin/codex.js', import.meta.url));

/** Runs what follows where no sandbox of Codex can start: it may make no namespace, and is root over nothing. */
const unsandboxed = [
  ...['unshare', '--user', '--map-root-user', 'sh', '-c'],
  'echo 0 > /proc/sys/user/max_user_namespaces; exec setpriv --no-new-privs --bounding-set=-all --inh-caps=-all "$@"',
  'sh',
];
export const canUnsandbox =
  spawnSync('unshare', ['--user', '--map-root-user', 'setpriv', 'true']).status === 0;

export const withoutSandbox: Sandbox = {
  ...noSandbox(),
  confine: async ({ argv, env, cwd }) => ({
    argv: [...unsandboxed, ...argv],
    env,
    cwd,
    problem: () => null,
    dispose: async () => {},
  }),
};

/** As the operator has it where its sandbox can't start. */
export const codexWithoutSandbox = async () =>
  codexAgent({
    ...hostParts(),
    operator: {},
    now: Date.now,
    program: [...unsandboxed, ...(await withoutWrapper([process.execPath, packagePath]))],
  });

export function realCodex(llm: Llm, more: Record<string, string> = {}): AgentUnderTest {
  const operator = { OPENAI_API_KEY: 'sk-test', OPENAI_BASE_URL: `${llm.url}/v1`, ...more };
  const make = (sandbox?: Sandbox) =>
    codexAgent({
      ...hostParts(sandbox, operator),
      operator,
      now: Date.now,
      program: [process.execPath, packagePath],
    });
  return {
    agent: make(),
    confinedBy: make,
    async performing(acts) {
      llm.play({ rules: [{ replies: repliesFor(acts) }] });
      return { model: CODEX_MODEL };
    },
    remembered: recordOf,
    runner: { packagePath, operator },
  };
}

/** A home whose `codex` is signed in to ChatGPT, which is the scripted model. */
export async function signInAt(home: string, llm: Llm, expiresAt: number): Promise<void> {
  await mkdir(join(home, '.codex'), { recursive: true });
  await writeFile(join(home, '.codex', 'auth.json'), JSON.stringify(chatgptLogin(expiresAt)));
  await writeFile(join(home, '.codex', 'config.toml'), `chatgpt_base_url = "${llm.url}/backend-api/"\n`);
}

async function recordOf(sessionDir: string): Promise<string> {
  const folder = join(codexHome(sessionDir), 'sessions');
  const names = (await readdir(folder, { recursive: true })).filter((name) => name.endsWith('.jsonl'));
  return (await Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')))).join('\n');
}
