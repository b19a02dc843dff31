/** MCP servers with the real agents: who was granted one has it, and nobody else, whatever the branch says. */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { describe, expect, test, vi } from 'vitest';
import type { TurnRequest } from '../src/agent/agent.ts';
import type { AgentUnderTest } from '../src/agent/contract.ts';
import type { McpServer } from '../src/core/policy.ts';
import type { Llm } from '../test/support/llm/server.ts';
import { ACP_MODEL, realAcp } from './acp.ts';
import { CLAUDE_MODEL, realClaude } from './claude.ts';
import { CODEX_MODEL, realCodex } from './codex.ts';
import { opencodeModel, realOpencode } from './opencode.ts';
import { CRITIC, realStage, replies } from './real-stage.ts';

const SERVER = fileURLToPath(new URL('../test/support/mcp-server.js', import.meta.url));
const DOCS: McpServer = {
  name: 'docs',
  command: [process.execPath, SERVER, 'FROM-THE-SERVER'],
  env: { SERVER_KEY: 'sk-docs' },
  tools: null,
};

const AGENTS = {
  claude: { make: (llm: Llm) => realClaude(llm), policy: { model: CLAUDE_MODEL }, prefix: 'mcp__docs__' },
  codex: { make: (llm: Llm) => realCodex(llm), policy: { model: CODEX_MODEL }, prefix: 'mcp__docs__' },
  opencode: {
    make: (llm: Llm) => realOpencode(llm, 'messages'),
    policy: { model: opencodeModel('messages') },
    prefix: 'docs_',
  },
  'claude-agent-acp': acp('claude-agent-acp', 'mcp__docs__'),
  'codex-acp': acp('codex-acp', 'mcp__docs__'),
  'opencode-acp': acp('opencode', 'docs_'),
} as const;

function acp(preset: keyof typeof ACP_MODEL, prefix: string) {
  const make = (llm: Llm): AgentUnderTest => realAcp(llm, preset);
  return { make, policy: { preset, model: ACP_MODEL[preset] }, prefix };
}

describe.each(Object.entries(AGENTS))('%s', async (_, { make, policy, prefix }) => {
  const stage = await realStage((llm: Llm) => ({ real: make(llm), policy }), [], 'free');
  const { scripted, run, llm, watched, inWorkspace } = stage;
  const given = async (server: McpServer[], change: Partial<TurnRequest> = {}) => {
    const turn = await stage.turnOf([], change);
    return { ...change, policy: { ...turn.policy, mcp: server } };
  };
  const call = (tool: string) => ({ call: { tool: `${prefix}${tool}`, input: { word: 'this' } } });
  const heard = () => {
    const talked = llm.now.journal.filter(({ request }) => !request.aside);
    return JSON.stringify(talked.at(-1)?.request.body);
  };

  test('a coder calls what it was granted, also in a session that goes on', async () => {
    await scripted(replies(call('lookup'), { say: 'one' }, call('lookup'), { say: 'two' }));
    const { turn, result, told } = await run('Go.', await given([DOCS]));
    expect(result).toMatchObject({ status: 'finished', text: 'one' });
    expect(heard()).toContain(`FROM-THE-SERVER this with sk-docs for coder in ${turn.home}`);
    expect(told.filter(({ kind }) => kind === 'refused')).toEqual([]);
    const second = await run('Go on.', { ...turn, resume: true, number: 2 });
    expect(second.result).toMatchObject({ status: 'finished', text: 'two' });
    expect(heard().split('FROM-THE-SERVER this')).toHaveLength(3);
  });

  test('a critic calls the one tool that it was granted, and no other', async () => {
    await scripted(
      replies(
        call('lookup'),
        call('remove'),
        { answer: { verdict: 'APPROVE', findings: [] } },
        { say: 'ok', times: 'always' },
      ),
    );
    const { result } = await run(
      'Judge it.',
      await given([{ ...DOCS, tools: ['lookup'] }], CRITIC),
      watched(),
    );
    expect(result).toMatchObject({ status: 'finished', structured: { verdict: 'APPROVE' } });
    expect(JSON.stringify(llm.now.journal.map(({ request }) => request.body))).toContain(
      'FROM-THE-SERVER this with sk-docs for critic',
    );
    expect(existsSync(inWorkspace('removed'))).toBe(false);
  });

  test('one that does not start is told, and the turn goes on without it', async () => {
    await scripted(replies({ say: 'ok' }));
    const broken = { ...DOCS, command: ['/bin/sh', '-c', 'echo no such package >&2; exit 3'] };
    const { result, told } = await run('Go.', await given([broken]));
    expect(result).toMatchObject({ status: 'finished', text: 'ok' });
    expect(told).toContainEqual(
      expect.objectContaining({
        code: 'tool_missing',
        tool: 'docs',
        detail: 'it exited with 3: no such package',
      }),
    );
  });

  test.runIf(isConfinable)('confined, the server is where its agent is', async () => {
    await scripted(replies(call('lookup'), { say: 'ok' }));
    const plain = await stage.turnOf([]);
    const turn = await stage.turnOf([], {
      policy: { ...plain.policy, mcp: [DOCS] },
      access: { ...plain.access, sandbox: 'bwrap' },
    });
    for (const path of [turn.home, turn.sessionDir]) await mkdir(path, { recursive: true });
    vi.stubEnv('PATH', process.env.WHOLE_PATH);
    const { hooks, told } = watched();
    const result = await stage.real().agent.run(turn, hooks);
    vi.unstubAllEnvs();
    expect(told.filter(({ kind }) => kind === 'refused')).toEqual([]);
    expect(result).toMatchObject({ status: 'finished', text: 'ok' });
    expect(heard()).toContain(`FROM-THE-SERVER this with sk-docs for coder in ${turn.home}`);
  });

  test('who was granted nothing has nothing, whatever the branch names', async () => {
    await scripted(replies(call('lookup'), { say: 'ok' }, { say: 'ok', times: 'always' }));
    await nameServer(stage.workspace());
    const { result } = await run('Go.');
    expect(result).toMatchObject({ status: 'finished' });
    const sent = JSON.stringify(llm.now.journal.map(({ request }) => request.body));
    expect(sent).not.toContain('FROM-THE-SERVER');
    for (const { request } of llm.now.journal) expect(request.tools.join()).not.toContain('docs');
  });
});

const isConfinable =
  spawnSync('bwrap', ['--version'], { env: { PATH: process.env.WHOLE_PATH } }).status === 0;

/** In every file of a repository where one of these agents might look for servers, but for those that keep it from starting. */
async function nameServer(workspace: string): Promise<void> {
  const [command, ...args] = DOCS.command;
  const files = {
    '.mcp.json': { mcpServers: { docs: { command, args } } },
    'opencode.json': { mcp: { docs: { type: 'local', command: DOCS.command, enabled: true } } },
  };
  for (const [path, content] of Object.entries(files))
    await writeFile(`${workspace}/${path}`, JSON.stringify(content));
}
