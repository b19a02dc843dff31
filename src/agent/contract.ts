/**
 * What every agent must do, whatever drives it; and what one that is talked to, or is just a program, must do besides.
 *
 * An agent under test turns a list of acts into a policy: under it, one turn performs them in order.
 */
import { existsSync } from 'node:fs';
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { agentStage, IDLE_POLICY } from '../../test/support/agent-stage.ts';
import { type RunnerParts, startRunner } from '../../test/support/start-runner.ts';
import type { AgentPolicy } from '../core/policy.ts';
import { processAt } from '../process/table.ts';
import type { Agent, Usage, UsageReport } from './agent.ts';

export type Act =
  /** Run in the workspace. */
  | { shell: string }
  | { say: string }
  | { answer: unknown }
  /** What the turn has used so far, told at once. */
  | { usage: Partial<Usage>; costUsd?: number };

export interface AgentUnderTest {
  agent: Agent;
  /** Keys of the policy that make a turn perform these acts; `dir` is free for its files. */
  performing(acts: readonly Act[], dir: string): Promise<Partial<AgentPolicy>>;
  /** Every prompt the session knows, oldest first. */
  remembered(sessionDir: string): Promise<string>;
  /** Its provider charges nothing for writing to a cache, and tells nothing of it. */
  writesFree?: boolean;
  /** What a runner in a process of its own needs to make this agent. */
  runner?: RunnerParts;
}

