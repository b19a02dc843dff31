/** A place for an agent under test to work in: a workspace, a home, a session, and a turn to perform there. */
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect } from 'vitest';
import type { Progress, TurnHooks, TurnRequest, TurnTools, UsageReport } from '../../src/agent/agent.ts';
import type { Act, AgentUnderTest } from '../../src/agent/contract.ts';
import type { AgentPolicy } from '../../src/core/policy.ts';
import { accessOf, type Role, type SandboxKind } from '../../src/core/role.ts';
import { toolsOf } from '../../src/core/words/turn-tools.ts';
import { hostProcesses } from '../../src/process/host.ts';
import { MARK } from '../../src/process/process.ts';
import { liveProcesses, wasGiven } from '../../src/process/table.ts';
import { BARE } from './policy.ts';

export const IDLE_POLICY: AgentPolicy = {
  kind: '',
  command: null,
  script: null,
  attachCommand: null,
  preset: null,
  model: 'm-1',
  fallbackModels: [],
  effort: null,
  prices: {},
  toolCalls: 20,
  forgeRequests: 20,
  turnTimeoutMs: 300_000,
  stallTimeoutMs: 300_000,
  env: BARE,
  read: [],
  write: [],
  network: [],
  secrets: [],
  mcp: [],
  gateway: 'all',
  toolTimeoutMs: 3_600_000,
  repeatedCalls: 12,
};

/** Registers its own setup and cleaning with the suite it is called in. */
export function agentStage(
  { agent, performing }: Pick<AgentUnderTest, 'agent' | 'performing'>,
  sandbox: SandboxKind = 'none',
) {
  const processes = hostProcesses();
  let dir = '';
  let workspace = '';
  let task = '';
  let sessionId = '';

  beforeEach(async () => {
    dir = await realpath(await mkdtemp(join(tmpdir(), 'forge-agent-')));
    workspace = join(dir, 'work space');
    task = `task-${randomUUID().slice(0, 8)}`;
    sessionId = randomUUID();
    await mkdir(workspace);
  });
  afterEach(async () => {
    await processes.stop(task, []);
    await rm(dir, { recursive: true, force: true });
  });

  const inWorkspace = (file: string) => join(workspace, file);
  return {
    processes,
    dir: () => dir,
    workspace: () => workspace,
    task: () => task,
    inWorkspace,
    /** Of the turns made from now on. */
    newSession: () => {
      sessionId = randomUUID();
    },
    appeared: (file: string) =>
      expect.poll(() => existsSync(inWorkspace(file)), { timeout: 200_000 }).toBe(true),
    pidIn: async (file: string) => Number(await readFile(inWorkspace(file), 'utf8')),
    /** Of its programs, that wrote their pids into these files: inside a sandbox they have others. */
    pidsOf: async (...files: string[]) =>
      sandbox === 'none'
        ? Promise.all(files.map(async (file) => Number(await readFile(inWorkspace(file), 'utf8'))))
        : liveProcesses()
            .map(({ pid }) => pid)
            .filter((pid) => wasGiven(pid, `${MARK}=${task}`)),

    async turnOf(acts: readonly Act[], change: Partial<TurnRequest> = {}): Promise<TurnRequest> {
      return {
        task,
        issue: 7,
        role: 'coder',
        number: 1,
        cwd: workspace,
        prompt: 'Do the thing.\n',
        sessionId,
        sessionDir: join(dir, 'sessions', sessionId),
        resume: false,
        policy: { ...IDLE_POLICY, kind: agent.kind, ...(await performing(acts, dir)), ...change.policy },
        access: accessOf(
          change.role ?? 'coder',
          { cwd: workspace, home: join(dir, 'home'), session: join(dir, 'sessions', sessionId) },
          { sandbox },
        ),
        identity: { name: 'Ada', email: 'ada@example.com' },
        home: join(dir, 'home'),
        logPath: join(dir, 'logs', 'turn.log'),
        mark: task,
        ...change,
      };
    },

    /** The tools of a role, with answers that can be told apart. */
    toolbox(role: Role = 'coder') {
      const calls: { name: string; input: unknown }[] = [];
      const tools: TurnTools = {
        list: toolsOf(role, { hasPlan: true, asksForge: true }),
        call: async (name, input) => {
          calls.push({ name, input });
          return { text: `ANSWER-${calls.length}`, isError: false };
        },
      };
      return { calls, tools };
    },

    watched(change: Partial<TurnHooks> = {}) {
      const reports: UsageReport[] = [];
      const told: Progress[] = [];
      let progress = 0;
      const hooks: TurnHooks = {
        signal: new AbortController().signal,
        onHeld: async () => {},
        onUsage: (report) => reports.push(report),
        onProgress: (said) => {
          progress += 1;
          if (said) told.push(said);
        },
        ...change,
      };
      return { hooks, reports, told, progress: () => progress };
    },
  };
}
