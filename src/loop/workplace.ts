/**
 * Where a turn is taken. A role that works has the task's workspace, with the operator's hooks around the turn. A role
 * that only reads has a throwaway copy of the head, and what it had to leave alone is compared afterwards.
 */
import { z } from 'zod';
import type { Role, RoleRow } from '../core/role.ts';
import { required, type Task } from '../core/task.ts';
import type { Lease } from '../store/store.ts';
import { runHook } from './hook.ts';
import { placedFiles } from './placed-files.ts';
import type { Ports } from './ports.ts';
import { changedSince, surroundings } from './untouched.ts';
import { workspaceKey } from './workspace-key.ts';

interface Workplace {
  path: string;
  /** What it will be compared with, in writing: whoever takes over leaves it with this, or with what was noted since. */
  found: string;
  /** What keeps the turn from being taken here; null when nothing does. */
  enter(): Promise<string | null>;
  /** When the agent is done: what it changed of what it had to leave alone. Of no interest unless it finished. */
  leave(finished: boolean): Promise<string[]>;
  dispose(): Promise<void>;
}

interface Visit {
  role: Role;
  lease: Lease;
  signal: AbortSignal;
  /** Where its session has worked before, if it goes on with one: a copy is made there again, once that place is free. */
  near: string | null;
  /** Takes the place of `found`. */
  note(text: string): Promise<void>;
}

export const openWorkplace: Record<
  RoleRow['place'],
  (ports: Ports, task: Task, visit: Visit) => Promise<Workplace>
> = { workspace: openWorkspace, copy: openCopy };

async function openWorkspace(ports: Ports, task: Task, visit: Visit): Promise<Workplace> {
  const path = required(task, 'workspace');
  const { lease, signal } = visit;
  return {
    path,
    found: '',
    enter: async () => {
      const key = workspaceKey(task);
      await ports.workspaces.verify(key);
      // The settings may name others than when it was prepared, or their sources may have changed.
      if (task.plan) await ports.workspaces.place(key, await placedFiles(ports));
      return runHook(ports, 'beforeRun', { task: task.id, lease, cwd: path, signal });
    },
    leave: () => leaveWorkspace(ports, task, visit),
    dispose: async () => {},
  };
}

const HOOK_BEGUN = 'after_run has begun';

/** A hook is a run: it is started at most once, whoever dies in it. */
async function leaveWorkspace(
  ports: Ports,
  task: Task,
  { lease, note }: Pick<Visit, 'lease' | 'note'>,
): Promise<string[]> {
  await note(HOOK_BEGUN);
  const { signal } = new AbortController();
  await runHook(ports, 'afterRun', { task: task.id, lease, cwd: required(task, 'workspace'), signal });
  return [];
}

async function openCopy(ports: Ports, task: Task, { role, near, signal }: Visit): Promise<Workplace> {
  const trunk = await ports.forge.trunk();
  // The specifier comes before all work: there is no head yet, and it reads what the work will start from.
  const commit = task.headSha ?? trunk.sha;
  const look = () => surroundings(ports, task, role, trunk.branch);
  let before = await look();
  // What a gate or an earlier critic left lying about is put away: what is there afterwards, this one wrote.
  if (before.dirty) {
    await ports.workspaces.adopt(workspaceKey(task), commit);
    before = await look();
  }
  const { path, dispose } = await ports.workspaces.export(commit, `${role}-${task.id}`, near, signal);
  return {
    path,
    found: JSON.stringify([...before.standing]),
    dispose,
    enter: async () => null,
    leave: async (finished) => (finished ? changedSince(before.standing, (await look()).standing) : []),
  };
}

interface Left extends Pick<Visit, 'role' | 'lease' | 'note'> {
  finished: boolean;
  /** What the one who entered it found; null when that is not known. */
  found: string | null;
}

/** Leaves a place in the stead of a runner that died; the copy it had made is gone by itself. */
export const leaveInstead: Record<
  RoleRow['place'],
  (ports: Ports, task: Task, left: Left) => Promise<string[]>
> = {
  workspace: async (ports, task, left) =>
    left.found === HOOK_BEGUN ? [] : leaveWorkspace(ports, task, left),
  copy: async (ports, task, { role, finished, found }) => {
    if (!finished) return [];
    if (found === null) return ['something unknown'];
    const before = new Map(z.array(z.tuple([z.string(), z.string()])).parse(JSON.parse(found)));
    const trunk = await ports.forge.trunk();
    return changedSince(before, (await surroundings(ports, task, role, trunk.branch)).standing);
  },
};
