/** Real OpenCode against a scripted model: what is particular to it. */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import type { UsageReport } from '../src/agent/agent.ts';
import { sumOf } from '../src/agent/contract.ts';
import { scenarioFile } from '../test/support/llm/scenario.ts';
import { startRunner } from '../test/support/start-runner.ts';
import { MARK, makeHostile, ranIn } from './hostile-branch.ts';
import { opencodeModel, realOpencode, type Speech } from './opencode.ts';
import { CRITIC, realStage, replies } from './real-stage.ts';

const { llm, real, scripted, run, watched, inWorkspace, appeared, ...stage } = await realStage(
  (model, speech: Speech = 'chat') => ({
    real: realOpencode(model, speech, { GITHUB_TOKEN: 'ghp_secret', ANTHROPIC_API_KEY: 'sk-other' }),
    policy: { model: opencodeModel(speech) },
  }),
  [],
);

const USED = { input: 11, output: 7, cacheRead: 5, reasoning: 2 };

describe('what goes wrong is classified from fields', () => {
  test.each([
    ['MEET-400', 'invalid_request'],
    ['MEET-PAGE', 'network'],
    ['MEET-REFUSAL', 'refusal'],
  ])('%s is %s', async (prompt, code) => {
    await scripted(scenarioFile('failures'));
    expect((await run(prompt)).result).toMatchObject({ status: 'failed', code, retryAt: null });
  });

  test('a used-up limit is a limit with the time it ends, and is not waited for inside the turn', async () => {
    await scripted(scenarioFile('failures'));
    const before = Date.now();
    const { result } = await run('MEET-LIMIT');
    expect(result).toMatchObject({ status: 'failed', code: 'usage_limit' });
    expect((result as { retryAt: number }).retryAt - before).toBeGreaterThan(3_590_000);
  });

  test('a model that its provider does not have is named, and nothing is asked', async () => {
    const { policy } = await stage.turnOf([]);
    const { result } = await run('Go.', { policy: { ...policy, model: 'loop-chat/m-2' } });
    expect(result).toMatchObject({ status: 'failed', code: 'model_unavailable' });
    expect(result).toHaveProperty('message', expect.stringContaining('loop-chat/m-2'));
    expect(llm.now.journal).toEqual([]);
  });

  test('a critic that says yes in prose has not answered', async () => {
    await scripted(replies({ say: 'Looks good to me.', times: 'always' }));
    expect((await run('Judge it.', CRITIC)).result).toMatchObject({
      status: 'failed',
      code: 'invalid_result',
    });
  });

  test('without a model, or a key for its provider, it says what to set and starts nothing', async () => {
    const { policy } = await stage.turnOf([]);
    expect(await real().agent.unavailable(policy)).toBeNull();
    expect(await real().agent.unavailable({ ...policy, model: null })).toContain('agent.model is not set');
    expect(await real().agent.unavailable({ ...policy, model: 'openai/gpt-5.2' })).toContain(
      'OPENAI_API_KEY',
    );
    const { result } = await run('Go.', { policy: { ...policy, model: 'openai/gpt-5.2' } });
    expect(result).toMatchObject({ status: 'failed', code: 'auth' });
    expect(llm.now.journal).toEqual([]);
  });
});

