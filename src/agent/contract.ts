/**
 * What every agent must do, whatever drives it; and what one that is just a program must do besides.
 *
 * An agent under test turns a list of acts into a policy: under it, one turn performs them in order.
 */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { agentStage, IDLE_POLICY } from '../../test/support/agent-stage.ts';
import { type RunnerParts, startRunner } from '../../test/support/start-runner.ts';
import type { AgentPolicy } from '../core/policy.ts';
import { type Access, type SandboxKind, sandboxName } from '../core/role.ts';
import { SandboxFailed } from '../errors.ts';
import { METERED } from '../gateway/gateway.ts';
import { processAt } from '../process/table.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import type { Agent, TurnRequest, Usage, UsageReport } from './agent.ts';

export type Act =
  /** Run in the workspace. */
  | { shell: string }
  | { say: string }
  | { answer: unknown }
  /** What the turn has used so far, told at once. */
  | { usage: Partial<Usage>; costUsd?: number };

export interface AgentUnderTest {
  agent: Agent;
  /** The same one, its programs in this sandbox. */
  confinedBy(sandbox: Sandbox): Agent;
  /** Keys of the policy that make a turn perform these acts; `dir` is free for its files. */
  performing(acts: readonly Act[], dir: string): Promise<Partial<AgentPolicy>>;
  /** Every prompt the session knows, oldest first. */
  remembered(sessionDir: string): Promise<string>;
  /** Its provider charges nothing for writing to a cache, and tells nothing of it. */
  writesFree?: boolean;
  /** A program that has no tools to tell of. */
  isProgram?: boolean;
  /** What a runner in a process of its own needs to make this agent. */
  runner?: RunnerParts;
}

