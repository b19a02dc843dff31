/** Real programs that speak ACP, against a scripted model: what is particular to them, and to the protocol. */
import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import type { TurnRequest, UsageReport } from '../src/agent/agent.ts';
import { sumOf } from '../src/agent/contract.ts';
import { type Scenario, scenarioFile } from '../test/support/llm/scenario.ts';
import { AUTHORITY, type Llm, startLlm } from '../test/support/llm/server.ts';
import { startRunner } from '../test/support/start-runner.ts';
import { ACP_MODEL, type Preset, realAcp } from './acp.ts';
import { canUnsandbox, signInAt, withoutSandbox } from './codex.ts';
import { MARK, makeHostile, ranIn } from './hostile-branch.ts';
import { CRITIC, realStage, replies } from './real-stage.ts';

const { llm, real, run, watched, inWorkspace, appeared, ...stage } = await realStage(
  (model, preset: Preset) => ({
    real: realAcp(model, preset),
    policy: { preset, model: ACP_MODEL[preset] },
  }),
  ['codex-acp'],
  'free',
);
const scripted = (of: Preset, scenario: Scenario): Promise<void> => stage.scripted(scenario, of);

/** What a program would heed of the branch whatever it is told, so that it is not started. */
const HEEDED: Partial<Record<Preset, string>> = { 'codex-acp': '.codex', opencode: '.opencode/plugin' };

/** Gemini sends calls of tools in another shape after it was started anew. */
const SAME_UNTIL: Partial<Record<Preset, string>> = { gemini: '"functionCall"' };

const USED = { input: 11, output: 7, cacheRead: 5 };
/** These write a message down before its tools are run, the others when they have returned. */
const AT_ONCE: readonly Preset[] = ['claude-agent-acp', 'gemini'];

describe('what goes wrong is classified from fields', () => {
  test.each([
    // It ends such a turn as if it were done, and tells only that it was not; why, its record tells.
    ['codex-acp', 'MEET-400', 'invalid_request'],
    ['codex-acp', 'MEET-DROP', 'network'],
    ['codex-acp', 'MEET-LIMIT', 'usage_limit'],
    ['claude-agent-acp', 'MEET-REFUSAL', 'refusal'],
    ['gemini', 'MEET-REFUSAL', 'refusal'],
  ] as const)('%s: %s is %s', async (of, prompt, code) => {
    await scripted(of, scenarioFile('failures'));
    expect((await run(prompt)).result).toMatchObject({ status: 'failed', code });
  });

  test.each([
    ['at once', replies({ stop: 'refusal', times: 'always' })],
    ['in the middle of its work', replies({ run: 'true' }, { stop: 'refusal', times: 'always' })],
  ])('gemini: what its provider refused %s is no turn that is done, and is paid for', async (_, scenario) => {
    await scripted('gemini', scenario);
    const { result, reports } = await run('Go.');
    expect(result).toMatchObject({ status: 'failed', code: 'refusal' });
    const { input, output, cacheRead } = llm.now.told();
    expect({
      input: sumOf(reports, 'input'),
      output: sumOf(reports, 'output'),
      cacheRead: sumOf(reports, 'cacheRead'),
    }).toEqual({ input, output, cacheRead });
  });

  test('codex-acp works by ChatGPT login, and keeps nothing of it', async () => {
    const chatgpt = await startLlm(replies({ run: 'touch worked' }, { say: 'done' }), { tls: true });
    try {
      const home = join(stage.dir(), 'operator');
      await signInAt(home, chatgpt, Date.now() + 3_600_000);
      const { agent } = realAcp(chatgpt, 'codex-acp', {
        OPENAI_API_KEY: '',
        HOME: home,
        SSL_CERT_FILE: AUTHORITY,
      });
      const { policy } = await stage.turnOf([]);
      const env = { ...policy.env, set: { SSL_CERT_FILE: AUTHORITY } };
      const turn = await stage.turnOf([], { policy: { ...policy, env } });
      const { hooks, reports } = watched();
      expect(await agent.run(turn, hooks)).toMatchObject({ status: 'finished', text: 'done' });
      expect(existsSync(inWorkspace('worked'))).toBe(true);
      expect(sumOf(reports, 'input')).toBe(chatgpt.told().input);
      expect(chatgpt.journal[0]?.headers['chatgpt-account-id']).toBe('account-1');
      expect(existsSync(join(turn.sessionDir, 'acp', 'codex', 'auth.json'))).toBe(false);
    } finally {
      await chatgpt.close();
    }
  });

  test('what is not there is named with what to install or set, and nothing is started', async () => {
    const { policy } = await stage.turnOf([]);
    expect(await real().agent.unavailable(policy)).toBeNull();
    expect(await real().agent.unavailable({ ...policy, preset: null })).toContain('agent.preset is not set');
    const bare = realAcp(llm.now, 'codex-acp', { PATH: '', OPENAI_API_KEY: '' });
    expect(await bare.agent.unavailable(policy)).toContain('@agentclientprotocol/codex-acp@2.6.0');
    expect(await real().agent.unavailable({ ...policy, preset: 'gemini' })).toContain('set GEMINI_API_KEY');
    expect(await realAcp(llm.now, 'gemini').agent.about?.([])).toContainEqual({
      name: 'acp gemini',
      installed: true,
      version: '0.61.0',
      signIn: { by: 'GEMINI_API_KEY' },
    });
  });
});

