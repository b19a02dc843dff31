/**
 * A task's own work tree and branch.
 *
 * Nothing here runs code of the agent on the host: git is only ever run on the host's repository, with hooks, filters
 * and fsmonitor off, never inside a directory the agent can write its configuration to.
 */
import type { Checkpoint } from '../core/event.ts';

export interface WorkspaceKey {
  task: string;
  issue: number | null;
  slug: string;
  branch: string;
  /** The commit the branch starts from when it does not exist yet. */
  baseSha: string;
}

/** A file or a folder of the operator's, and where a copy of it lies in the workspace. */
export interface PlacedFile {
  path: string;
  from: string;
}

export interface PreparedWorkspace {
  path: string;
  baseSha: string;
  created: boolean;
}

export interface CheckpointResult {
  head: Checkpoint;
  /** The merge base with trunk that the work is measured against. */
  baseSha: string;
  /** False when the head's tree equals its base's tree. */
  empty: boolean;
}

export interface Sealed {
  head: Checkpoint;
  /** Null when nothing was done since. */
  commit: string | null;
}

export interface MergedIn {
  conflicts: string[];
  /** The commits that came in, newest first, one line each; only the newest few of many. */
  landed: string[];
}

/** What recovery can see of a workspace without changing it. */
export interface WorkspaceProbe {
  exists: boolean;
  /** Still the directory we made: on its branch, its git directory in place. */
  intact: boolean;
  dirty: boolean;
  problem: string | null;
  /** Of a missing one: the commit of its branch that it is made anew from; null when the repository has none. */
  saved?: string | null;
}

/** What has to be run in a tree before its commands. */
export interface Setup {
  commands: readonly string[];
  /** Of what they get of the operator's environment. */
  env: string;
}

export interface Stage {
  path: string;
  home: string;
  /** What its setup is known by; null when nothing of it is kept. */
  key: string | null;
  /** What setup makes is there. */
  ready: boolean;
  /** Keeps what setup has made here; null, or why not. Only for commits of trunk: others could plant anything. */
  keep(): Promise<string | null>;
  dispose(): Promise<void>;
}

export interface Workspaces {
  readonly kind: 'clone' | 'worktree';
  path(spec: Pick<WorkspaceKey, 'task' | 'issue' | 'slug'>): string;
  /** Idempotent: makes it, or repairs a half-made one; never deletes what holds commits or unsaved work. */
  prepare(spec: WorkspaceKey): Promise<PreparedWorkspace>;
  /**
   * Puts these files there, and takes away what was put there before and is not among them. They are never part of a
   * checkpoint. Throws WorkspaceRefused where git tracks one, or a path leaves the workspace.
   */
  place(spec: WorkspaceKey, files: readonly PlacedFile[]): Promise<void>;
  /** Throws WorkspaceRefused when the directory is not the one we made. */
  verify(spec: WorkspaceKey): Promise<void>;
  /**
   * Commits what was left uncommitted, brings the branch into the repository (compare-and-swap), and leaves the
   * workspace clean at the new head. Idempotent. Throws WorkspaceRefused for nested repositories, a replaced git
   * directory, or history that no longer contains what was checkpointed before.
   */
  checkpoint(spec: WorkspaceKey, message: string): Promise<CheckpointResult>;
  /** Moves the workspace to a head that a person pushed to its branch. */
  adopt(spec: WorkspaceKey, sha: string): Promise<Checkpoint>;
  /** Brings what was done since `from` into one commit with this message. Idempotent; the work tree stays as it is. */
  seal(spec: WorkspaceKey, from: string, message: string): Promise<Sealed>;
  /** Starts a merge of trunk so that the agent can resolve it; conflict markers are left in the work tree. */
  mergeTrunk(spec: WorkspaceKey, trunkSha: string): Promise<MergedIn>;
  probe(spec: WorkspaceKey): Promise<WorkspaceProbe>;
  /** Where the refs of the repository stand, less those of other tasks and of remotes. */
  refs(spec: WorkspaceKey): Promise<ReadonlyMap<string, string>>;
  /** Drops what the repository keeps of it beside its branch; false when there was nothing. A workspace stays usable. */
  forget(spec: WorkspaceKey): Promise<boolean>;
  /**
   * Removes it; pending changes are checkpointed first. Idempotent. Its commits stay in the repository until `dropReplay`. With
   * `keepsFormer`, what its branch does not contain any more can also be found by name, until `forget`.
   */
  reap(spec: WorkspaceKey, how?: { keepsFormer: boolean }): Promise<void>;
  /** Lets git remove the commits of a task that was reaped. Idempotent. */
  dropReplay(task: string): Promise<void>;
  /**
   * A tree of exactly one commit, to read and to run commands in: a repository of its own with that commit as its HEAD,
   * its history, the operator's tags, and trunk as a branch and as `origin`'s. Nothing done in it reaches the operator's
   * repository, and nothing of it is seen by who comes next. It is at the path `near` if one can be had
   * there, now or, with a `signal`, within a minute.
   */
  export(
    commit: string,
    purpose: string,
    near?: string | null,
    signal?: AbortSignal,
  ): Promise<{ path: string; dispose(): Promise<void> }>;
  /**
   * Such a tree for commands whose result counts: with a home of its own, in which nothing is. With a
   * setup, what was kept of an equal one is in it already.
   */
  stage(commit: string, purpose: string, setup?: Setup): Promise<Stage>;
  /** The same for two commits on which this setup makes the same; null when that can't be told. */
  setupKey(commit: string, setup: Setup): Promise<string | null>;
  /** Removes throwaway trees whose runner is gone, and says which; with `preview` it only looks. */
  removeAbandonedTrees(preview?: boolean): Promise<string[]>;
  /** Directories under the root of this repository that belong to none of these tasks. */
  orphans(tasks: readonly string[]): Promise<{ path: string; unsaved: boolean }[]>;
}
