/** Real Claude against a scripted model: what is particular to it. */
import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { UsageReport } from '../src/agent/agent.ts';
import { sumOf } from '../src/agent/contract.ts';
import { QUESTION_REFUSED } from '../src/agent/refusal.ts';
import { asking } from '../src/core/money/models.ts';
import { READER } from '../src/core/words/prompts.ts';
import { scenarioFile } from '../test/support/llm/scenario.ts';
import { startRunner } from '../test/support/start-runner.ts';
import { CLAUDE_MODEL, realClaude } from './claude.ts';
import { MARK, makeHostile, ranIn } from './hostile-branch.ts';
import { CRITIC, realStage, replies } from './real-stage.ts';

const { llm, real, scripted, run, watched, inWorkspace, appeared, ...stage } = await realStage(
  (model, operator?: Record<string, string>) => ({
    real: realClaude(model, operator),
    policy: { model: CLAUDE_MODEL },
  }),
  [],
);

const USED = { input: 11, output: 7, cacheRead: 5, cacheWrite: 3 };

describe('what goes wrong is classified from fields', () => {
  test.each([
    ['MEET-400', 'invalid_request'],
    ['MEET-DROP', 'network'],
    ['MEET-PAGE', 'network'],
    ['MEET-REFUSAL', 'refusal'],
  ])('%s is %s', async (prompt, code) => {
    await scripted(scenarioFile('failures'));
    const { result } = await run(prompt);
    expect(result).toMatchObject({ status: 'failed', code, retryAt: null });
    expect(result).toHaveProperty('message', expect.stringMatching(/./));
  });

  test('a subscription’s limit is a limit with the time it ends', async () => {
    const token = { ANTHROPIC_API_KEY: '', CLAUDE_CODE_OAUTH_TOKEN: 'sk-ant-oat01-test' };
    await scripted(scenarioFile('failures'), token);
    const before = Date.now();
    const { result } = await run('MEET-LIMIT');
    expect(result).toMatchObject({ status: 'failed', code: 'usage_limit' });
    const { retryAt } = result as { retryAt: number };
    expect(retryAt - before).toBeGreaterThan(3_590_000);
    expect(retryAt - Date.now()).toBeLessThanOrEqual(3_601_000);
  });

  test('the words of a limit, read from a file, are no limit', async () => {
    await scripted(scenarioFile('failures'));
    expect((await run('ECHO-LIMIT')).result).toMatchObject({ status: 'finished', text: 'read' });
  });

  test('a critic that says yes in prose has not answered', async () => {
    await scripted(replies({ say: 'Looks good to me.', times: 'always' }));
    const { result } = await run('Judge it.', CRITIC);
    expect(result).toMatchObject({ status: 'failed', code: 'invalid_result', usageKnown: true });
  });

  test('a program that dies has crashed, and nothing of it is left', async () => {
    await scripted(replies({ run: 'kill -9 $PPID; sleep 60' }));
    expect((await run('Die.')).result).toMatchObject({ status: 'failed', code: 'crashed' });
  });

  test('a session nobody knows is lost, before anything is asked', async () => {
    const { result } = await run('Go on.', { resume: true });
    expect(result).toMatchObject({ status: 'failed', code: 'session_lost' });
    expect(llm.now.journal).toEqual([]);
  });

  test('without a credential nothing is started', async () => {
    await scripted({ rules: [] }, { ANTHROPIC_API_KEY: '' });
    expect(await real().agent.unavailable((await stage.turnOf([])).policy)).toMatch(/setup-token/);
    expect((await run('Go.')).result).toMatchObject({ status: 'failed', code: 'auth' });
  });
});

