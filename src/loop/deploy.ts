/**
 * Deploys trunk after merges, one deploy at a time, under the intake lease.
 *
 * That it started is written down before it starts, so after a crash it is known that it may have run: it counts as
 * interrupted and is not repeated by itself. Merges observed meanwhile lead to one more deploy, of the newest trunk.
 */
import { type Deploy, type DeployState, isDeployDue, nextDeploy } from '../core/deploy.ts';
import { event } from '../core/event.ts';
import { LOGS_OF_NO_TASK } from '../core/keep.ts';
import { shortSha } from '../core/words/short-sha.ts';
import { lasting } from '../core/words/words.ts';
import { LeaseLost } from '../errors.ts';
import type { LaunchResult } from '../process/process.ts';
import type { Lease } from '../store/store.ts';
import { runCommand } from './command.ts';
import type { Errand } from './errand.ts';
import { stopRecorded } from './leftovers.ts';
import type { Ports } from './ports.ts';

interface Deployer extends Errand {
  isDue(): Promise<boolean>;
}

export function createDeployer(ports: Ports, onSettled: () => void): Deployer {
  const { store, clock } = ports;
  let run: { controller: AbortController; ended: Promise<void> } | null = null;

  return {
    name: 'deploy',
    // A pause keeps it back like any run; a deploy that failed does not keep back the next one.
    waitsFor: ['everything'],
    consider,
    isDue,
    busy: () => run !== null,
    settled: () => run?.ended ?? Promise.resolve(),
    abort: () => run?.controller.abort(),
  };

  async function consider(lease: Lease | null): Promise<void> {
    if (run || !lease || ports.settings.policy().deploy.command === null) return;
    const { state, again } = await readState(lease);
    const newestMerge = await newestMergeSeq();
    if (!isDeployDue(state, newestMerge, again)) return;
    const { sha: trunk } = await ports.forge.trunk();
    const step = nextDeploy(state, { newestMerge, trunk, again });
    if (step.kind === 'consider') await save(lease, { ...state, considered: step.considered });
    if (step.kind === 'deploy') await start(lease, { ...state, considered: step.considered }, step.sha);
  }

  async function isDue(): Promise<boolean> {
    if (ports.settings.policy().deploy.command === null) return false;
    const { deploy, deployAgain } = await store.loop();
    return deploy !== null && isDeployDue(deploy, await newestMergeSeq(), deployAgain !== null);
  }

  /** Merges from before there was a deploy command are nobody's to deploy; a dead runner's deploy is over. */
  async function readState(lease: Lease): Promise<{ state: DeployState; again: boolean }> {
    const { deploy, deployAgain } = await store.loop();
    if (deploy === null) {
      const state = { considered: await newestMergeSeq(), last: null, deployedSha: null };
      await save(lease, state);
      return { state, again: false };
    }
    if (deploy.last?.status !== 'running') return { state: deploy, again: deployAgain !== null };
    await stopRecorded(ports, deploy.last.id, await store.processes(deploy.last.id));
    return {
      state: await finish(lease, deploy, deploy.last, 'interrupted', 'its runner died'),
      again: false,
    };
  }

  async function start(lease: Lease, state: DeployState, sha: string): Promise<void> {
    const id = ports.newId().slice(0, 8);
    const last: Deploy = { id, sha, status: 'running', problem: null, startedAt: clock.now(), endedAt: null };
    const started = { ...state, last };
    await store.updateLoop(
      { deploy: started, deployAgain: null },
      [event('deploy_started', { id, sha })],
      clock.now(),
      lease,
    );
    const controller = new AbortController();
    const ended = carryOut(lease, started, last, controller.signal)
      .catch(async (problem: Error) => {
        // Another runner has the lease: it sees a deploy whose runner is gone, and ends it.
        if (problem instanceof LeaseLost) return;
        await finish(lease, started, last, 'failed', problem.message);
      })
      .catch((problem: Error) => ports.log('error', `deploy: ${problem.message}`, { stack: problem.stack }))
      .then(() => {
        run = null;
        onSettled();
      });
    run = { controller, ended };
  }

  async function carryOut(
    lease: Lease,
    state: DeployState,
    last: Deploy,
    signal: AbortSignal,
  ): Promise<void> {
    const { deploy } = ports.settings.policy();
    const place = await ports.workspaces.stage(last.sha, 'deploy');
    try {
      const exit = await runCommand(ports, {
        task: last.id,
        lease,
        purpose: 'deploy',
        command: deploy.command!,
        cwd: place.path,
        home: place.home,
        child: deploy.env,
        logPath: ports.places.log(LOGS_OF_NO_TASK.deploy, `${shortSha(last.sha)}-${last.id}.log`),
        timeoutMs: deploy.timeoutMs,
        signal,
        env: { FORGE_SHA: last.sha },
        own: { kind: 'deploy', pass: deploy.passEnv },
      });
      if (signal.aborted) await finish(lease, state, last, 'interrupted', 'its runner was stopped');
      else if (exit.code === 0) await finish(lease, state, last, 'succeeded', null);
      else
        await finish(
          lease,
          state,
          last,
          'failed',
          `${howItEnded(exit, deploy.timeoutMs)}${lastLine(exit.tail)}`,
        );
    } finally {
      await place.dispose();
    }
  }

  async function finish(
    lease: Lease,
    state: DeployState,
    { id, sha, startedAt }: Deploy,
    status: 'succeeded' | 'failed' | 'interrupted',
    problem: string | null,
  ): Promise<DeployState> {
    const endedAt = clock.now();
    const after: DeployState = {
      ...state,
      last: { id, sha, status, problem, startedAt, endedAt },
      deployedSha: status === 'succeeded' ? sha : state.deployedSha,
    };
    if (status !== 'succeeded') ports.log('warn', `the deploy of ${shortSha(sha)} ${status}: ${problem}`, {});
    const durationMs = endedAt - startedAt;
    const completed = event('deploy_completed', { id, sha, status, problem, durationMs });
    await store.updateLoop({ deploy: after }, [completed], endedAt, lease);
    return after;
  }

  async function save(lease: Lease, deploy: DeployState): Promise<void> {
    await store.updateLoop({ deploy }, [], clock.now(), lease);
  }

  async function newestMergeSeq(): Promise<number> {
    return (await store.events({ type: 'merge_observed', last: 1 }))[0]?.seq ?? 0;
  }
}

function howItEnded(exit: LaunchResult, timeoutMs: number): string {
  if (exit.timedOut) return `timed out after ${lasting(timeoutMs)}`;
  return exit.spawnError ?? (exit.code === null ? `killed by ${exit.signal}` : `exit ${exit.code}`);
}

/** What a command said last is usually why it ended. */
function lastLine(tail: string): string {
  const line = tail.trim().split('\n').at(-1)?.trim() ?? '';
  return line === '' ? '' : `: ${line.slice(-300)}`;
}
