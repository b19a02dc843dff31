/**
 * Carries out one effect. Each is idempotent: performed again after a crash it finds what it did before. What can be
 * expected to go wrong is an outcome; what is thrown is repeated with backoff by the caller.
 */
import { type Effect, verifiesTrunk } from '../core/action.ts';
import { event } from '../core/event.ts';
import type { Outcome } from '../core/outcome.ts';
import { STATUS_MARKER } from '../core/status.ts';
import type { Task } from '../core/task.ts';
import {
  checkpointMessage,
  holderOf,
  mergeMessage,
  pullBody,
  pullTitle,
  statusComment,
  untestedText,
  withCost,
} from '../core/words.ts';
import { ForgeUnavailable, GitFailed, UserError, WorkspaceRefused } from '../errors.ts';
import type { Lease } from '../store/store.ts';
import { runHook } from './hook.ts';
import { inspect } from './inspect.ts';
import type { Ports } from './ports.ts';
import { workspaceSpec } from './spec.ts';

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

export async function perform(ports: Ports, task: Task, action: Effect, lease: Lease): Promise<Outcome> {
  const { forge, workspaces } = ports;
  const spec = workspaceSpec(task);
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
      const spend = await ports.store.spend(task.id);
      const text = statusComment(task, spend, ports.settings.policy());
      await forge.ensureComment(action.issue, STATUS_MARKER, text);
      return DONE;
    }
    case 'prepare_workspace':
      return prepare(ports, task, lease);
    case 'checkpoint':
      return refusable(async () => {
        const { head, baseSha, empty } = await workspaces.checkpoint(spec, checkpointMessage(task));
        return { kind: 'checkpoint', head, baseSha, empty };
      });
    case 'merge_in':
      return refusable(async () => ({
        kind: 'merged_in',
        ...(await workspaces.mergeTrunk(spec, action.sha)),
      }));
    case 'adopt_head': {
      const { exists } = await workspaces.probe(spec);
      if (exists) await workspaces.adopt(spec, action.sha);
      return DONE;
    }
    case 'push': {
      if ((await forge.push(task.branch, action.sha, action.expected)) === 'pushed') {
        const { head, gate } = task;
        const isVerified = head?.sha === action.sha && gate?.tree === head.tree && gate.outcome === 'pass';
        if (isVerified) await forge.showVerified?.(action.sha);
        return { kind: 'pushed' };
      }
      const theirs = await forge.branchHead(task.branch);
      if (!theirs) return { kind: 'pushed' };
      return { kind: 'moved', sha: theirs.sha };
    }
    case 'ensure_pull': {
      const { issue, branch } = task;
      const pull = await forge.ensurePull({
        issue,
        branch,
        title: pullTitle(task),
        body: await priced(pullBody(task)),
        marker: task.id,
      });
      return { kind: 'pull', pull: pull.number };
    }
    case 'inspect':
      return {
        kind: 'inspected',
        findings: await inspect(ports, task.contract, action.baseSha, action.headSha),
      };
    case 'build_candidate': {
      const policy = ports.settings.policy();
      const message = mergeMessage(task, policy);
      const built = await forge.buildCandidate({
        headSha: action.headSha,
        baseSha: task.baseSha!,
        method: policy.merge.method,
        message,
        task: task.id,
      });
      if (built.kind === 'clean') return { kind: 'candidate', candidate: built.candidate };
      if (built.kind === 'behind') return { kind: 'conflict', files: [], trunk: built.trunk };
      return built.kind === 'rewritten' ? { ...built, baseSha: task.baseSha! } : built;
    }
    case 'land': {
      const { pull, candidate } = action.permit;
      const landed = await forge.land(pull, candidate);
      if (landed.kind === 'trunk_moved') return { kind: 'trunk_moved' };
      if (landed.kind === 'dirty_checkout') return { kind: 'dirty_checkout', detail: landed.detail };
      if (landed.kind === 'queued')
        return { kind: 'merge_queued', tree: candidate.tree, detail: landed.detail };
      if (landed.kind === 'refused') return { kind: 'merge_refused', detail: landed.detail };
      if (landed.note) ports.log('warn', landed.note, { task: task.id });
      if (!(await forge.onTrunk(landed.sha)))
        throw new ForgeUnavailable(`${landed.sha} was reported as landed but is not on trunk`);
      if (!landed.untested) return { kind: 'landed', sha: landed.sha };
      const why = untestedText(landed.sha, candidate.tree);
      ports.log('warn', why, { task: task.id });
      return { kind: 'landed', sha: landed.sha, untested: { ...landed.untested, why } };
    }
    case 'hold_loop': {
      const { pausedBy } = await ports.store.loop();
      const { by } = action;
      if (pausedBy === null)
        await ports.store.updateLoop({ pausedBy: by }, [event('loop_paused', { by })], ports.clock.now());
      return DONE;
    }
    case 'release_loop': {
      const { pausedBy } = await ports.store.loop();
      if (pausedBy !== action.by) return DONE;
      const next = await stillUnverified(ports, task.id);
      const resumed = event('loop_resumed', { by: `forge-loop (${action.why})` });
      const paused = next === null ? [] : [event('loop_paused', { by: next })];
      await ports.store.updateLoop({ pausedBy: next }, [resumed, ...paused], ports.clock.now());
      return DONE;
    }
    case 'delete_branch':
      await forge.deleteBranch(task.branch);
      return DONE;
    case 'reap_workspace': {
      if (!task.workspace) return DONE;
      await runHook(ports, 'beforeRemove', {
        task: task.id,
        lease,
        cwd: task.workspace,
        signal: new AbortController().signal,
      });
      await workspaces.reap(spec);
      return { kind: 'reaped', path: task.workspace };
    }
    case 'preserve_workspace':
      return preserve(ports, task);
    default:
      throw new Error(`no way to perform ${action.kind}`);
  }
}