describe('what it may do', () => {
  test('other loops and files outside the workspace are refused, each refusal told', async () => {
    await scripted(
      replies(
        { run: 'npx forge-loop run && touch looped' },
        { call: { tool: 'Write', input: { file_path: '/etc/forge-loop-was-here', content: 'x' } } },
        { say: 'well then' },
      ),
    );
    const { result, told } = await run('Do more.');
    expect(result).toMatchObject({ status: 'finished', text: 'well then' });
    // A command is noted by its stand-in and told when the notes are read, so after an edit it may come second.
    const refused = told.flatMap((one) => (one.kind === 'refused' ? [`${one.tool}: ${one.detail}`] : []));
    expect(refused.sort()).toEqual(['Write: /etc/forge-loop-was-here', 'shell: npx forge-loop run']);
    expect(existsSync(inWorkspace('looped'))).toBe(false);
    expect(existsSync('/etc/forge-loop-was-here')).toBe(false);
    expect(JSON.stringify(llm.now.journal.at(-1)?.request.body)).toContain('a loop is already running you');
  });

  test('its own tools are offered, answered by the host, and the answer goes back to the model', async () => {
    await scripted(
      replies(
        { call: { tool: 'mcp__forge__report_progress', input: { message: 'half way' } } },
        { call: { tool: 'mcp__forge__finish', input: { summary: 'all of it' } } },
        { say: 'ok' },
      ),
    );
    const { calls, tools } = stage.toolbox();
    const { result } = await run('Go.', {}, watched({ tools }));
    expect(result).toMatchObject({ status: 'finished', text: 'ok' });
    expect(calls).toMatchObject([
      { name: 'report_progress', input: { message: 'half way' } },
      { name: 'finish', input: { summary: 'all of it' } },
    ]);
    const last = JSON.stringify(llm.now.journal.at(-1)?.request.body);
    expect(last).toContain('ANSWER-1');
    expect(last).toContain('ANSWER-2');
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

  test('it is offered no tool that would ask somebody', async () => {
    await scripted(replies({ say: 'ok' }));
    await run('Ask me.');
    const body = JSON.stringify(llm.now.journal[0]?.request.body);
    expect(body).not.toContain('AskUserQuestion');
    expect(body).not.toContain('EnterPlanMode');
  });

  test('one that asks all the same is refused and goes on, and the refusal is told (loops 70)', async () => {
    const questions = [
      {
        question: 'Which?',
        header: 'Which',
        multiSelect: false,
        options: ['a', 'b'].map((label) => ({ label, description: label })),
      },
    ];
    await scripted(replies({ call: { tool: 'AskUserQuestion', input: { questions } } }, { say: 'then a' }));
    const { result, told } = await run('Ask me.');
    expect(result).toMatchObject({ status: 'finished', text: 'then a' });
    expect(told.filter(({ kind }) => kind === 'refused')).toEqual([
      { ...QUESTION_REFUSED, tool: 'AskUserQuestion' },
    ]);
    expect(JSON.stringify(llm.now.journal.at(-1)?.request.body)).toContain('No such tool available');
  });

  test('a critic can read, and has nothing to write or run with', async () => {
    await scripted(
      replies(
        { run: 'touch ran' },
        { write: { path: 'written', text: 'x' } },
        { answer: { verdict: 'APPROVE', findings: [] } },
        { say: 'judged', times: 'always' },
      ),
    );
    const { result } = await run('Judge it.', CRITIC);
    expect(result).toMatchObject({ status: 'finished', structured: { verdict: 'APPROVE' } });
    expect([...(llm.now.journal[0]?.request.tools ?? [])].sort()).toEqual([
      'Glob',
      'Grep',
      'Read',
      'StructuredOutput',
    ]);
    // Its own prompt is some 27 kB about changing code, and would be paid for with every verdict.
    const { system } = llm.now.journal[0]!.request.body as { system: { text: string }[] };
    expect(system.at(-1)?.text.trim()).toBe(READER.trim());
    for (const file of ['ran', 'written']) expect(existsSync(inWorkspace(file))).toBe(false);
  });

  test('it gets its own credential and nothing else of the operator’s', async () => {
    await scripted(replies({ run: 'env > environment' }, { say: 'ok' }), {
      GITHUB_TOKEN: 'ghp_secret',
      AWS_SECRET_ACCESS_KEY: 'aws_secret',
      SSH_AUTH_SOCK: '/run/agent',
    });
    const { turn } = await run('Look around.');
    const environment = await readFile(inWorkspace('environment'), 'utf8');
    expect(environment).not.toMatch(/ghp_secret|aws_secret|SSH_AUTH_SOCK/);
    expect(environment).toContain(`HOME=${turn.home}`);
    expect(llm.now.journal[0]?.headers['x-api-key']).toBe('sk-test');
    expect(llm.now.others, 'it calls nobody else').toEqual([]);
  });
});

describe('through a cloud', () => {
  const NONE = { ANTHROPIC_API_KEY: '', ANTHROPIC_BASE_URL: '' };
  const BEDROCK = { CLAUDE_CODE_USE_BEDROCK: '1', AWS_REGION: 'eu-west-1' };
  const KEYS = { AWS_ACCESS_KEY_ID: 'AKIATEST', AWS_SECRET_ACCESS_KEY: 'secret' };
  const VERTEX = {
    CLAUDE_CODE_USE_VERTEX: '1',
    CLAUDE_CODE_SKIP_VERTEX_AUTH: '1',
    CLOUD_ML_REGION: 'europe-west1',
    ANTHROPIC_VERTEX_PROJECT_ID: 'project',
    ANTHROPIC_CUSTOM_HEADERS: 'authorization: Bearer of-the-gateway',
  };
  test.each([
    [
      'Bedrock, by a key',
      'ANTHROPIC_BEDROCK_BASE_URL',
      { ...BEDROCK, ...KEYS },
      /Credential=AKIATEST\/.*eu-west-1/,
    ],
    [
      'Bedrock, by a profile in the operator’s home',
      'ANTHROPIC_BEDROCK_BASE_URL',
      { ...BEDROCK, AWS_PROFILE: 'models' },
      /Credential=AKIAPROFILE\//,
    ],
    ['Vertex, by a gateway', 'ANTHROPIC_VERTEX_BASE_URL', VERTEX, /^Bearer of-the-gateway$/],
  ])('%s: a turn comes to its end and is counted', async (_, at, chosen, authorization) => {
    // On Bedrock it asks other models first, whether they may be used.
    const asked = {
      when: { model: CLAUDE_MODEL },
      replies: [{ run: 'touch worked' }, { say: 'done', usage: USED }],
    };
    await scripted({ rules: [asked, { replies: [{ say: 'ok', usage: {}, times: 'always' }] }] });
    const home = join(stage.dir(), 'operator');
    await mkdir(join(home, '.aws'), { recursive: true });
    await writeFile(
      join(home, '.aws', 'credentials'),
      '[models]\naws_access_key_id = AKIAPROFILE\naws_secret_access_key = secret\n',
    );
    const { agent } = realClaude(llm.now, { ...NONE, HOME: home, ...chosen, [at]: llm.now.url });
    const watching = watched();
    const turn = await stage.turnOf([]);
    expect(await agent.run(turn, watching.hooks)).toMatchObject({ status: 'finished', text: 'done' });
    expect(existsSync(inWorkspace('worked'))).toBe(true);
    expect(sumOf(watching.reports, 'output')).toBe(llm.now.told().output);
    for (const { headers } of llm.now.journal) expect(headers.authorization).toMatch(authorization);
  });
});

describe('a session', () => {
  test('goes on after its process with the same id and the same bytes before, which the cache reads', async () => {
    await scripted(replies({ run: 'echo one' }, { say: 'first' }, { say: 'second' }));
    const { turn } = await run('Begin. '.repeat(500));
    expect((await run('Go on.', { ...turn, resume: true, number: 2 })).result).toMatchObject({
      text: 'second',
    });
    const [, before, after] = llm.now.journal;
    const said = (body: unknown) => (body as { messages: object[] }).messages;
    expect(after?.request.session).toBe(turn.sessionId);
    const known = before?.request.segments.map(({ text }) => text) ?? [];
    expect(after?.request.segments.slice(0, known.length).map(({ text }) => text)).toEqual(known);
    expect(JSON.stringify(said(after?.request.body))).toContain('Go on.');
    const all = (after?.told.cacheRead ?? 0) + (after?.told.cacheWrite ?? 0) + (after?.told.input ?? 0);
    expect((after?.told.cacheRead ?? 0) / all).toBeGreaterThan(0.95);
  });

  const OVERLOADED = { status: 529, type: 'overloaded_error', message: 'Overloaded' };
  const thinking = async () => ({
    ...(await stage.turnOf([])).policy,
    // One that knows efforts.
    model: 'claude-opus-4-6',
    effort: 'high',
    fallbackModels: ['claude-sonnet-4-6'],
  });

  test('effort is asked for, and an overloaded model gives way to the next one in the same session', async () => {
    await scripted({
      rules: [
        { when: { model: 'claude-sonnet-4-6' }, replies: [{ say: 'by the second' }] },
        { replies: [{ say: 'by the first' }, { fail: OVERLOADED, times: 'always' }] },
      ],
    });
    const { turn } = await run('Begin.', { policy: await thinking() });
    const later = { ...turn, resume: true };
    expect((await run('Go on.', { ...later, number: 2 })).result).toMatchObject({ code: 'overload' });
    const next = await run('Try again.', { ...later, number: 3, policy: asking(turn.policy, 1) });
    expect(next.result).toMatchObject({ status: 'finished', text: 'by the second' });
    const asked = llm.now.journal.map(({ request }) => request);
    expect([...new Set(asked.map(({ model }) => model))]).toEqual(['claude-opus-4-6', 'claude-sonnet-4-6']);
    expect(new Set(asked.map(({ session }) => session)).size).toBe(1);
    for (const { body } of asked) expect(body).toMatchObject({ output_config: { effort: 'high' } });
  });
});

describe('the account equals what the model served, to the token', () => {
  const totals = (reports: readonly UsageReport[]) => ({
    input: sumOf(reports, 'input'),
    output: sumOf(reports, 'output'),
    cacheRead: sumOf(reports, 'cacheRead'),
    cacheWrite: sumOf(reports, 'cacheWrite'),
    reasoning: sumOf(reports, 'reasoning'),
  });
  /** Hundreds of pieces, each of them progress: who has heard a hundred has heard how the answer began, and what it told. */
  const LONG = 2_000_000;
  const heard = ({ progress }: ReturnType<typeof watched>) =>
    expect.poll(progress, { timeout: 200_000 }).toBeGreaterThan(100);
  /** As the store keeps it: a key that was recorded is not recorded again. */
  const recorded = (turn: number, reports: readonly UsageReport[], book: Map<string, UsageReport>) => {
    for (const report of reports) {
      const key = `${turn}:${report.key}`;
      if (!book.has(key)) book.set(key, report);
    }
  };

  test('over tools, several blocks in a message, and a resumed turn', async () => {
    await scripted(
      replies(
        { think: 'hm', say: 'I look.', run: 'echo one', usage: { ...USED, reasoning: 4 } },
        { say: 'done', usage: USED },
        { say: 'again', usage: USED },
      ),
    );
    const book = new Map<string, UsageReport>();
    const first = await run('Begin.');
    recorded(1, first.reports, book);
    const second = await run('Go on.', { ...first.turn, resume: true, number: 2 });
    recorded(2, second.reports, book);
    expect(totals(first.reports)).toEqual({
      input: 22,
      output: 14,
      cacheRead: 10,
      cacheWrite: 6,
      reasoning: 4,
    });
    expect(totals([...book.values()])).toEqual(llm.now.told());
    // Sonnet 4.5: $3 in, $15 out, $0.30 read, $3.75 written, for a million.
    expect(sumOf([...book.values()], 'costUsd')).toBeCloseTo(
      (33 * 3 + (21 + 4) * 15 + 15 * 0.3 + 9 * 3.75) / 1e6,
      9,
    );
  });

  test('subagents included', async () => {
    const inner = { description: 'look', prompt: 'INNER-JOB', subagent_type: 'general-purpose' };
    await scripted({
      rules: [
        {
          when: { says: 'OUTER-JOB' },
          replies: [
            { call: { tool: 'Task', input: inner }, usage: USED },
            { say: 'all done', usage: USED },
          ],
        },
        {
          when: { says: 'INNER-JOB' },
          replies: [
            { run: 'echo inner', usage: { ...USED, output: 300 } },
            { say: 'inner done', usage: { ...USED, output: 500 } },
          ],
        },
      ],
    });
    const { result, reports } = await run('OUTER-JOB');
    expect(result).toMatchObject({ status: 'finished', text: 'all done' });
    expect(llm.now.journal).toHaveLength(4);
    expect(totals(reports)).toEqual(llm.now.told());
  });

  test('over a stream that breaks off and is asked for again', async () => {
    await scripted(
      replies({ sayBytes: LONG, hang: 'middle', usage: USED }, { say: 'whole', usage: USED, times: 3 }),
    );
    const watching = watched();
    const running = run('Begin.', {}, watching);
    await heard(watching);
    llm.now.cut();
    const { result, reports } = await running;
    expect(result).toMatchObject({ status: 'finished', text: 'whole' });
    expect(totals(reports)).toEqual(llm.now.told());
  });

  test('over a turn that is stopped in the middle of an answer, and goes on', async () => {
    await scripted(replies({ sayBytes: LONG, hang: 'middle', usage: USED }, { say: 'and on', usage: USED }));
    const stop = new AbortController();
    const watching = watched({ signal: stop.signal });
    const turn = await stage.turnOf([], { prompt: 'Begin.' });
    const running = real().agent.run(turn, watching.hooks);
    await heard(watching);
    stop.abort();
    expect(await running).toMatchObject({ status: 'cancelled' });
    const second = await run('Go on.', { ...turn, resume: true, number: 2 });
    expect(second.result).toMatchObject({ status: 'finished', text: 'and on' });
    expect(totals([...watching.reports, ...second.reports])).toEqual(llm.now.told());
  });

  test('over a runner that is killed in the middle of a tool, and the turn that takes over', async () => {
    await scripted(
      replies(
        { run: 'touch halfway; until [ -e go ]; do sleep 0.02; done', usage: USED },
        { say: 'finished', usage: USED },
      ),
    );
    const turn = await stage.turnOf([], { prompt: 'Begin.' });
    const runner = await startRunner({ ...real().runner, release: true, agent: 'claude', turn });
    await appeared('halfway');
    runner.kill();
    await stage.processes.stop(turn.task, [{ ...runner.child, task: turn.task, purpose: 'turn' }]);
    expect(await real().agent.probeSession(turn)).toBe('resumable');
    // The turn that takes over has its number, and tells nothing again.
    const next = await run('You were interrupted.', { ...turn, resume: true });
    expect(next.result).toMatchObject({ status: 'finished', text: 'finished' });
    expect(totals([...(await runner.told()), ...next.reports])).toEqual(llm.now.told());
    expect(JSON.stringify(llm.now.journal.at(-1)?.request.body)).toContain('You were interrupted.');
  });
});