export function agentContract(name: string, subject: AgentUnderTest): void {
  describe(`agent ${name}`, () => {
    const { agent, runner: parts = {} } = subject;
    const { turnOf, watched, inWorkspace, appeared, pidIn, processes, ...at } = agentStage(subject);
    const isRunning = (pid: number) => processAt(pid) !== null;

    test('a turn runs in the workspace with the prompt and its name, and returns one result', async () => {
      const acts: Act[] = [
        {
          shell: 'pwd > where; env | grep ^FORGE_ | sort > environment; git var GIT_AUTHOR_IDENT > identity',
        },
        { say: 'all done' },
        { usage: { input: 10, output: 5 }, costUsd: 0.5 },
      ];
      const { hooks, progress } = watched();
      const turn = await turnOf(acts, { turn: 3 });
      const result = await agent.run(turn, hooks);
      expect(result).toEqual({ status: 'finished', text: 'all done', structured: null, usageKnown: true });
      expect(await readFile(inWorkspace('where'), 'utf8')).toBe(`${at.workspace()}\n`);
      expect(await readFile(inWorkspace('identity'), 'utf8')).toContain('Ada <ada@example.com>');
      const environment = await readFile(inWorkspace('environment'), 'utf8');
      expect(environment.split('\n').filter((line) => !/^FORGE_(RESULT|SCRIPT|LAUNCH)=/.test(line))).toEqual([
        'FORGE_ISSUE=7',
        `FORGE_MARK=${at.task()}`,
        'FORGE_RESUME=0',
        'FORGE_ROLE=coder',
        `FORGE_SESSION_DIR=${turn.sessionDir}`,
        `FORGE_SESSION_ID=${turn.sessionId}`,
        `FORGE_TASK=${at.task()}`,
        'FORGE_TURN=3',
        '',
      ]);
      expect(await subject.remembered(turn.sessionDir)).toContain('Do the thing.');
      expect(progress()).toBeGreaterThan(0);
    });

    test('a critic returns its answer as a structure', async () => {
      const report = { verdict: 'APPROVE', findings: [] };
      const outputSchema = {
        type: 'object',
        properties: { verdict: { type: 'string' } },
        required: ['verdict'],
      };
      const turn = await turnOf([{ answer: report }], { role: 'critic', outputSchema });
      expect(await agent.run(turn, watched().hooks)).toMatchObject({
        status: 'finished',
        structured: report,
      });
    });

    test('nothing runs when its record is refused, and the session stays empty', async () => {
      const { hooks } = watched({ onHeld: () => Promise.reject(new Error('the lease is lost')) });
      const turn = await turnOf([{ shell: 'touch ran' }]);
      const result = await agent.run(turn, hooks);
      expect(result).toMatchObject({ status: 'failed', code: 'could_not_start' });
      expect(result).toHaveProperty('message', expect.stringContaining('the lease is lost'));
      expect(existsSync(inWorkspace('ran'))).toBe(false);
      expect(await agent.probeSession(turn)).toBe('empty');
    });

    test('nothing runs when the runner is killed before the record is durable', async () => {
      const turn = await turnOf([{ shell: 'touch ran' }]);
      const runner = await startRunner({ ...parts, release: false, agent: agent.kind, turn });
      expect(isRunning(runner.child.pid)).toBe(true);
      runner.kill();
      await expect.poll(() => isRunning(runner.child.pid), { timeout: 200_000 }).toBe(false);
      expect(existsSync(inWorkspace('ran'))).toBe(false);
      expect(await agent.probeSession(turn)).toBe('empty');
    });

    test('what a killed runner left running is found and stopped (dispatch 37)', async () => {
      const turn = await turnOf([{ shell: LEAVE_THE_GROUP }]);
      const runner = await startRunner({ ...parts, release: true, agent: agent.kind, turn });
      await appeared('stayed');
      runner.kill();
      const pids = [await pidIn('stayed'), await pidIn('left')];
      await processes.stop(at.task(), [{ ...runner.child, task: at.task(), purpose: 'turn' }]);
      expect(pids.filter(isRunning)).toEqual([]);
      expect(await agent.probeSession(turn)).toBe('resumable');
    });

    test('cancelling stops everything it started, in its group and out of it, before it returns (dispatch 25)', async () => {
      const cancel = new AbortController();
      const { hooks } = watched({ signal: cancel.signal });
      const running = agent.run(await turnOf([{ shell: LEAVE_THE_GROUP }]), hooks);
      await appeared('stayed');
      const pids = [await pidIn('stayed'), await pidIn('left')];
      expect(pids.filter(isRunning)).toEqual(pids);
      cancel.abort();
      expect(await running).toEqual({ status: 'cancelled', usageKnown: false });
      expect(pids.filter(isRunning)).toEqual([]);
    });

    test('a turn that was cancelled before it began starts nothing', async () => {
      const { hooks } = watched({ signal: AbortSignal.abort() });
      expect(await agent.run(await turnOf([{ shell: 'touch ran' }]), hooks)).toMatchObject({
        status: 'cancelled',
      });
      expect(existsSync(inWorkspace('ran'))).toBe(false);
    });

    test('the time limit stops a turn in flight, and nothing of it is left (dispatch 28)', async () => {
      const turn = await turnOf([{ shell: LEAVE_THE_GROUP }]);
      const result = await agent.run(
        { ...turn, policy: { ...turn.policy, turnTimeoutMs: 1500 } },
        watched().hooks,
      );
      expect(result).toMatchObject({ status: 'timed_out', usageKnown: false });
      expect(await processes.stop(at.task(), [])).toEqual([]);
    });

    test('a resumed session has its directory and what was said before', async () => {
      const turn = await turnOf([{ say: 'one' }], { prompt: 'The issue: paint it red.\n' });
      expect(await agent.probeSession(turn)).toBe('lost');
      expect(await agent.run(turn, watched().hooks)).toMatchObject({ status: 'finished' });
      expect(await agent.probeSession(turn)).toBe('resumable');
      const again = { ...turn, turn: 2, resume: true, prompt: 'The gate failed.\n' };
      expect(await agent.run(again, watched().hooks)).toMatchObject({ status: 'finished' });
      expect(await subject.remembered(turn.sessionDir)).toMatch(/paint it red[\s\S]*The gate failed/);
    });

    test('a session that is gone is not resumed: nothing runs', async () => {
      const turn = await turnOf([{ shell: 'touch ran' }], { resume: true });
      expect(await agent.run(turn, watched().hooks)).toMatchObject({
        status: 'failed',
        code: 'session_lost',
      });
      expect(existsSync(inWorkspace('ran'))).toBe(false);
    });

    test('usage is told while the turn runs, as deltas under keys of their own that add up to the total', async () => {
      const cacheWrite = subject.writesFree ? 0 : 3;
      const totals = { input: 150, output: 40, cacheRead: 7, cacheWrite, reasoning: 2 };
      const acts: Act[] = [
        { usage: { input: 100, output: 10 } },
        { shell: 'true' },
        { shell: WAIT_FOR_GO },
        { usage: totals },
      ];
      const { hooks, reports } = watched();
      const turn = await turnOf(acts);
      const running = agent.run(turn, hooks);
      await expect.poll(() => reports.length, { timeout: 200_000 }).toBeGreaterThan(0);
      expect(reports[0]).toMatchObject({ input: 100, output: 10, cacheRead: 0, model: turn.policy.model });
      await writeFile(inWorkspace('go'), '');
      expect(await running).toMatchObject({ status: 'finished', usageKnown: true });
      expect(new Set(reports.map((report) => report.key)).size).toBe(reports.length);
      for (const [key, total] of Object.entries(totals))
        expect(sumOf(reports, key as keyof Usage)).toBe(total);
    });

    test('a budget can stop a turn in flight, and what was used until then is told (dispatch 28)', async () => {
      const budget = new AbortController();
      const told: UsageReport[] = [];
      const { hooks } = watched({
        signal: budget.signal,
        onUsage: (report) => {
          told.push(report);
          budget.abort();
        },
      });
      const acts: Act[] = [
        { usage: { output: 9_000 } },
        { shell: 'true' },
        { shell: WAIT_FOR_GO },
        { shell: 'touch ran' },
      ];
      expect(await agent.run(await turnOf(acts), hooks)).toEqual({
        status: 'cancelled',
        usageKnown: false,
      });
      expect(sumOf(told, 'output')).toBe(9_000);
      expect(existsSync(inWorkspace('ran'))).toBe(false);
    });

    test('no agent is started outside its workspace (dispatch 18)', async () => {
      const dir = at.dir();
      const elsewhere = join(dir, 'elsewhere');
      await mkdir(elsewhere);
      await symlink(elsewhere, join(dir, 'link'));
      for (const cwd of [join(dir, 'missing'), join(dir, 'link'), 'relative']) {
        const result = await agent.run(await turnOf([{ shell: 'touch ran' }], { cwd }), watched().hooks);
        expect(result).toMatchObject({ status: 'failed', code: 'could_not_start' });
        expect(result).toHaveProperty('message', expect.stringContaining(cwd));
      }
      expect(existsSync(join(elsewhere, 'ran'))).toBe(false);
    });

    test('a session inside the workspace is refused: its data would become part of the change', async () => {
      const turn = await turnOf([{ shell: 'touch ran' }], { sessionDir: inWorkspace('.session') });
      expect(await agent.run(turn, watched().hooks)).toMatchObject({
        status: 'failed',
        code: 'could_not_start',
      });
      expect(existsSync(inWorkspace('ran'))).toBe(false);
    });

    test('it never throws: a log that can not be opened is a failed turn', async () => {
      const turn = await turnOf([{ shell: 'touch ran' }], { logPath: '/dev/null/turn.log' });
      expect(await agent.run(turn, watched().hooks)).toMatchObject({
        status: 'failed',
        code: 'could_not_start',
      });
    });
  });
}

