/** Real Codex against a scripted model: what is particular to it. */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import type { UsageReport } from '../src/agent/agent.ts';
import { codexHome } from '../src/agent/codex/thread.ts';
import { sumOf } from '../src/agent/contract.ts';
import { asking } from '../src/core/money/models.ts';
import { READER } from '../src/core/words/prompts.ts';
import { type Scenario, scenarioFile } from '../test/support/llm/scenario.ts';
import { AUTHORITY, type Llm, startLlm } from '../test/support/llm/server.ts';
import { startRunner } from '../test/support/start-runner.ts';
import {
  CODEX_MODEL,
  canUnsandbox,
  codexWithoutSandbox,
  realCodex,
  signInAt,
  withoutSandbox,
} from './codex.ts';
import { MARK, makeHostile, ranIn } from './hostile-branch.ts';
import { CRITIC, realStage, replies } from './real-stage.ts';

const { llm, real, scripted, run, watched, inWorkspace, appeared, ...stage } = await realStage(
  (model, operator?: Record<string, string>) => ({
    real: realCodex(model, operator),
    policy: { model: CODEX_MODEL },
  }),
  [],
);

const HOUR = 3_600_000;
const totals = (reports: readonly UsageReport[]) => ({
  input: sumOf(reports, 'input'),
  output: sumOf(reports, 'output'),
  cacheRead: sumOf(reports, 'cacheRead'),
  cacheWrite: sumOf(reports, 'cacheWrite'),
  reasoning: sumOf(reports, 'reasoning'),
});
const USED = { input: 11, output: 7, cacheRead: 5, reasoning: 2 };

describe('what goes wrong is classified from fields', () => {
  test.each([
    ['MEET-400', 'invalid_request'],
    ['MEET-DROP', 'network'],
    ['MEET-PAGE', 'network'],
  ])('%s is %s', async (prompt, code) => {
    await scripted(scenarioFile('failures'));
    expect((await run(prompt)).result).toMatchObject({ status: 'failed', code, retryAt: null });
  });

  test('a used-up limit is a limit with the time it ends', async () => {
    await scripted(scenarioFile('failures'));
    const before = Date.now();
    const { result } = await run('MEET-LIMIT');
    expect(result).toMatchObject({ status: 'failed', code: 'usage_limit' });
    expect((result as { retryAt: number }).retryAt - before).toBeGreaterThan(3_590_000);
  });

  test('the words of a limit, read from a file, are no limit', async () => {
    await scripted(scenarioFile('failures'));
    expect((await run('ECHO-LIMIT')).result).toMatchObject({ status: 'finished', text: 'read' });
  });

  test('a critic that says yes in prose has not answered', async () => {
    await scripted(replies({ say: 'Looks good to me.', times: 'always' }));
    expect((await run('Judge it.', CRITIC)).result).toMatchObject({
      status: 'failed',
      code: 'invalid_result',
    });
  });

  test('without a credential nothing is started', async () => {
    await scripted({ rules: [] }, { OPENAI_API_KEY: '' });
    expect((await run('Go.')).result).toMatchObject({ status: 'failed', code: 'auth' });
    expect(llm.now.journal).toEqual([]);
  });
});

