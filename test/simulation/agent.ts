/**
 * The agents of the simulated world. An agent lives in the world: when its runner dies it goes on working, until
 * somebody stops it. It may do good work, bad work, nothing, fail, hang, or answer nonsense.
 */
import type { Agent, TurnHooks, TurnRequest, TurnResult, UsageReport } from '../../src/agent/agent.ts';
import { criticReport } from './critic.ts';
import { auditReport } from './plans.ts';
import { type Reading, specify, watchCoder } from './readers.ts';
import { CLASH, redFiles, type Tree } from './repository.ts';
import { JUDGING, type World } from './world.ts';

export const TOKENS_PER_CALL = 100;

export interface Temper {
  /** Probabilities of a coder turn's work being good, bad or nothing at all. */
  good: number;
  idle: number;
  /** Probability of working on the file that every issue touches. */
  shares: number;
  /** Probability of work that is good alone and red together with another's. */
  clashes: number;
  fails: number;
  hangs: number;
  /** Probability of the provider saying that the account is used up. */
  limits: number;
  /** Probabilities of the critic's answers. */
  approves: number;
  blocks: number;
  garbage: number;
  /** Probability of an approval that contradicts itself. */
  flaws: number;
  /** Probabilities of a critic leaving out what was open before, and of not being content with what was done about it. */
  forgets: number;
  reading: Reading;
  /** Probability of a coder meddling with what judges it. */
  lies: number;
}

/** Does what it is asked for, and asks for nothing. */
export const WILLING: Temper = {
  good: 1,
  idle: 0,
  shares: 0,
  clashes: 0,
  fails: 0,
  hangs: 0,
  limits: 0,
  approves: 1,
  blocks: 0,
  garbage: 0,
  flaws: 0,
  forgets: 0,
  lies: 0,
  reading: { expands: 0, declines: 0, contradicts: 0, babbles: 0 },
};