/** What holds for an agent that is told its prompt by a protocol, when it is up. */
export function dialogueContract(name: string, subject: AgentUnderTest): void {
  describe(`dialogue with ${name}`, () => {
    const { agent } = subject;
    const { turnOf, watched, inWorkspace, processes, ...at } = agentStage(subject);

    test('its program starts while its prompt is still being made', async () => {
      let make = (_: string) => {};
      const prompt = new Promise<string>((resolve) => {
        make = resolve;
      });
      const { hooks } = watched({ onHeld: async () => make('The issue: paint it red.\n') });
      const turn = await turnOf([{ shell: 'touch ran' }, { say: 'done' }], { prompt });
      expect(await agent.run(turn, hooks)).toMatchObject({ status: 'finished', text: 'done' });
      expect(existsSync(inWorkspace('ran'))).toBe(true);
      expect(await subject.remembered(turn.sessionDir)).toContain('paint it red');
    });

    test('a turn that gets no prompt leaves nothing behind, and its session is empty', async () => {
      let giveUp = (_: Error) => {};
      const prompt = new Promise<string>((_, reject) => {
        giveUp = reject;
      });
      const notAsked = new AbortController();
      prompt.catch(() => notAsked.abort());
      const { hooks, reports } = watched({
        signal: notAsked.signal,
        onHeld: async () => giveUp(new Error('the hook failed')),
      });
      const turn = await turnOf([{ shell: 'touch ran' }], { prompt });
      expect(await agent.run(turn, hooks)).not.toMatchObject({ status: 'finished' });
      expect(await processes.stop(at.task(), [])).toEqual([]);
      expect(existsSync(inWorkspace('ran'))).toBe(false);
      expect(reports).toEqual([]);
      expect(await agent.probeSession(turn)).toBe('empty');
    });
  });
}