describe('what it may do', () => {
  test('opencode: publishing is refused and told', async () => {
    const line = "git init -q . && sh -c 'git push origin main' || touch went-on";
    await scripted('opencode', replies({ run: line }, { say: 'ok' }));
    const { result, told } = await run('Publish it.');
    expect(result).toMatchObject({ status: 'finished', text: 'ok' });
    expect(told.filter(({ kind }) => kind === 'refused')).toMatchObject([
      { tool: 'shell', detail: 'git push origin main' },
    ]);
    expect(existsSync(inWorkspace('went-on'))).toBe(true);
  });

  test.each([
    ['claude-agent-acp', 'mcp__forge__report_progress'],
    ['codex-acp', 'mcp__forge__report_progress'],
    ['opencode', 'forge_report_progress'],
    ['gemini', 'discovered_tool_report_progress'],
  ] as const)('%s: its own tools are answered by the host', async (of, tool) => {
    const input = { message: 'half way' };
    await scripted(of, replies({ call: { tool, input } }, { say: 'ok' }));
    const { calls, tools } = stage.toolbox();
    const { result } = await run('Go.', {}, watched({ tools }));
    expect(result).toMatchObject({ status: 'finished', text: 'ok' });
    expect(calls).toEqual([{ name: 'report_progress', input }]);
    const talked = llm.now.journal.filter(({ request }) => !request.aside);
    expect(JSON.stringify(talked.at(-1)?.request.body)).toContain('ANSWER-1');
  });

  test.each([
    ['claude-agent-acp', 'mcp__forge__findings_read'],
    ['codex-acp', 'mcp__forge__findings_read'],
    ['opencode', 'forge_findings_read'],
    ['gemini', 'discovered_tool_findings_read'],
  ] as const)('%s: who only reads has its own tools too', async (of, tool) => {
    const call = { tool, input: { pattern: 'null' } };
    await scripted(of, replies({ call }, { answer: { verdict: 'APPROVE', findings: [] } }));
    const { calls, tools } = stage.toolbox('auditor');
    const { result, told } = await run('Judge it.', CRITIC, watched({ tools }));
    expect(told.filter(({ kind }) => kind === 'refused')).toEqual([]);
    expect(result).toMatchObject({ status: 'finished', structured: { verdict: 'APPROVE' } });
    expect(calls).toMatchObject([{ name: 'findings_read', input: { pattern: 'null' } }]);
  });

  test.each(['claude-agent-acp', 'codex-acp', 'opencode', 'gemini'] as const)(
    '%s: of what the branch brings along nothing is said or run; what trunk says is told, once',
    async (of) => {
      await scripted(of, replies({ say: 'one' }, { say: 'two' }));
      await makeHostile(stage.workspace(), HEEDED[of]);
      const { turn, result } = await run('Go.', { conventions: 'FROM-TRUNK' });
      expect(result).toMatchObject({ status: 'finished', text: 'one' });
      const second = await run('Go on.', { ...turn, resume: true, number: 2, conventions: 'CHANGED-SINCE' });
      expect(second.result).toMatchObject({ status: 'finished', text: 'two' });
      for (const { headers, request } of llm.now.journal.filter((one) => !one.request.aside)) {
        const sent = JSON.stringify([headers, request.body]);
        expect(sent).not.toContain(MARK);
        expect(sent.split('FROM-TRUNK')).toHaveLength(2);
      }
      expect(ranIn(stage.workspace())).toEqual([]);
    },
  );

  test.each([
    ['codex-acp', '.codex'],
    ['opencode', '.opencode/plugin/hostile.js'],
  ] as const)('%s: what of the branch it would heed is named, and it is not started', async (of, what) => {
    await scripted(of, { rules: [] });
    await makeHostile(stage.workspace());
    const { result } = await run('Go.');
    expect(result).toMatchObject({ status: 'failed', code: 'could_not_start' });
    expect(result).toHaveProperty('message', expect.stringContaining(what));
    expect(ranIn(stage.workspace())).toEqual([]);
  });

  test.each(['claude-agent-acp', 'codex-acp', 'gemini'] as const)(
    '%s: a critic writes nothing',
    async (of) => {
      await scripted(of, replies({ run: 'touch ran' }, { answer: { verdict: 'APPROVE', findings: [] } }));
      const { result } = await run('Judge it.', CRITIC);
      expect(result).toMatchObject({ status: 'finished', structured: { verdict: 'APPROVE' } });
      expect(existsSync(inWorkspace('ran'))).toBe(false);
    },
  );
});