describe('what it may do', () => {
  test('writing outside is refused, and told; the turn goes on', async () => {
    await scripted(
      replies(
        { write: { path: '../outside.txt', text: 'x' } },
        { write: { path: 'inside.txt', text: 'x' } },
        { run: 'env > environment' },
        { say: 'ok' },
      ),
    );
    const { turn, result, told } = await run('Write it.');
    expect(result).toMatchObject({ status: 'finished', text: 'ok' });
    expect(told.filter(({ kind }) => kind === 'refused')).toMatchObject([
      { tool: 'edit', detail: expect.stringContaining('outside.txt') },
    ]);
    expect(existsSync(inWorkspace('../outside.txt'))).toBe(false);
    expect(existsSync(inWorkspace('inside.txt'))).toBe(true);
    // Its own credential and nothing else of the operator's, and it calls nobody else.
    const environment = await readFile(inWorkspace('environment'), 'utf8');
    expect(environment).not.toMatch(/ghp_secret|sk-other/);
    expect(environment).toContain(`HOME=${turn.home}`);
    expect(llm.now.journal[0]?.headers.authorization).toBe('Bearer sk-test');
    expect(llm.now.others).toEqual([]);
  });

  test('its own tools are offered, answered by the host, and the answer goes back to the model', async () => {
    await scripted(
      replies({ call: { tool: 'forge_report_progress', input: { message: 'half way' } } }, { say: 'ok' }),
    );
    const { calls, tools } = stage.toolbox();
    const { result } = await run('Go.', {}, watched({ tools }));
    expect(result).toMatchObject({ status: 'finished', text: 'ok' });
    expect(calls).toEqual([{ name: 'report_progress', input: { message: 'half way' } }]);
    expect(JSON.stringify(llm.now.journal.at(-1)?.request.body)).toContain('ANSWER-1');
  });

  test('who only reads has its own tools too', async () => {
    const call = { tool: 'forge_findings_read', input: { pattern: 'null' } };
    await scripted(replies({ call }, { answer: { verdict: 'APPROVE', findings: [] } }));
    const { calls, tools } = stage.toolbox('auditor');
    const { result } = await run('Judge it.', CRITIC, watched({ tools }));
    expect(result).toMatchObject({ status: 'finished', structured: { verdict: 'APPROVE' } });
    expect(calls).toMatchObject([{ name: 'findings_read', input: { pattern: 'null' } }]);
  });

  test('of what the branch brings along nothing is said or run; what trunk says is told, once', async () => {
    await scripted(replies({ say: 'one' }, { say: 'two' }));
    await makeHostile(stage.workspace(), '.opencode/plugin');
    const { turn, result } = await run('Go.', { conventions: 'FROM-TRUNK' });
    expect(result).toMatchObject({ status: 'finished', text: 'one' });
    const second = await run('Go on.', { ...turn, resume: true, number: 2, conventions: 'CHANGED-SINCE' });
    expect(second.result).toMatchObject({ status: 'finished', text: 'two' });
    for (const { headers, request } of llm.now.journal) {
      const sent = JSON.stringify([headers, request.body]);
      expect(sent).not.toContain(MARK);
      expect(sent.split('FROM-TRUNK')).toHaveLength(2);
    }
    expect(ranIn(stage.workspace())).toEqual([]);
  });

  test('plugins of the branch would be run, so it is not started', async () => {
    await makeHostile(stage.workspace());
    const { result } = await run('Go.');
    expect(result).toMatchObject({ status: 'failed', code: 'could_not_start' });
    expect(result).toHaveProperty('message', expect.stringContaining('.opencode/plugin/hostile.js'));
    expect(ranIn(stage.workspace())).toEqual([]);
  });

  test('a critic has nothing to write with', async () => {
    await scripted(replies({ run: 'touch ran' }, { answer: { verdict: 'APPROVE', findings: [] } }));
    const { result } = await run('Judge it.', CRITIC);
    expect(result).toMatchObject({ status: 'finished', structured: { verdict: 'APPROVE' } });
    expect(existsSync(inWorkspace('ran'))).toBe(false);
    expect(llm.now.journal[0]?.request.tools).toEqual(['glob', 'grep', 'read', 'StructuredOutput']);
  });
});

describe('a session and its account', () => {
  const totals = (reports: readonly UsageReport[]) => ({
    input: sumOf(reports, 'input'),
    output: sumOf(reports, 'output'),
    cacheRead: sumOf(reports, 'cacheRead'),
    cacheWrite: sumOf(reports, 'cacheWrite'),
    reasoning: sumOf(reports, 'reasoning'),
  });

  test.each(['chat', 'messages'] as const)(
    'over a resumed turn, with the same bytes before (%s)',
    async (spoken) => {
      await scripted(replies({ run: 'echo one' }, { say: 'first' }, { say: 'second' }), spoken);
      const first = await run('Begin.');
      const second = await run('Go on.', { ...first.turn, resume: true, number: 2 });
      expect(second.result).toMatchObject({ status: 'finished', text: 'second' });
      const [, before, after] = llm.now.journal.map(({ request }) => request);
      expect(after?.session).toBe(before?.session);
      const bytes = (request = after) => request?.segments.map(({ text }) => text).join('') ?? '';
      expect(bytes(after).startsWith(bytes(before).slice(0, -1))).toBe(true);
      expect(sumOf(second.reports, 'cacheRead')).toBeGreaterThan(0);
      expect(totals(second.reports)).toEqual(llm.now.journal.at(-1)?.told);
      expect(totals([...first.reports, ...second.reports])).toEqual(llm.now.told());
    },
  );

  test('over a runner that is killed in the middle of a tool, and the turn that takes over', async () => {
    await scripted(
      replies(
        { run: 'true', usage: USED },
        { run: 'touch halfway; until [ -e go ]; do sleep 0.02; done', usage: {} },
        { say: 'finished', usage: USED },
      ),
    );
    const turn = await stage.turnOf([], { prompt: 'Begin.' });
    const runner = await startRunner({ ...real().runner, release: true, agent: 'opencode', turn });
    await appeared('halfway');
    runner.kill();
    await stage.processes.stop(turn.task, [{ ...runner.child, task: turn.task, purpose: 'turn' }]);
    expect(await real().agent.probeSession(turn)).toBe('resumable');
    // The turn that takes over has its number, and tells nothing again.
    const next = await run('You were interrupted.', { ...turn, resume: true });
    expect(next.result).toMatchObject({ status: 'finished', text: 'finished' });
    expect(totals([...(await runner.told()), ...next.reports])).toEqual(llm.now.told());
  });

  test('over a subagent, whose calls are counted too', async () => {
    const task = { description: 'look', prompt: 'SUBTASK', subagent_type: 'general' };
    await scripted({
      rules: [
        { when: { says: 'SUBTASK' }, replies: [{ say: 'looked', usage: USED }] },
        {
          replies: [
            { call: { tool: 'task', input: task }, usage: USED },
            { say: 'done', usage: USED },
          ],
        },
      ],
    });
    const { result, reports } = await run('Begin.');
    expect(result).toMatchObject({ status: 'finished', text: 'done' });
    expect(llm.now.journal).toHaveLength(3);
    expect(totals(reports)).toEqual(llm.now.told());
  });
});
