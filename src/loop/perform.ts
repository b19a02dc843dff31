/**
 * Carries out one effect. Each is idempotent: performed again after a crash it finds what it did before. What can be
 * expected to go wrong is an outcome; what is thrown is repeated with backoff by the caller.
 */

import type { Effect } from '../core/action.ts';
import { event } from '../core/event.ts';
import { loopHoldKey, loopHoldOf } from '../core/loop/loop-hold.ts';
import type { Outcome } from '../core/outcome.ts';
import { required, type Task } from '../core/task.ts';
import { STATUS_MARKER } from '../core/tell/status.ts';
import {
  checkpointMessage,
  mergeMessage,
  pullBody,
  pullTitle,
  statusComment,
  withCost,
} from '../core/words/comments.ts';
import { shortSha } from '../core/words/short-sha.ts';
import { untestedText } from '../core/words/words.ts';
import {
  FetchFailed,
  ForgeUnavailable,
  GitFailed,
  UserError,
  WorkspaceRefused,
  withHint,
} from '../errors.ts';
import type { Lease } from '../store/store.ts';
import { runHook } from './hook.ts';
import { inspect } from './inspect.ts';
import { lostWorkspace } from './lost-workspace.ts';
import { placedFiles } from './placed-files.ts';
import type { Ports } from './ports.ts';
import { workspaceKey } from './workspace-key.ts';

export async function performForge(ports: Ports, action: Effect): Promise<Outcome | null> {
  const { forge } = ports;
  switch (action.kind) {
    case 'label':
      await forge.relabel(action.issue, { add: action.add, remove: action.remove });
      return DONE;
    case 'comment':
      await forge.ensureComment(action.issue, action.marker, action.body);
      return DONE;
    case 'reply':
      await forge.reply(action.to, action.marker, action.body);
      return DONE;
    case 'close_issue':
      await forge.closeIssue(action.issue);
      return DONE;
    case 'close_pull':
      await forge.closePull(action.pull, action.comment);
      return DONE;
    case 'leave_queue':
      await forge.leaveQueue?.(action.pull);
      return DONE;
    case 'post_review': {
      const { pull, marker, headSha, verdict, body, comments } = action;
      await forge.postReview(pull, { marker, headSha, verdict, body, comments });
      return DONE;
    }
    default:
      return null;
  }
}