describe('an answer without structure', () => {
  test('is asked for once more, in the same session', async () => {
    await scripted(
      'codex-acp',
      replies({ say: 'Looks good.' }, { answer: { verdict: 'APPROVE', findings: [] } }),
    );
    const { result } = await run('Judge it.', CRITIC);
    expect(result).toMatchObject({ status: 'finished', structured: { verdict: 'APPROVE' } });
    expect(llm.now.journal.at(-1)?.request.texts.join('\n')).toContain('JSON Schema');
  });

  test.runIf(canUnsandbox)('a Codex critic that could read nothing is not asked', async () => {
    await scripted('codex-acp', replies({ say: 'Looks good.', times: 'always' }));
    const turn = await stage.turnOf([], CRITIC);
    const result = await real().confinedBy(withoutSandbox).run(turn, watched().hooks);
    expect(result).toMatchObject({ status: 'failed', code: 'invalid_result', usageKnown: true });
    expect(result).toHaveProperty('message', expect.stringMatching(/sandbox can't start .*bwrap.*namespace/));
    expect(llm.now.journal).toEqual([]);
  });

  test('twice is a failure', async () => {
    await scripted('codex-acp', replies({ say: 'Looks good.', times: 'always' }));
    expect((await run('Judge it.', CRITIC)).result).toMatchObject({
      status: 'failed',
      code: 'invalid_result',
    });
    expect(llm.now.journal).toHaveLength(2);
  });
});

describe('a session and its account', () => {
  /** Claude's adapter does not tell thoughts from other output. */
  const totals = (reports: readonly UsageReport[]) => ({
    input: sumOf(reports, 'input'),
    output: sumOf(reports, 'output') + sumOf(reports, 'reasoning'),
    cacheRead: sumOf(reports, 'cacheRead'),
    cacheWrite: sumOf(reports, 'cacheWrite'),
  });
  const served = (which?: Parameters<Llm['told']>[0]) => {
    const { reasoning, output, ...rest } = llm.now.told(which);
    return { ...rest, output: output + reasoning };
  };

  test.each(['claude-agent-acp', 'codex-acp', 'opencode', 'gemini'] as const)(
    '%s: over a resumed turn, with the same bytes before',
    async (of) => {
      await scripted(of, replies({ run: 'echo one' }, { say: 'first' }, { say: 'second' }));
      const first = await run('Begin.');
      const second = await run('Go on.', { ...first.turn, resume: true, number: 2 });
      expect(second.result).toMatchObject({ status: 'finished', text: 'second', usageKnown: true });
      const talked = llm.now.journal.filter(({ request }) => !request.aside);
      const [, before, after] = talked.map(({ request }) => request);
      expect(after?.session).toBe(before?.session);
      const bytes = (request = after) => request?.segments.map(({ text }) => text).join('') ?? '';
      const [same = ''] = bytes(before).split(SAME_UNTIL[of] ?? /.$/);
      expect(same).toContain('Begin.');
      expect(bytes(after).startsWith(same)).toBe(true);
      expect(sumOf(second.reports, 'cacheRead')).toBeGreaterThan(0);
      expect(totals([...first.reports, ...second.reports])).toEqual(served());
    },
  );

  test.each(['claude-agent-acp', 'codex-acp', 'opencode', 'gemini'] as const)(
    '%s: over a runner that is killed, and the turn that takes over',
    async (of) => {
      await scripted(
        of,
        replies(
          { run: 'true', usage: USED },
          {
            run: 'touch halfway; until [ -e go ]; do sleep 0.02; done',
            usage: AT_ONCE.includes(of) ? USED : {},
          },
          { say: 'finished', usage: USED },
        ),
      );
      const turn = await stage.turnOf([], { prompt: 'Begin.' });
      const runner = await startRunner({ ...real().runner, release: true, agent: 'acp', turn });
      await appeared('halfway');
      // The tool may be done before the runner has written down that the prompt was taken up.
      await expect.poll(() => real().agent.probeSession(turn), { timeout: 200_000 }).toBe('resumable');
      runner.kill();
      await stage.processes.stop(turn.task, [{ ...runner.child, task: turn.task, purpose: 'turn' }]);
      const next = await run('You were interrupted.', { ...turn, resume: true });
      expect(next.result).toMatchObject({ status: 'finished', text: 'finished' });
      expect(totals([...(await runner.told()), ...next.reports])).toEqual(served());
    },
  );

  test('whose data is gone is lost', async () => {
    await scripted('codex-acp', replies({ say: 'first' }, { say: 'never' }));
    const { turn } = await run('Begin.');
    await rm(join(turn.sessionDir, 'acp'), { recursive: true });
    expect((await run('Go on.', { ...turn, resume: true, number: 2 })).result).toMatchObject({
      status: 'failed',
      code: 'session_lost',
    });
    expect(llm.now.journal).toHaveLength(1);
  });
});

describe('a program of one’s own', () => {
  const program = fileURLToPath(new URL('./programs/forgetful.js', import.meta.url));
  const own = async (how: string): Promise<Partial<TurnRequest>> => ({
    policy: {
      ...(await stage.turnOf([])).policy,
      preset: null,
      model: null,
      command: `node '${program}' ${how}`,
    },
  });

  test.each([
    ['forgets', 'does not remember'],
    ['cannot-load', 'can not load'],
  ])('that %s is not resumed', async (how, why) => {
    const first = await run('Begin.', await own(how));
    expect(first.result).toMatchObject({ status: 'finished', text: 'heard: Begin.', usageKnown: false });
    const { result } = await run('Go on.', { ...first.turn, resume: true, number: 2 });
    expect(result).toMatchObject({ status: 'failed', code: 'session_lost' });
    expect(result).toHaveProperty('message', expect.stringContaining(why));
  });

  test('that ends its turn without a word has not done it', async () => {
    expect((await run('Begin.', await own('nothing'))).result).toMatchObject({
      status: 'failed',
      code: 'crashed',
    });
  });
});
