/** The loop's own MCP server with the real agents as its clients: they read, and in a turn they steer nothing. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { McpServer } from '../src/core/policy.ts';
import type { Llm } from '../test/support/llm/server.ts';
import { CLAUDE_MODEL, realClaude } from './claude.ts';
import { CODEX_MODEL, realCodex } from './codex.ts';
import { realStage, replies } from './real-stage.ts';

const bin = fileURLToPath(new URL('../bin/forge-loop.js', import.meta.url));
const repository = mkdtempSync(join(tmpdir(), 'forge-mcp-'));
const SERVER: McpServer = {
  name: 'loop',
  command: [process.execPath, bin, 'mcp', 'serve', '-C', repository],
  env: {},
  tools: null,
};

beforeAll(() => {
  const git = (...args: string[]) => execFileSync('git', ['-C', repository, ...args]);
  git('init', '-q', '-b', 'main');
  git(
    '-c',
    'user.name=Eva',
    '-c',
    'user.email=eva@example.com',
    'commit',
    '-q',
    '--allow-empty',
    '-m',
    'start',
  );
  writeFileSync(
    join(repository, 'WORKFLOW.md'),
    '---\nagent: { command: "true" }\ngate: none\nserver: { mcp: { allow: [pause] } }\n---\nGo.\n',
  );
});
afterAll(() => rmSync(repository, { recursive: true, force: true }));

const AGENTS = {
  claude: { make: (llm: Llm) => realClaude(llm), policy: { model: CLAUDE_MODEL } },
  codex: { make: (llm: Llm) => realCodex(llm), policy: { model: CODEX_MODEL } },
};

describe.each(Object.entries(AGENTS))('%s', async (_, { make, policy }) => {
  const stage = await realStage((llm: Llm) => ({ real: make(llm), policy }), [], 'free');
  const { scripted, run, llm } = stage;
  const heard = () =>
    JSON.stringify(llm.now.journal.filter(({ request }) => !request.aside).at(-1)?.request.body);
  const call = (tool: string) => ({ call: { tool: `mcp__loop__${tool}`, input: {} } });

  test('reads the loop, and is refused what it was granted because it is in a turn', async () => {
    await scripted(replies(call('status'), call('pause'), { say: 'done' }));
    const turn = await stage.turnOf([]);
    const { result, told } = await run('Go.', { policy: { ...turn.policy, mcp: [SERVER] } });
    expect(result).toMatchObject({ status: 'finished', text: 'done' });
    expect(heard()).toMatch(/stopRequested/);
    expect(heard()).toMatch(/Refused:/);
    const outputs = told.flatMap((one) => (one.kind === 'tool_over' ? [one.output] : []));
    expect(outputs[0]).toContain('stopRequested');
  });
});
