import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { BARE } from '../../test/support/policy.ts';
import { hostParts } from '../../test/support/programs.ts';
import type { AgentPolicy } from '../core/policy.ts';
import { accessOf } from '../core/role.ts';
import { processAt } from '../process/table.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import type { TurnRequest, UsageReport } from './agent.ts';
import { type Act, type AgentUnderTest, agentContract, programContract } from './contract.ts';
import { scriptedAgent } from './scripted.ts';

const make = (sandbox?: Sandbox) => scriptedAgent(hostParts(sandbox));
const agent = make();

const subject: AgentUnderTest = {
  isProgram: true,
  agent,
  confinedBy: make,
  async performing(acts, dir) {
    const script = join(dir, 'script.yaml');
    await writeFile(script, stringify({ default: acts.map(stepFor) }));
    return { script };
  },
  remembered: (sessionDir) => readFile(join(sessionDir, 'transcript.jsonl'), 'utf8'),
};
agentContract('scripted', subject);
programContract('scripted', subject);

const stepFor = (act: Act) => ('usage' in act ? { usageNow: { ...act.usage, costUsd: act.costUsd } } : act);

describe('a scripted agent', () => {
  let dir: string;
  let work: string;
  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), 'forge-scripted-'));
    work = join(dir, 'work');
    await mkdir(work);
  });
  afterEach(() => rm(dir, { recursive: true, force: true }));

  const play = async (script: unknown, change: Partial<TurnRequest> = {}) => {
    await writeFile(join(dir, 'script.yaml'), stringify(script));
    const sessionId = change.sessionId ?? 's-1';
    const turn: TurnRequest = {
      task: 't1',
      issue: 1,
      role: 'coder',
      number: 1,
      cwd: work,
      prompt: 'Title: Paint it red\n',
      sessionId,
      sessionDir: join(dir, sessionId),
      resume: false,
      policy: {
        kind: 'scripted',
        command: null,
        attachCommand: null,
        preset: null,
        script: join(dir, 'script.yaml'),
        model: 'simulated',
        fallbackModels: [],
        effort: null,
        prices: {},
        toolCalls: 20,
        forgeRequests: 20,
        turnTimeoutMs: 100_000,
        stallTimeoutMs: 100_000,
        env: BARE,
        read: [],
        write: [],
        network: 'host',
        secrets: [],
        mcp: [],
        gateway: 'all',
        toolTimeoutMs: 0,
        repeatedCalls: 0,
      },
      access: accessOf(change.role ?? 'coder', {
        cwd: work,
        home: join(dir, 'home'),
        session: join(dir, sessionId),
      }),
      identity: { name: 'Ada', email: 'ada@example.com' },
      home: join(dir, 'home'),
      logPath: join(dir, 'turn.log'),
      mark: `mark-${dir}`,
      ...change,
    };
    const usage: UsageReport[] = [];
    const result = await agent.run(turn, {
      signal: new AbortController().signal,
      onHeld: async () => {},
      onUsage: (report) => usage.push(report),
      onProgress() {},
    });
    return {
      result,
      usage,
      text: 'text' in result ? result.text : '',
      message: 'message' in result ? result.message : '',
    };
  };

  test('edits, deletes, runs commands and commits in the workspace', async () => {
    execFileSync('git', ['init', '--quiet', work]);
    await writeFile(join(work, 'old'), '');
    const steps = [
      { write: { 'src/a.txt': 'one\n' } },
      { append: { 'src/a.txt': 'two\n' } },
      { delete: ['old'] },
      { shell: 'wc -l < src/a.txt > lines' },
      { commit: 'Add a' },
    ];
    expect((await play({ default: steps })).result).toMatchObject({ status: 'finished' });
    expect(await readFile(join(work, 'src/a.txt'), 'utf8')).toBe('one\ntwo\n');
    const git = (...args: string[]) =>
      execFileSync('git', ['-C', work, ...args], { encoding: 'utf8' }).trim();
    expect(git('log', '--format=%an %s')).toBe('Ada Add a');
    expect(git('ls-files')).toBe('lines\nsrc/a.txt');
  });

  test('the first rule that matches issue, title, role, turn and round wins, else the default', async () => {
    const script = {
      rules: [
        { when: { issue: 2 }, steps: [{ say: 'issue 2' }] },
        { when: { role: 'critic', round: 2 }, steps: [{ say: 'second look' }] },
        { when: { role: 'critic' }, steps: [{ say: 'a look' }] },
        { when: { turn: 9 }, steps: [{ say: 'turn 9' }] },
        { when: { title: 'green' }, steps: [{ say: 'green' }] },
      ],
      default: [{ say: 'default' }],
    };
    const says = async (change: Partial<TurnRequest>) => (await play(script, change)).text;
    expect(await says({ issue: 2, sessionId: 'a' })).toBe('issue 2');
    expect(await says({ role: 'critic', sessionId: 'b' })).toBe('a look');
    expect(await says({ role: 'critic', sessionId: 'c' }), 'rounds span the sessions of a task').toBe(
      'second look',
    );
    expect(await says({ number: 9, sessionId: 'd' })).toBe('turn 9');
    expect(await says({ prompt: 'Title: Paint it green\n', sessionId: 'e' })).toBe('green');
    expect(await says({ sessionId: 'f' })).toBe('default');
    const { message } = await play({ rules: script.rules }, { sessionId: 'g' });
    expect(message).toContain('no rule for issue 1, coder, turn 1, round');
  });

  test('a resumed session remembers: a title that only its first prompt named still matches', async () => {
    const script = { rules: [{ when: { title: 'Paint it red' }, steps: [{ say: 'I know which issue' }] }] };
    await play(script);
    const resumed = await play(script, { prompt: 'The gate failed.', resume: true, number: 2 });
    expect(resumed.text).toBe('I know which issue');
    const forgetful = await play(script, { prompt: 'The gate failed.', sessionId: 's-2', number: 2 });
    expect(forgetful.result).toMatchObject({ status: 'failed' });
    const lines = (await readFile(join(dir, 's-1', 'transcript.jsonl'), 'utf8')).trim().split('\n');
    expect(lines.map((line) => Object.keys(JSON.parse(line))[0])).toEqual([
      'prompt',
      'answer',
      'prompt',
      'answer',
    ]);
  });

  test('a session is neither resumed without its transcript nor begun twice', async () => {
    const script = { default: [{ shell: 'echo ran >> ran' }] };
    await play(script);
    expect((await play(script)).message).toContain('session s-1 has a transcript already');
    await rm(join(dir, 's-1', 'transcript.jsonl'));
    expect((await play(script, { resume: true })).result).toMatchObject({ code: 'session_lost' });
    expect(await readFile(join(work, 'ran'), 'utf8')).toBe('ran\n');
  });

  test('half a line left by a kill does not hurt the session', async () => {
    const script = { default: [{ say: 'ok' }] };
    await play(script);
    await writeFile(join(dir, 's-1', 'transcript.jsonl'), '{"prompt":"ha', { flag: 'a' });
    expect((await play(script, { resume: true })).text).toBe('ok');
    expect((await play(script, { resume: true })).text).toBe('ok');
  });

  test('without given usage it counts as a provider with a prompt cache would', async () => {
    const script = { default: [{ say: 'x'.repeat(400) }] };
    const prompt = 'p'.repeat(40_000);
    const first = (await play(script, { prompt })).usage;
    expect(first).toMatchObject([{ model: 'simulated', input: 0, cacheRead: 0 }]);
    expect(first[0]?.cacheWrite).toBeGreaterThanOrEqual(10_000);
    expect(first[0]?.output).toBeGreaterThanOrEqual(100);
    const second = (await play(script, { prompt: 'again', resume: true })).usage;
    expect(second).toMatchObject([{ cacheWrite: 0, input: 2 }]);
    expect(second[0]?.cacheRead).toBeGreaterThan(10_000);
    expect(second[0]?.costUsd).toBeLessThan((first[0]?.costUsd ?? 0) * 0.7);
  });

  test('given usage and a failure are told as written', async () => {
    const steps = [
      { usage: { output: 7, costUsd: 2 } },
      { fail: { exit: 9, message: 'overloaded' } },
      { write: { no: '' } },
    ];
    const { result, usage, message } = await play({ default: steps });
    expect(result).toMatchObject({ status: 'failed', code: 'exit_nonzero', usageKnown: true });
    expect(message).toMatch(/exited with 9: overloaded/);
    expect(usage).toMatchObject([{ output: 7, costUsd: 2 }]);
    expect(existsSync(join(work, 'no'))).toBe(false);
  });

  test('a prompt that is not as expected fails the turn', async () => {
    const expecting = (expectPrompt: unknown, sessionId: string) =>
      play({ default: [{ expectPrompt }] }, { sessionId });
    expect((await expecting({ contains: ['red'], excludes: ['blue'] }, 'a')).result).toMatchObject({
      status: 'finished',
    });
    expect((await expecting({ contains: ['blue'] }, 'b')).message).toContain('the prompt lacks ["blue"]');
    expect((await expecting({ excludes: ['red'] }, 'c')).message).toContain('must not contain ["red"]');
  });

  test('it floods, and what it detaches does not outlive the turn', async () => {
    const steps = [
      { flood: 100_000 },
      { spawnDetached: 'echo $$ > detached; exec sleep 1000' },
      { shell: 'while ! [ -s detached ]; do sleep 0.01; done' },
      { sleepMs: 1 },
    ];
    expect((await play({ default: steps })).result).toMatchObject({ status: 'finished' });
    expect((await readFile(join(dir, 'turn.log'))).length).toBe(100_000);
    expect(processAt(Number(await readFile(join(work, 'detached'), 'utf8')))).toBeNull();
  });

  test('it hangs until it is stopped', async () => {
    const { result } = await play({ default: [{ hang: true }] }, { policy: await hurried() });
    expect(result).toMatchObject({ status: 'timed_out' });
  });

  test('a broken script is a turn that could not start, and says where', async () => {
    const { result, message } = await play({ rules: [{ steps: [{ wirte: {} }] }] });
    expect(result).toMatchObject({ status: 'failed', code: 'could_not_start' });
    expect(message).toContain('rule 1, step 1');
    const policy = { ...(await hurried()), script: join(dir, 'missing.yaml') };
    expect(await agent.unavailable(policy)).toContain('missing.yaml');
  });

  const hurried = async (): Promise<AgentPolicy> => ({
    kind: 'scripted',
    command: null,
    attachCommand: null,
    preset: null,
    script: join(dir, 'script.yaml'),
    model: null,
    fallbackModels: [],
    effort: null,
    prices: {},
    toolCalls: 20,
    forgeRequests: 20,
    turnTimeoutMs: 500,
    stallTimeoutMs: 500,
    env: BARE,
    read: [],
    write: [],
    network: 'host',
    secrets: [],
    mcp: [],
    gateway: 'all',
    toolTimeoutMs: 0,
    repeatedCalls: 0,
  });
});