const DONE: Outcome = { kind: 'done' };

async function prepare(ports: Ports, task: Task, lease: Lease): Promise<Outcome> {
  try {
    const baseSha = task.baseSha ?? (await ports.forge.trunk()).sha;
    const made = await ports.workspaces.prepare(workspaceSpec(task, baseSha));
    // Until it was recorded as ready, the hook has not succeeded: it failed, or its runner died in the middle of it.
    if (made.created || task.workspace === null || task.unprepared) {
      const signal = new AbortController().signal;
      const problem = await runHook(ports, 'afterCreate', { task: task.id, lease, cwd: made.path, signal });
      if (problem) return { kind: 'workspace_failed', problem };
    }
    return { kind: 'workspace', path: made.path, baseSha: made.baseSha };
  } catch (problem) {
    if (problem instanceof WorkspaceRefused || problem instanceof UserError || problem instanceof GitFailed) {
      return { kind: 'workspace_failed', problem: problem.message };
    }
    throw problem;
  }
}

/** What the agent left behind is saved as far as it can be; the directory stays whatever happens. */
async function preserve(ports: Ports, task: Task): Promise<Outcome> {
  try {
    await ports.workspaces.checkpoint(workspaceSpec(task), checkpointMessage(task));
  } catch (problem) {
    ports.log('warn', `could not checkpoint the preserved worktree: ${String(problem)}`, { task: task.id });
  }
  return { kind: 'preserved', path: task.workspace! };
}

async function refusable(attempt: () => Promise<Outcome>): Promise<Outcome> {
  try {
    return await attempt();
  } catch (problem) {
    if (problem instanceof WorkspaceRefused) return { kind: 'refused', problem: problem.message };
    throw problem;
  }
}

/** Who holds the loop next: another merge that landed untested, for which the gate has yet to be run on trunk. */
async function stillUnverified({ store }: Ports, released: string): Promise<string | null> {
  for (const { task } of await store.tasks()) {
    if (!task.unverified || task.id === released) continue;
    const pending = await store.pendingActions(task.id);
    if (pending.some(({ action }) => verifiesTrunk(action))) return holderOf(task.unverified);
  }
  return null;
}