/** What holds for an agent that is a program with an exit code and an output of its own. */
export function programContract(name: string, subject: AgentUnderTest): void {
  describe(`program ${name}`, () => {
    const { agent, runner: parts = {} } = subject;
    const { turnOf, watched, inWorkspace, appeared, pidIn, processes, ...at } = agentStage(subject);
    const isRunning = (pid: number) => processAt(pid) !== null;

    test('what it started lives on when the runner is killed, until it is stopped (dispatch 37)', async () => {
      const turn = await turnOf([{ shell: LEAVE_THE_GROUP }]);
      const runner = await startRunner({ ...parts, release: true, agent: agent.kind, turn });
      await appeared('stayed');
      runner.kill();
      const pids = [await pidIn('stayed'), await pidIn('left')];
      expect(pids.filter(isRunning)).toEqual(pids);
      await processes.stop(at.task(), [{ ...runner.child, task: at.task(), purpose: 'turn' }]);
      expect(pids.filter(isRunning)).toEqual([]);
    });

    test('it works from its first moment on, so nothing is started before there is a prompt', async () => {
      const held: number[] = [];
      const { hooks } = watched({ onHeld: async ({ pid }) => void held.push(pid) });
      const prompt = Promise.reject<string>(new Error('the hook failed'));
      prompt.catch(() => {});
      const turn = await turnOf([{ shell: 'touch ran' }], { prompt });
      expect(await agent.run(turn, hooks)).toMatchObject({ status: 'failed', code: 'could_not_start' });
      expect(held).toEqual([]);
    });

    test('a wanted shape of the answer is handed over as a file outside the workspace', async () => {
      const outputSchema = { type: 'object', required: ['verdict'] };
      const acts: Act[] = [
        { shell: 'cat "$FORGE_OUTPUT_SCHEMA" > shape; echo "$FORGE_OUTPUT_SCHEMA" > where' },
      ];
      const turn = await turnOf(acts, { role: 'critic', outputSchema });
      expect(await agent.run(turn, watched().hooks)).toMatchObject({ status: 'finished' });
      expect(JSON.parse(await readFile(inWorkspace('shape'), 'utf8'))).toEqual(outputSchema);
      expect(await readFile(inWorkspace('where'), 'utf8')).not.toContain(at.workspace());
    });

    test('its result is outside the workspace, and the cost it names is told', async () => {
      const acts: Act[] = [
        { usage: { output: 5 }, costUsd: 0.5 },
        { shell: 'echo "$FORGE_RESULT" > result' },
      ];
      const { hooks, reports } = watched();
      expect(await agent.run(await turnOf(acts), hooks)).toMatchObject({ status: 'finished' });
      expect(await readFile(inWorkspace('result'), 'utf8')).not.toContain(at.workspace());
      expect(reports).toMatchObject([{ output: 5, costUsd: 0.5, model: 'm-1' }]);
    });

    test('a turn whose program failed is a failure, whatever its result says (dispatch 27)', async () => {
      const acts: Act[] = [
        { say: 'success!' },
        { usage: { output: 5 }, costUsd: 0.1 },
        { shell: 'echo the provider is on fire >&2; exit 3' },
      ];
      const { hooks, reports } = watched();
      const result = await agent.run(await turnOf(acts), hooks);
      expect(result).toMatchObject({ status: 'failed', code: 'exit_nonzero', usageKnown: true });
      expect(result).toHaveProperty('message', expect.stringMatching(/exited with 3[\s\S]*on fire/));
      expect(reports).toMatchObject([{ output: 5, costUsd: 0.1 }]);
    });

    test('a flood of output stays out of memory, and the log keeps it', async () => {
      const bytes = 50_000_000;
      const before = process.memoryUsage.rss();
      let peak = 0;
      const { hooks } = watched({
        onProgress: () => {
          peak = Math.max(peak, process.memoryUsage.rss());
        },
      });
      const turn = await turnOf([{ shell: `head -c ${bytes} /dev/zero` }, { say: 'dry again' }]);
      expect(await agent.run(turn, hooks)).toMatchObject({ status: 'finished', text: 'dry again' });
      expect((await readFile(turn.logPath)).length).toBeGreaterThanOrEqual(bytes);
      expect(peak - before).toBeLessThan(bytes * 1.5);
    });

    test('without configuration it says what to set, and a turn fails with the same words', async () => {
      expect(await agent.unavailable((await turnOf([])).policy)).toBeNull();
      const policy = { ...IDLE_POLICY, kind: agent.kind };
      const advice = await agent.unavailable(policy);
      expect(advice).toMatch(/agent\.\w+ is not set/);
      const result = await agent.run({ ...(await turnOf([])), policy }, watched().hooks);
      expect(result).toMatchObject({ status: 'failed', code: 'could_not_start', message: advice });
    });
  });
}

export const sumOf = (reports: readonly UsageReport[], kind: keyof Usage | 'costUsd'): number =>
  reports.reduce((total, report) => total + (report[kind] ?? 0), 0);

/** One process in a session of its own, one in the group; both wait for ever. */
const LEAVE_THE_GROUP = [
  `setsid sh -c 'echo $$ > left; exec sleep 1000' > /dev/null 2>&1 &`,
  'while ! [ -s left ]; do sleep 0.01; done',
  'echo $$ > staying; mv staying stayed; sleep 1000',
].join('\n');

const WAIT_FOR_GO = 'until [ -e go ]; do sleep 0.02; done';