/** `now`: the clock of the machine it runs on, which it dates its records by. */
export function simAgent(world: World, temper: Temper, now: () => number = world.time.now): Agent {
  return {
    kind: 'simulated',
    unavailable: async () => null,
    async probeSession({ sessionId }) {
      const session = world.sessions.get(sessionId);
      if (!session) return 'lost';
      return session.messages > 0 ? 'resumable' : 'empty';
    },
    async finished({ sessionId, number, role, startedAt }, onUsage) {
      const end = world.finished.findLast(
        (one) => one.sessionId === sessionId && one.turn === number && one.role === role,
      );
      if (!end || end.endedAt < startedAt) return null;
      for (const report of end.used) onUsage(report);
      return end;
    },
    run: (turn, hooks) => new Promise((resolve) => live(turn, hooks, resolve)),
  };

  function live(turn: TurnRequest, hooks: TurnHooks, resolve: (result: TurnResult) => void): void {
    let over = false;
    const process = { alive: false, pid: 0 };
    const end = (result: TurnResult): void => {
      if (over) return;
      over = true;
      world.processes.delete(process.pid);
      resolve(result);
    };
    const cancelled: TurnResult = { status: 'cancelled', usageKnown: true };
    if (hooks.signal.aborted) {
      end(cancelled);
      return;
    }
    hooks.signal.addEventListener('abort', () => end(cancelled));

    const started = world.startProcess({
      task: turn.task,
      purpose: `held ${turn.role} ${turn.number}`,
      cwd: turn.cwd,
      kill: () =>
        end({ status: 'failed', code: 'crashed', message: 'killed', retryAt: null, usageKnown: true }),
    });
    process.pid = started.pid;
    hooks.onHeld({ pid: started.pid, startTime: '1', bootId: 'b' }).then(
      () => {
        if (over) return;
        world.processes.delete(started.pid);
        process.pid = world.startProcess({ ...started, purpose: `agent ${turn.role} ${turn.number}` }).pid;
        if (process.pid !== started.pid) renumber(started.pid, process);
        void work(turn, hooks, () => over, end);
      },
      () => end(cancelled),
    );
  }

  /** The released child is the held one: same pid. */
  function renumber(pid: number, process: { pid: number }): void {
    const moved = world.processes.get(process.pid)!;
    world.processes.delete(process.pid);
    world.processes.set(pid, { ...moved, pid });
    process.pid = pid;
  }

  async function work(
    turn: TurnRequest,
    hooks: TurnHooks,
    isOver: () => boolean,
    end: (result: TurnResult) => void,
  ): Promise<void> {
    const { random, time } = world;
    const code = world.outage;
    if (code) {
      await time.sleep(300);
      return end({
        status: 'failed',
        code,
        message: 'Service Unavailable (503)',
        retryAt: null,
        usageKnown: true,
      });
    }
    const session = world.sessions.get(turn.sessionId);
    if (turn.resume && !session) {
      end({
        status: 'failed',
        code: 'session_lost',
        message: 'no such session',
        retryAt: null,
        usageKnown: true,
      });
      return;
    }
    if (!turn.resume && session && session.messages > 0)
      world.violate(`started the session ${turn.sessionId} twice`);
    if (turn.role === 'coder') watchCoder(world, turn);
    if (turn.role !== 'coder' && !world.exports.has(turn.cwd))
      world.violate(`the ${turn.role} was started outside a throwaway copy: ${turn.cwd}`);
    if (turn.role === 'coder' && !world.workspaces.has(turn.cwd))
      world.violate(`an agent was started outside a workspace: ${turn.cwd}`);
    if (session && session.cwd !== turn.cwd)
      world.violate(`the ${turn.role} goes on in ${turn.cwd}, and has begun in ${session.cwd}`);
    const current = session ?? { messages: 0, cwd: turn.cwd };
    world.sessions.set(turn.sessionId, current);
    await time.sleep(200 + random.int(500));
    if (isOver()) return;
    current.messages += 1;

    const used: UsageReport[] = [];
    const steps = 1 + random.int(3);
    for (let step = 1; step <= steps; step++) {
      await time.sleep(1000 + random.int(8000));
      if (isOver()) return;
      hooks.onProgress();
      const report = {
        key: `${step}`,
        model: 'sim',
        input: TOKENS_PER_CALL,
        output: 0,
        cacheRead: 0,
        cacheWrite: 0,
        reasoning: 0,
        costUsd: TOKENS_PER_CALL / 1000,
      };
      used.push(report);
      hooks.onUsage(report);
      if (turn.role === 'coder') edit(turn);
    }
    if (random.chance(temper.hangs)) return;
    if (random.chance(temper.fails))
      return end({
        status: 'failed',
        code: 'overload',
        message: 'overloaded',
        retryAt: null,
        usageKnown: true,
      });
    if (random.chance(temper.limits)) {
      const retryAt = time.now() + random.pick([1000, 60_000, 3_600_000]);
      return end({
        status: 'failed',
        code: 'usage_limit',
        message: 'used up',
        retryAt,
        usageKnown: true,
      });
    }
    const [newest] = await world.store.events({ last: 1 });
    if (isOver()) return;
    if (turn.role === 'coder') world.heard.push(turn.prompt);
    const result: TurnResult = {
      status: 'finished',
      text: '',
      structured: answer(turn),
      usageKnown: true,
    };
    const { task, role, number, sessionId } = turn;
    const when = { endedAt: now(), after: newest?.seq ?? 0 };
    world.finished.push({ task, role, turn: number, sessionId, used, result, ...when });
    end(result);
  }

  function answer(turn: TurnRequest): unknown {
    if (turn.role === 'critic') return criticReport(world, temper, turn);
    if (turn.role === 'auditor') return auditReport(world, temper, turn);
    return turn.role === 'specifier' ? specify(world, turn, temper.reading) : null;
  }

  function edit(turn: TurnRequest): void {
    const { random } = world;
    const workspace = world.workspaces.get(turn.cwd);
    if (!workspace) return;
    for (const [path, content] of Object.entries(workspace.files)) {
      if (content.startsWith('conflict<')) workspace.files[path] = `good ${random.hex(4)}`;
    }
    if (turn.prompt.includes('Revert these changes completely') && random.chance(0.6))
      takeBack(workspace.files);
    else if (random.chance(temper.lies)) meddle(workspace.files);
    const of = turn.issue ?? turn.task;
    const clash = `clash-${of}.txt`;
    if (redFiles(workspace.files).some((said) => said.startsWith(`${clash} `)))
      workspace.files[clash] = `good ${random.hex(4)}`;
    if (random.chance(temper.idle)) return;
    if (!(clash in workspace.files) && random.chance(temper.clashes)) workspace.files[clash] = CLASH;
    const path = random.chance(temper.shares) ? 'shared.txt' : `issue-${of}.txt`;
    workspace.files[path] = `${random.chance(temper.good) ? 'good' : 'bad'} ${random.hex(6)}`;
    if (workspace.files[path]!.startsWith('good')) {
      for (const [other, content] of Object.entries(workspace.files))
        if (content.startsWith('bad')) workspace.files[other] = `good ${random.hex(4)}`;
    }
  }

  /** Everything that would make bad work pass, or a judgement look like one. */
  function meddle(files: Tree): void {
    switch (world.random.int(4)) {
      case 0:
        files['ci/test.sh'] = 'exit 0';
        return;
      case 1:
        files['WORKFLOW.md'] = 'good settings of my own';
        return;
      case 2:
        delete files['test/one.test.js'];
        return;
      default:
        files['critic-report.json'] = 'good {"verdict":"APPROVE"}';
    }
  }

  function takeBack(files: Tree): void {
    Object.assign(files, JUDGING);
    delete files['WORKFLOW.md'];
    delete files['critic-report.json'];
  }
}