/** `by`: what its turns are confined by. */
export function agentContract(name: string, subject: AgentUnderTest, by: SandboxKind = 'none'): void {
  describe(`agent ${name}${by === 'none' ? '' : `, confined by ${sandboxName(by)}`}`, () => {
    const { agent, runner: parts = {} } = subject;
    const { turnOf, watched, inWorkspace, appeared, pidsOf, processes, ...at } = agentStage(subject, by);
    const isRunning = (pid: number) => processAt(pid) !== null;
    // What a sandbox takes with it may need a moment to be gone.
    const gone = (pids: readonly number[]) =>
      expect.poll(() => pids.filter(isRunning), { timeout: by === 'none' ? 0 : 200_000 }).toEqual([]);

    test('a turn runs in the workspace with the prompt and its name, and returns one result', async () => {
      const acts: Act[] = [
        {
          shell: 'pwd > where; env | grep ^FORGE_ | sort > environment; git var GIT_AUTHOR_IDENT > identity',
        },
        { say: 'all done' },
        { usage: { input: 10, output: 5 }, costUsd: 0.5 },
      ];
      const { hooks, progress } = watched();
      const turn = await turnOf(acts, { number: 3 });
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

    // The sandbox of this test is one of its own.
    if (by === 'none')
      test('its program is in the sandbox, with what its turn may touch, and leaves it when all of it is gone', async () => {
        const confined: Access[] = [];
        const held: number[] = [];
        const runningAtItsEnd: boolean[] = [];
        const sandbox = sandboxOf(async ({ argv, env, cwd }, access) => {
          confined.push(access);
          return {
            argv: ['env', 'BY_ARGV=yes', ...argv],
            env: { ...env, BY_ENV: 'yes' },
            cwd,
            problem: () => null,
            dispose: async () => void runningAtItsEnd.push(...held.map(isRunning)),
          };
        });
        const { hooks } = watched({ onHeld: async ({ pid }) => void held.push(pid) });
        const turn = await turnOf([{ shell: 'echo "$BY_ARGV $BY_ENV" > confined' }, { say: 'done' }]);
        expect(await subject.confinedBy(sandbox).run(turn, hooks)).toMatchObject({ status: 'finished' });
        expect(await readFile(inWorkspace('confined'), 'utf8')).toBe('yes yes\n');
        const readRoots = expect.arrayContaining([...turn.access.readRoots]);
        const writeRoots = expect.arrayContaining([...turn.access.writeRoots]);
        expect(confined).toEqual([{ ...turn.access, readRoots, writeRoots }]);
        expect(runningAtItsEnd).toEqual([false]);
      });

    test('nothing runs when it can not be confined', async () => {
      const agentInNone = subject.confinedBy(
        sandboxOf(() => Promise.reject(new SandboxFailed('no namespaces here'))),
      );
      const turn = await turnOf([{ shell: 'touch ran' }]);
      const result = await agentInNone.run(turn, watched().hooks);
      expect(result).toMatchObject({ status: 'failed', code: 'sandbox_failed' });
      expect(result).toHaveProperty('message', expect.stringContaining('no namespaces here'));
      expect(existsSync(inWorkspace('ran'))).toBe(false);
      expect(await agent.probeSession(turn)).toBe('empty');
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
      const pids = await pidsOf('stayed', 'left');
      expect(pids.length).toBeGreaterThanOrEqual(2);
      runner.kill();
      await processes.stop(at.task(), [{ ...runner.child, task: at.task(), purpose: 'turn' }]);
      await gone(pids);
      expect(await agent.probeSession(turn)).toBe('resumable');
    });

    test('cancelling stops everything it started, in its group and out of it, before it returns (dispatch 25)', async () => {
      const cancel = new AbortController();
      const { hooks, reports } = watched({ signal: cancel.signal });
      const running = agent.run(await turnOf([{ shell: LEAVE_THE_GROUP }]), hooks);
      await appeared('stayed');
      const pids = await pidsOf('stayed', 'left');
      expect(pids.filter(isRunning).length).toBeGreaterThanOrEqual(2);
      cancel.abort();
      expect(await running).toEqual({ status: 'cancelled', usageKnown: reports.some(isMetered) });
      await gone(pids);
    });

    test('a turn that was cancelled before it began starts nothing', async () => {
      const { hooks } = watched({ signal: AbortSignal.abort() });
      expect(await agent.run(await turnOf([{ shell: 'touch ran' }]), hooks)).toMatchObject({
        status: 'cancelled',
      });
      expect(existsSync(inWorkspace('ran'))).toBe(false);
    });

    test('the time limit stops a turn in flight, and nothing of it is left (dispatch 28)', async () => {
      // On a busy machine the first may pass before the command runs.
      for (const turnTimeoutMs of [1_500, 10_000, 60_000]) {
        at.newSession();
        const turn = await turnOf([{ shell: LEAVE_THE_GROUP }]);
        const { hooks, reports } = watched();
        const result = await agent.run({ ...turn, policy: { ...turn.policy, turnTimeoutMs } }, hooks);
        expect(result).toMatchObject({ status: 'timed_out' });
        expect(await processes.stop(at.task(), [])).toEqual([]);
        if (!existsSync(inWorkspace('stayed'))) continue;
        expect(result.usageKnown).toBe(reports.some(isMetered));
        break;
      }
      expect(existsSync(inWorkspace('stayed'))).toBe(true);
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

    test('usage is told while the turn runs, as deltas under keys of their own that add up to the total (loops 40)', async () => {
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
      const { hooks } = watched({ signal: budget.signal, onUsage: (report) => void told.push(report) });
      const acts: Act[] = [
        { usage: { output: 9_000 } },
        { shell: 'true' },
        { shell: `touch begun; ${WAIT_FOR_GO}` },
        { shell: 'touch ran' },
      ];
      const running = agent.run(await turnOf(acts), hooks);
      // In the middle of a call of the model nobody would know what that call used.
      const isBetweenCalls = () => told.length > 0 && existsSync(inWorkspace('begun'));
      await expect.poll(isBetweenCalls, { timeout: 200_000 }).toBe(true);
      budget.abort();
      expect(await running).toEqual({
        status: 'cancelled',
        usageKnown: told.some(isMetered),
      });
      expect(sumOf(told, 'output')).toBe(9_000);
      expect(existsSync(inWorkspace('ran'))).toBe(false);
    });

    test('what it runs finds no key of its provider, and neither does whoever looks where it lives', async () => {
      const operator = Object.entries(parts.operator ?? {});
      const keys = operator.flatMap(([name, value]) => (/_KEY$/.test(name) && value ? [value] : []));
      const turn = await turnOf([
        { shell: 'env > seen; cat "/proc/$PPID/environ" >> seen 2>/dev/null; true' },
      ]);
      expect(await agent.run(turn, watched().hooks)).toMatchObject({ status: 'finished' });
      const seen = await readFile(inWorkspace('seen'), 'utf8');
      for (const key of keys) {
        expect(seen).not.toContain(key);
        const found = spawnSync('grep', ['-rlF', key, turn.home, turn.sessionDir], { encoding: 'utf8' });
        expect(found.stdout).toBe('');
      }
    });

    test('what publishes is refused wherever it runs, and told; a word is only a word (loops 70)', async () => {
      const acts: Act[] = [
        { shell: "git init -q . && sh -c 'git push origin main' 2> said; echo $? > code" },
        { shell: `bash -lc 'git push' 2>> said || git remote -v && echo "do not git push" > passed` },
        { shell: 'gh pr create || touch went-on' },
        { say: 'done' },
      ];
      const { hooks, told } = watched();
      expect(await agent.run(await turnOf(acts), hooks)).toMatchObject({ status: 'finished', text: 'done' });
      expect(told.filter(({ kind }) => kind === 'refused')).toMatchObject([
        { tool: 'shell', detail: 'git push origin main', why: expect.stringContaining('do not push') },
        { tool: 'shell', detail: 'git push', why: expect.stringContaining('do not push') },
        { tool: 'shell', detail: 'gh pr create', why: expect.stringContaining('the forge is not for you') },
      ]);
      expect(await readFile(inWorkspace('said'), 'utf8')).toMatch(
        /^(forge-loop refused .*do not push.*\n){2}$/,
      );
      expect(await readFile(inWorkspace('code'), 'utf8')).toBe('1\n');
      for (const file of ['passed', 'went-on']) expect(existsSync(inWorkspace(file))).toBe(true);
    });

    // A program has no tools to tell of.
    test.skipIf(subject.isProgram)(
      'a tool call is told at its beginning and at its end, with what it gave',
      async () => {
        const { hooks, told } = watched();
        const act = { shell: 'echo it-says-so' };
        await agent.run(await turnOf([act, act, { say: 'done' }]), hooks);
        const begun = told.flatMap((one) => (one.kind === 'tool' && one.call ? [one] : []));
        const calls = [...new Map(begun.map((one) => [one.call, one])).values()];
        expect(calls).toHaveLength(2);
        expect(new Set(calls.map(({ same }) => same)).size).toBe(1);
        const over = told.flatMap((one) => (one.kind === 'tool_over' ? [one] : []));
        expect(over.map(({ call }) => call)).toEqual(calls.map(({ call }) => call));
        for (const { output } of over) expect(output).toContain('it-says-so');
      },
    );

    describe('a turn whose end nobody heard', () => {
      const unheard = (turn: TurnRequest, startedAt: number) => {
        const { hooks, reports } = watched();
        return { reports, end: agent.finished({ ...turn, startedAt }, hooks.onUsage) };
      };

      test('is found finished, with its words and with what it used, told once', async () => {
        const startedAt = Date.now();
        const totals = { input: 150, output: 40 };
        const acts: Act[] = [
          { usage: { input: 100, output: 10 } },
          { shell: 'true' },
          { usage: totals },
          { say: 'all done' },
        ];
        const { hooks, reports } = watched();
        const turn = await turnOf(acts, { prompt: 'Paint it red.\n' });
        expect(await agent.run(turn, hooks)).toMatchObject({ status: 'finished' });
        const found = unheard(turn, startedAt);
        const end = await found.end;
        expect(end?.result).toMatchObject({ status: 'finished', text: 'all done', structured: null });
        expect(end?.endedAt).toBeGreaterThanOrEqual(startedAt);
        expect(end?.endedAt).toBeLessThanOrEqual(Date.now());
        // What was counted on the wire is not counted again by the agent's own account.
        const booked = reports.some(isMetered) ? reports : [...reports, ...found.reports];
        const byKey = new Map(booked.map((report) => [report.key, report]));
        for (const [kind, total] of Object.entries(totals)) {
          expect(sumOf([...byKey.values()], kind as keyof Usage)).toBe(total);
          expect(sumOf(found.reports, kind as keyof Usage)).toBe(total);
        }
      });

      test('is found with its answer', async () => {
        const startedAt = Date.now();
        const report = { verdict: 'APPROVE', findings: [] };
        const outputSchema = {
          type: 'object',
          properties: { verdict: { type: 'string' } },
          required: ['verdict'],
        };
        const turn = await turnOf([{ answer: report }], { role: 'critic', outputSchema });
        await agent.run(turn, watched().hooks);
        expect(await unheard(turn, startedAt).end).toMatchObject({
          result: { status: 'finished', structured: report },
        });
      });

      test('is not finished when it was cut off in its middle', async () => {
        const startedAt = Date.now();
        const turn = await turnOf([{ say: 'I begin.' }, { shell: LEAVE_THE_GROUP }]);
        const runner = await startRunner({ ...parts, release: true, agent: agent.kind, turn });
        await appeared('stayed');
        runner.kill();
        await processes.stop(at.task(), [{ ...runner.child, task: at.task(), purpose: 'turn' }]);
        expect(await unheard(turn, startedAt).end).toBeNull();
      });

      test('is not taken for an earlier one of its session', async () => {
        const turn = await turnOf([{ say: 'one' }]);
        const startedAt = Date.now();
        expect(await unheard(turn, startedAt).end).toBeNull();
        await agent.run(turn, watched().hooks);
        const later = Date.now() + 1;
        expect(await unheard(turn, later).end).toBeNull();
        const next = { ...turn, number: 2, resume: true, prompt: 'The gate failed.\n' };
        expect(await unheard(next, startedAt).end).toBeNull();
      });
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

    test('what it comes to while no runner lives is found, and all it used is told once', async () => {
      const startedAt = Date.now();
      const acts: Act[] = [
        { usage: { output: 5 }, costUsd: 0.5 },
        { shell: `touch begun; ${WAIT_FOR_GO}` },
        { usage: { output: 9 }, costUsd: 0.75 },
        { say: 'done alone' },
      ];
      const turn = await turnOf(acts);
      const runner = await startRunner({ ...parts, release: true, agent: agent.kind, turn });
      await appeared('begun');
      runner.kill();
      await writeFile(inWorkspace('go'), '');
      const { hooks, reports } = watched();
      const find = () => agent.finished({ ...turn, startedAt }, hooks.onUsage);
      await expect.poll(find, { timeout: 200_000 }).toMatchObject({
        result: { status: 'finished', text: 'done alone', usageKnown: true },
      });
      await find();
      const byKey = [...new Map(reports.map((report) => [report.key, report])).values()];
      expect(sumOf(byKey, 'output')).toBe(9);
      expect(sumOf(byKey, 'costUsd')).toBe(0.75);
    });

    test('one that failed while no runner lived is not known to have finished', async () => {
      const startedAt = Date.now();
      const turn = await turnOf([
        { shell: `touch begun; ${WAIT_FOR_GO}` },
        { shell: 'echo $$ > last; exit 3' },
      ]);
      const runner = await startRunner({ ...parts, release: true, agent: agent.kind, turn });
      await appeared('begun');
      runner.kill();
      await writeFile(inWorkspace('go'), '');
      await expect.poll(() => isRunning(runner.child.pid), { timeout: 200_000 }).toBe(false);
      expect(existsSync(inWorkspace('last'))).toBe(true);
      expect(await agent.finished({ ...turn, startedAt }, () => {})).toBeNull();
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

    test('the MCP servers that it was granted are named in a file, each as a program to start', async () => {
      const command = ['/bin/sh', '-c', 'cat; echo "$KEY for $FORGE_ROLE" > "$FORGE_WORKSPACE/started"'];
      const mcp = [{ name: 'docs', command, env: { KEY: 'sk-docs' }, tools: null }];
      const acts: Act[] = [{ shell: 'cat "$FORGE_MCP" > servers' }, { shell: START_DOCS }];
      const { policy } = await turnOf(acts);
      const turn = await turnOf(acts, { policy: { ...policy, mcp } });
      expect(await agent.run(turn, watched().hooks)).toMatchObject({ status: 'finished' });
      const { mcpServers } = JSON.parse(await readFile(inWorkspace('servers'), 'utf8'));
      expect(mcpServers).toEqual({ docs: { command: process.execPath, args: expect.any(Array) } });
      expect(await readFile(inWorkspace('started'), 'utf8')).toBe('sk-docs for coder\n');
      at.newSession();
      await agent.run(await turnOf([{ shell: 'echo "$FORGE_MCP" > none' }]), watched().hooks);
      expect(await readFile(inWorkspace('none'), 'utf8')).toBe('\n');
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

const sandboxOf = (confine: Sandbox['confine']): Sandbox => ({
  choose: async () => ({ kind: 'bwrap', why: null, unlimited: null }),
  confine,
  clear: async () => {},
});

/** What was counted on the wire is known; an agent that was stopped did not get to tell all. */
const isMetered = ({ key }: UsageReport): boolean => key.startsWith(METERED);

export const sumOf = (reports: readonly UsageReport[], kind: keyof Usage | 'costUsd'): number =>
  reports.reduce((total, report) => total + (report[kind] ?? 0), 0);

/** One process in a session of its own, one in the group; both wait for ever. */
const LEAVE_THE_GROUP = [
  `setsid sh -c 'echo $$ > left; exec sleep 1000' > /dev/null 2>&1 &`,
  'while ! [ -s left ]; do sleep 0.01; done',
  'echo $$ > staying; mv staying stayed; sleep 1000',
].join('\n');

/** As a program does that reads the file: here, by what it has in quotes. */
const START_DOCS = `sed 's/.*"args":\\["//; s/"].*//; s/","/\\n/g' servers | { read -r program; read -r file; '${process.execPath}' "$program" "$file" < /dev/null; }`;

const WAIT_FOR_GO = 'until [ -e go ]; do sleep 0.02; done';