/** `signal` ends the operator's hooks; an effect that was cut off so throws, and is performed again. */
export async function perform(
  ports: Ports,
  task: Task,
  action: Effect,
  lease: Lease,
  signal: AbortSignal,
): Promise<Outcome> {
  const { forge, workspaces } = ports;
  const key = workspaceKey(task);
  const priced = async (body: string): Promise<string> => withCost(body, await ports.store.spend(task.id));
  if (action.kind === 'update_pull') {
    const { pull, title, body } = action;
    await forge.updatePull(pull, { title, body: await priced(body) });
    return DONE;
  }
  const said = await performForge(ports, action);
  if (said) return said;
  switch (action.kind) {
    case 'tell_status': {
      const { store, settings } = ports;
      const known = { spend: await store.spend(task.id), ledger: await store.findings(task.id) };
      const text = statusComment(task, known, settings.policy());
      await forge.ensureComment(action.issue, STATUS_MARKER, text);
      return DONE;
    }
    case 'prepare_workspace':
      return prepare(ports, task, lease, signal);
    case 'checkpoint':
      return refusable(ports, task, async () => {
        const { head, baseSha, empty } = await workspaces.checkpoint(key, checkpointMessage(task));
        return { kind: 'checkpoint', head, baseSha, empty };
      });
    case 'merge_in':
      return refusable(ports, task, async () => ({
        kind: 'merged_in',
        ...(await workspaces.mergeTrunk(key, action.sha)),
      }));
    case 'seal':
      return refusable(ports, task, async () => ({
        kind: 'sealed',
        ...(await workspaces.seal(key, action.from, action.message)),
      }));
    case 'adopt_head': {
      const { exists } = await workspaces.probe(key);
      if (exists) await workspaces.adopt(key, action.sha);
      return DONE;
    }
    case 'push': {
      const pushed = await forge.push(task.branch, action.sha, action.expected);
      if (typeof pushed === 'object') return { kind: 'publish_refused', detail: pushed.refused };
      if (pushed === 'pushed') {
        const { head, gate } = task;
        const isVerified = head?.sha === action.sha && gate?.tree === head.tree && gate.outcome === 'pass';
        if (isVerified) await showVerified(ports, action.sha);
        return { kind: 'pushed' };
      }
      const theirs = await forge.branchHead(task.branch);
      if (!theirs) return { kind: 'pushed' };
      return { kind: 'moved', sha: theirs.sha };
    }
    case 'ensure_pull':
      return ensurePull(ports, task, await priced(pullBody(task)));
    case 'inspect':
      return {
        kind: 'inspected',
        ...(await inspect(ports, task.contract, action.baseSha, action.headSha)),
      };
    case 'build_candidate': {
      const policy = ports.settings.policy();
      const message = mergeMessage(task, policy, ports.forge.kind);
      const built = await forge.buildCandidate({
        headSha: action.headSha,
        baseSha: required(task, 'baseSha'),
        method: policy.merge.method,
        message,
        task: task.id,
        ...(action.onto && { onto: action.onto.sha }),
      });
      if (built.kind === 'clean') return { kind: 'candidate', candidate: built.candidate };
      if (built.kind === 'refused') return { kind: 'merge_refused', detail: built.detail };
      if (built.kind === 'behind') return { kind: 'conflict', files: [], trunk: built.trunk };
      return built.kind === 'rewritten' ? { ...built, baseSha: required(task, 'baseSha') } : built;
    }
    case 'land': {
      const { pull, candidate } = action.permit;
      const landed = await forge.land(pull, candidate);
      if (landed.kind === 'trunk_moved') return { kind: 'trunk_moved' };
      if (landed.kind === 'dirty_checkout') return { kind: 'dirty_checkout', detail: landed.detail };
      if (landed.kind === 'merge_queued')
        return { kind: 'merge_queued', tree: candidate.tree, detail: landed.detail };
      if (landed.kind === 'behind') return { kind: 'conflict', files: [], trunk: landed.trunk };
      if (landed.kind === 'refused')
        return { kind: landed.passing ? 'landing_refused' : 'merge_refused', detail: landed.detail };
      if (landed.note) ports.log('warn', landed.note, { task: task.id });
      if (!(await forge.onTrunk(landed.sha)))
        throw new ForgeUnavailable(`${shortSha(landed.sha)} was reported as landed but is not on trunk`);
      if (!landed.untested) return { kind: 'landed', sha: landed.sha };
      const why = untestedText(landed.sha, candidate.tree);
      ports.log('warn', why, { task: task.id });
      return { kind: 'landed', sha: landed.sha, untested: { ...landed.untested, why } };
    }
    case 'hold_loop': {
      const { hold } = action;
      const { holds } = await ports.store.loop();
      if (!holds.some((one) => loopHoldKey(one) === loopHoldKey(hold)))
        await ports.store.updateLoop({}, [event('loop_held', loopHoldOf(hold))], ports.clock.now());
      return DONE;
    }
    case 'release_loop': {
      const { key, why } = action;
      const { holds } = await ports.store.loop();
      const ended = holds
        .filter((one) => loopHoldKey(one) === key)
        .map((hold) => event('loop_released', { ...hold, by: `forge-loop (${why})` }));
      if (ended.length > 0) await ports.store.updateLoop({}, ended, ports.clock.now());
      return DONE;
    }
    case 'switch_checkout': {
      const problem = await ports.repository.switchTo(task.branch, task.plan?.from?.branch ?? null);
      if (problem) ports.log('warn', `${task.branch} is not checked out: ${problem}`, { task: task.id });
      return { kind: 'switched', problem };
    }
    case 'delete_branch':
      await forge.deleteBranch(task.branch);
      return DONE;
    case 'reap_workspace': {
      if (!task.workspace) {
        await ports.places.remove(task.id, 'private');
        return DONE;
      }
      await runHook(ports, 'beforeRemove', { task: task.id, lease, cwd: task.workspace, signal });
      signal.throwIfAborted();
      await workspaces.reap(key, { keepsFormer: task.plan?.tookBack !== undefined });
      await ports.places.remove(task.id, 'private');
      return { kind: 'reaped', path: task.workspace };
    }
    case 'preserve_workspace':
      return preserve(ports, task);
    default:
      throw new Error(`no way to perform ${action.kind}`);
  }
}

