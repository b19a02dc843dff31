/**
 * Settings that are planted: by an agent for its own next turn, in its home and its session's folder, where it may write; by a
 * branch for its critic. Nothing of them is run or said. A critic's home and session a coder does not reach: see test/hostile/.
 */
import { readdirSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { configDir } from '../src/agent/claude/transcript.ts';
import { codexHome } from '../src/agent/codex/thread.ts';
import type { AgentUnderTest } from '../src/agent/contract.ts';
import type { Llm } from '../test/support/llm/server.ts';
import { ACP_MODEL, realAcp } from './acp.ts';
import { CLAUDE_MODEL, realClaude } from './claude.ts';
import { CODEX_MODEL, realCodex } from './codex.ts';
import { hostileFiles, MARK, makeHostile, ranIn } from './hostile-branch.ts';
import { opencodeModel, realOpencode } from './opencode.ts';
import { CRITIC, realStage, replies } from './real-stage.ts';

/** What would keep it from starting is left out of the branch. */
const PLUGINS = '.opencode/plugin';

const AGENTS = {
  claude: { make: (llm: Llm) => realClaude(llm), policy: { model: CLAUDE_MODEL }, heeded: undefined },
  codex: { make: (llm: Llm) => realCodex(llm), policy: { model: CODEX_MODEL }, heeded: undefined },
  opencode: {
    make: (llm: Llm) => realOpencode(llm, 'messages'),
    policy: { model: opencodeModel('messages') },
    heeded: PLUGINS,
  },
  'claude-agent-acp': acp('claude-agent-acp'),
  'codex-acp': acp('codex-acp', '.codex'),
  'opencode-acp': acp('opencode', PLUGINS),
  gemini: acp('gemini'),
} as const;

function acp(preset: keyof typeof ACP_MODEL, heeded?: string) {
  const make = (llm: Llm): AgentUnderTest => realAcp(llm, preset);
  return { make, policy: { preset, model: ACP_MODEL[preset] }, heeded };
}

describe.each(Object.entries(AGENTS))('%s', async (_, { make, policy, heeded }) => {
  const stage = await realStage((llm: Llm) => ({ real: make(llm), policy }), [], 'free');
  const { scripted, run, llm } = stage;

  test('what it planted for its next turn is neither run nor said', async () => {
    await scripted(replies({ say: 'one' }, { say: 'two' }));
    const { turn, result } = await run('Go.');
    expect(result).toMatchObject({ status: 'finished', text: 'one' });
    const evidence = join(stage.dir(), 'evidence');
    await mkdir(evidence);
    for (const [path, text] of Object.entries(planted(turn.home, turn.sessionDir, evidence))) {
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, text);
    }
    const second = await run('Go on.', { ...turn, resume: true, number: 2 });
    expect(second.result).toMatchObject({ status: 'finished', text: 'two' });
    expect(readdirSync(evidence)).toEqual([]);
    expect(JSON.stringify(llm.now.journal.at(-1)?.request.body)).not.toContain(MARK);
  });
  test('a critic heeds nothing of the branch that it judges', async () => {
    await scripted(replies({ answer: { verdict: 'APPROVE', findings: [] } }, { say: 'ok', times: 'always' }));
    await makeHostile(stage.workspace(), heeded);
    const { result } = await run('Judge it.', CRITIC);
    expect(result).toMatchObject({ status: 'finished', structured: { verdict: 'APPROVE' } });
    expect(ranIn(stage.workspace())).toEqual([]);
    expect(JSON.stringify(llm.now.journal.map(({ request }) => request.body))).not.toContain(MARK);
  });
});

/** Each place where one of them keeps settings of its user, by its full path. */
function planted(home: string, session: string, evidence: string): Record<string, string> {
  const files = hostileFiles(evidence);
  const below = (from: string, to: string): Record<string, string> =>
    Object.fromEntries(
      Object.entries(files).flatMap(([path, text]) =>
        path.startsWith(from) ? [[join(to, path.slice(from.length)), text]] : [],
      ),
    );
  return {
    ...below('', home),
    ...below('.opencode/', join(home, '.config/opencode')),
    ...below('opencode.json', join(home, '.config/opencode/opencode.json')),
    ...below('.claude/', configDir(session)),
    ...below('.claude/', join(session, 'acp/claude')),
    ...below('.codex/', codexHome(session)),
    ...below('.codex/', join(session, 'acp/codex')),
    ...below('.gemini/', join(session, 'acp/gemini/.gemini')),
  };
}