describe.runIf(canUnsandbox)('where its own sandbox can’t start', () => {
  const report = JSON.stringify({ verdict: 'APPROVE', findings: [], criteria: [] });

  test('a critic, which could read nothing, is not asked, and its report counts as unusable', async () => {
    await scripted(replies({ run: 'cat a.txt' }, { say: report }));
    const turn = await stage.turnOf([], CRITIC);
    const result = await real().confinedBy(withoutSandbox).run(turn, watched().hooks);
    expect(result).toMatchObject({ status: 'failed', code: 'invalid_result', usageKnown: true });
    expect(result).toHaveProperty('message', expect.stringMatching(/sandbox can't start .*bwrap.*namespace/));
    expect(llm.now.journal).toEqual([]);
  });

  test('a coder, which does not use it, works', async () => {
    await scripted(replies({ run: 'touch worked' }, { say: 'ok' }));
    const turn = await stage.turnOf([]);
    const result = await real().confinedBy(withoutSandbox).run(turn, watched().hooks);
    expect(result).toMatchObject({ status: 'finished', text: 'ok' });
    expect(existsSync(inWorkspace('worked'))).toBe(true);
  });

  test('the operator is told before', async () => {
    const { policy } = await stage.turnOf([]);
    const about = await (await codexWithoutSandbox()).about?.([policy]);
    expect(about).toMatchObject([
      { problem: { what: expect.stringMatching(/sandbox can't start .*bwrap/) } },
    ]);
    const [here] = (await real().agent.about?.([policy])) ?? [];
    expect(here).not.toHaveProperty('problem');
  });
});

describe('what it may do', () => {
  test('its own tools are offered, answered by the host, and the answer goes back to the model', async () => {
    await scripted(
      replies(
        { call: { tool: 'mcp__forge__report_progress', input: { message: 'half way' } } },
        { call: { tool: 'mcp__forge__finish', input: { summary: 'all of it' } } },
        { say: 'ok' },
      ),
    );
    const { calls, tools } = stage.toolbox();
    const { result, turn } = await run('Go.', {}, watched({ tools }));
    expect(result).toMatchObject({ status: 'finished', text: 'ok' });
    expect(calls).toMatchObject([
      { name: 'report_progress', input: { message: 'half way' } },
      { name: 'finish', input: { summary: 'all of it' } },
    ]);
    const last = JSON.stringify(llm.now.journal.at(-1)?.request.body);
    expect(last).toContain('ANSWER-1');
    expect(last).toContain('ANSWER-2');
    // A session that goes on has the tools it began with.
    llm.now.play(replies({ call: { tool: 'mcp__forge__list_findings', input: {} } }, { say: 'none' }));
    await run('Go on.', { ...turn, resume: true, number: 2 }, watched({ tools }));
    expect(calls.at(-1)).toMatchObject({ name: 'list_findings' });
    const [first, ...later] = llm.now.journal.map(
      ({ request }) => (request.body as { tools: unknown }).tools,
    );
    for (const offered of later) expect(offered).toEqual(first);
  });

  test('a tool that can’t answer costs the call, not the turn', async () => {
    await scripted(replies({ call: { tool: 'mcp__forge__list_findings', input: {} } }, { say: 'ok' }));
    const tools = { ...stage.toolbox().tools, call: () => Promise.reject(new Error('the disk is full')) };
    const { result } = await run('Go.', {}, watched({ tools }));
    expect(result).toMatchObject({ status: 'finished', text: 'ok' });
  });

  test('who only reads has its own tools too', async () => {
    const call = { tool: 'mcp__forge__findings_read', input: { pattern: 'null' } };
    await scripted(replies({ call }, { answer: { verdict: 'APPROVE', findings: [] } }));
    const { calls, tools } = stage.toolbox('auditor');
    const { result } = await run('Judge it.', CRITIC, watched({ tools }));
    expect(result).toMatchObject({ status: 'finished', structured: { verdict: 'APPROVE' } });
    expect(calls).toMatchObject([{ name: 'findings_read', input: { pattern: 'null' } }]);
  });

  test('of what the branch brings along nothing is said or run; what trunk says is told, once', async () => {
    await scripted(replies({ say: 'one' }, { say: 'two' }));
    await makeHostile(stage.workspace());
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

  test('a critic writes nothing', async () => {
    await scripted(replies({ run: 'touch ran' }, { answer: { verdict: 'APPROVE', findings: [] } }));
    const { result } = await run('Judge it.', CRITIC);
    expect(result).toMatchObject({ status: 'finished', structured: { verdict: 'APPROVE' } });
    expect(existsSync(inWorkspace('ran'))).toBe(false);
    // Its own prompt and its tools for handing work on would be paid for with every verdict.
    const { tools, body } = llm.now.journal[0]!.request;
    expect(JSON.stringify(body)).toContain(JSON.stringify(READER.trim()).slice(1, -1));
    expect(JSON.stringify(body)).not.toContain('You are a coding agent');
    expect(tools).not.toContain('multi_agent_v1');
  });

  test('it gets its own credential and nothing else of the operator’s, and calls nobody else', async () => {
    await scripted(replies({ run: 'env > environment' }, { say: 'ok' }), { GITHUB_TOKEN: 'ghp_secret' });
    const { turn } = await run('Look around.');
    const environment = await readFile(inWorkspace('environment'), 'utf8');
    expect(environment).not.toContain('ghp_secret');
    expect(environment).toContain(`HOME=${turn.home}`);
    expect(llm.now.journal[0]?.headers.authorization).toBe('Bearer sk-test');
    expect(llm.now.others.filter((path) => !path.endsWith('/models'))).toEqual([]);
  });
});

describe('by ChatGPT login', () => {
  let model: Llm;
  afterEach(() => model.close());

  const signedIn = async (scenario: Scenario, expiresAt: number) => {
    model = await startLlm(scenario, { tls: true });
    const home = join(stage.dir(), 'operator');
    await signInAt(home, model, expiresAt);
    const { agent } = realCodex(model, { OPENAI_API_KEY: '', HOME: home, SSL_CERT_FILE: AUTHORITY });
    const { policy } = await stage.turnOf([]);
    const env = { ...policy.env, set: { SSL_CERT_FILE: AUTHORITY } };
    return { agent, home, turn: await stage.turnOf([], { policy: { ...policy, env } }) };
  };

  test('a turn comes to its end, is counted, goes on, and renews nothing', async () => {
    const { agent, home, turn } = await signedIn(
      replies(
        { run: 'touch worked', usage: USED },
        { say: 'first', usage: USED },
        { say: 'second', usage: USED },
      ),
      Date.now() + 100_000,
    );
    const before = await readFile(join(home, '.codex', 'auth.json'), 'utf8');
    const watching = watched();
    expect(await agent.run(turn, watching.hooks)).toMatchObject({ status: 'finished', text: 'first' });
    expect(existsSync(inWorkspace('worked'))).toBe(true);
    const next = { ...turn, resume: true, number: 2, prompt: 'Go on.' };
    expect(await agent.run(next, watching.hooks)).toMatchObject({ status: 'finished', text: 'second' });
    expect(totals(watching.reports)).toEqual(model.told());
    for (const { headers } of model.journal)
      expect(headers).toMatchObject({
        authorization: `Bearer ${JSON.parse(before).tokens.access_token}`,
        'chatgpt-account-id': 'account-1',
      });
    // It asks where its account lives and for settings, and tells nobody what it did.
    expect(model.others.filter((path) => !/\/(models|wham\/[a-z/]+)$/.test(path))).toEqual([]);
    expect(await readFile(join(home, '.codex', 'auth.json'), 'utf8')).toBe(before);
    expect(existsSync(join(codexHome(turn.sessionDir), 'auth.json'))).toBe(false);
  });

  const REFUSED = {
    fail: { status: 401, type: 'token_expired', message: 'Your token has expired.' },
    times: 'always' as const,
  };

  test('a login that the provider refuses is named, and nothing is renewed', async () => {
    const { agent, turn } = await signedIn(replies(REFUSED), Date.now() + HOUR);
    expect(await agent.run(turn, watched().hooks)).toMatchObject({
      status: 'failed',
      code: 'auth',
      message: expect.stringMatching(/^OpenAI no longer accepts your ChatGPT login: run `codex login`/),
    });
  });

  test('one that ended is named without starting anything', async () => {
    const { agent, turn } = await signedIn({ rules: [] }, Date.now() - 1);
    expect(await agent.run(turn, watched().hooks)).toMatchObject({
      status: 'failed',
      code: 'auth',
      message: expect.stringMatching(/^your ChatGPT login expired at .* start `codex` to renew it/),
    });
    expect(model.journal).toEqual([]);
  });

  test('a used-up plan is a limit with the time it ends', async () => {
    const { agent, turn } = await signedIn(scenarioFile('failures'), Date.now() + HOUR);
    const result = await agent.run({ ...turn, prompt: 'MEET-LIMIT' }, watched().hooks);
    expect(result).toMatchObject({ status: 'failed', code: 'usage_limit', retryAt: expect.any(Number) });
  });
});

describe('a session and its account', () => {
  test('a resumed turn has the same thread, the same bytes before, and tells its own usage only', async () => {
    await scripted(
      replies(
        { run: 'echo one', usage: USED },
        { say: 'first', usage: USED },
        { say: 'second', usage: USED },
      ),
    );
    const first = await run('Begin.');
    const second = await run('Go on.', { ...first.turn, resume: true, number: 2 });
    expect(second.result).toMatchObject({ status: 'finished', text: 'second' });
    const [, before, after] = llm.now.journal.map(({ request }) => request);
    expect(after?.session).toBe(before?.session);
    const bytes = (request = after) => request?.segments.map(({ text }) => text).join('') ?? '';
    expect(bytes(after).startsWith(bytes(before).slice(0, -1))).toBe(true);
    expect(totals(second.reports)).toEqual({
      input: 11,
      output: 7,
      cacheRead: 5,
      cacheWrite: 0,
      reasoning: 2,
    });
    expect(totals([...first.reports, ...second.reports])).toEqual(llm.now.told());
  });

  test('over an abort in the middle of a tool', async () => {
    await scripted(
      replies(
        { run: 'true', usage: USED },
        { run: 'touch halfway; until [ -e go ]; do sleep 0.02; done', usage: USED },
      ),
    );
    const stop = new AbortController();
    const watching = watched({ signal: stop.signal });
    const running = run('Begin.', {}, watching);
    await appeared('halfway');
    stop.abort();
    const { result, turn, reports } = await running;
    expect(result).toMatchObject({ status: 'cancelled' });
    // What was told of the message in flight is in the thread's record, and the next turn finds it there.
    llm.now.play(replies({ say: 'ok', usage: USED }));
    const next = await run('Go on.', { ...turn, resume: true, number: 2 });
    expect(next.result).toMatchObject({ status: 'finished' });
    expect(totals([...reports, ...next.reports])).toEqual(llm.now.told());
  });

  test('over a stream that breaks off and is asked for again', async () => {
    await scripted(
      replies({ say: 'x'.repeat(30_000), drop: 'middle', usage: USED }, { say: 'whole', usage: USED }),
    );
    const { result, reports } = await run('Begin.');
    expect(result).toMatchObject({ status: 'finished', text: 'whole' });
    expect(totals(reports)).toEqual(llm.now.told());
  });

  test('over a runner that is killed in the middle of a tool, and the turn that takes over', async () => {
    await scripted(
      replies(
        { run: 'true', usage: USED },
        { run: 'touch halfway; until [ -e go ]; do sleep 0.02; done', usage: {} },
        { say: 'finished', usage: USED },
      ),
    );
    const turn = await stage.turnOf([], { prompt: 'Begin.' });
    const runner = await startRunner({ ...real().runner, release: true, agent: 'codex', turn });
    await appeared('halfway');
    runner.kill();
    await stage.processes.stop(turn.task, [{ ...runner.child, task: turn.task, purpose: 'turn' }]);
    expect(await real().agent.probeSession(turn)).toBe('resumable');
    // The turn that takes over has its number, and tells nothing again.
    const next = await run('You were interrupted.', { ...turn, resume: true });
    expect(next.result).toMatchObject({ status: 'finished', text: 'finished' });
    expect(totals([...(await runner.told()), ...next.reports])).toEqual(llm.now.told());
  });

  const OVERLOADED = { status: 503, type: 'server_is_overloaded', message: 'Overloaded' };
  const thinking = async () => ({
    ...(await stage.turnOf([])).policy,
    effort: 'high',
    fallbackModels: ['gpt-5.2'],
  });

  test('effort is asked for, and an overloaded model gives way to the next one in the same session', async () => {
    await scripted({
      rules: [
        { when: { model: 'gpt-5.2' }, replies: [{ say: 'by the second' }] },
        { replies: [{ say: 'by the first' }, { fail: OVERLOADED, times: 'always' }] },
      ],
    });
    const { turn } = await run('Begin.', { policy: await thinking() });
    const later = { ...turn, resume: true };
    expect((await run('Go on.', { ...later, number: 2 })).result).toMatchObject({ code: 'overload' });
    const next = await run('Try again.', { ...later, number: 3, policy: asking(turn.policy, 1) });
    expect(next.result).toMatchObject({ status: 'finished', text: 'by the second' });
    const asked = llm.now.journal.map(({ request }) => request);
    expect([...new Set(asked.map(({ model }) => model))]).toEqual([CODEX_MODEL, 'gpt-5.2']);
    expect(new Set(asked.map(({ session }) => session)).size).toBe(1);
    for (const { body } of asked) expect(body).toMatchObject({ reasoning: { effort: 'high' } });
  });
});