const DONE: Outcome = { kind: 'done' };

/** Tried again with the push, which finds itself done; but it is not the push that failed. */
async function showVerified({ forge }: Ports, sha: string): Promise<void> {
  try {
    await forge.showVerified?.(sha);
  } catch (problem) {
    if (!(problem instanceof ForgeUnavailable)) throw problem;
    const { message, retryAt } = problem;
    throw new ForgeUnavailable(`It was pushed, but not marked as verified yet: ${message}`, retryAt, {
      cause: problem,
    });
  }
}

/** One that the forge will not have is an answer, as with a push. */
async function ensurePull({ forge }: Ports, task: Task, body: string): Promise<Outcome> {
  const { id: marker, issue, branch } = task;
  try {
    const pull = await forge.ensurePull({ issue, branch, title: pullTitle(task), body, marker });
    return { kind: 'pull', pull: pull.number };
  } catch (problem) {
    if (!(problem instanceof UserError)) throw problem;
    return { kind: 'publish_refused', detail: problem.message };
  }
}

async function prepare(ports: Ports, task: Task, lease: Lease, signal: AbortSignal): Promise<Outcome> {
  try {
    const baseSha = task.baseSha ?? task.plan?.from?.sha ?? (await ports.forge.trunk()).sha;
    const key = workspaceKey(task, baseSha);
    const made = await ports.workspaces.prepare(key);
    if (task.plan) await ports.workspaces.place(key, await placedFiles(ports));
    // Until it was recorded as ready, the hook has not succeeded: it failed, or its runner died in the middle of it.
    if (made.created || task.workspace === null || task.unprepared) {
      const problem = await runHook(ports, 'afterCreate', { task: task.id, lease, cwd: made.path, signal });
      signal.throwIfAborted();
      if (problem) return { kind: 'workspace_failed', problem };
    }
    return { kind: 'workspace', path: made.path, baseSha: made.baseSha };
  } catch (problem) {
    if (problem instanceof FetchFailed)
      return { kind: 'workspace_failed', problem: withHint(problem), unfetched: true };
    if (problem instanceof WorkspaceRefused || problem instanceof UserError || problem instanceof GitFailed) {
      return { kind: 'workspace_failed', problem: problem.message };
    }
    throw problem;
  }
}

/** What the agent left behind is saved as far as it can be; the directory stays whatever happens. */
async function preserve(ports: Ports, task: Task): Promise<Outcome> {
  try {
    await ports.workspaces.checkpoint(workspaceKey(task), checkpointMessage(task));
  } catch (problem) {
    ports.log('warn', `could not checkpoint the preserved worktree: ${String(problem)}`, { task: task.id });
  }
  return { kind: 'preserved', path: required(task, 'workspace') };
}

async function refusable(ports: Ports, task: Task, attempt: () => Promise<Outcome>): Promise<Outcome> {
  try {
    return await attempt();
  } catch (problem) {
    if (!(problem instanceof WorkspaceRefused)) throw problem;
    return (await lostWorkspace(ports, task)) ?? { kind: 'refused', problem: problem.message };
  }
}
