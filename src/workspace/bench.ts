/** What the steps of a workspace's life share: the repository, where workspaces are, and how a kind lays one out. */
import { join } from 'node:path';
import type { Git } from '../git/git.ts';
import { type Site, safeName, workspacePath } from './paths.ts';
import type { Place } from './place.ts';
import type { Seed } from './seed.ts';
import type { WorkspaceSpec } from './workspace.ts';

export interface WorkspacesOptions {
  git: Git;
  root: string;
  repositoryKey: string;
  /** The commit trunk is at now. */
  trunk(): Promise<string>;
}

export interface Bench extends Site {
  git: Git;
  trunk(): Promise<string>;
  layout: Layout;
}

/** What differs between the kinds. */
export interface Layout {
  readonly kind: 'clone' | 'worktree';
  /** Makes a workspace at `start`. Seen from outside it is there complete, or not at all. */
  make(bench: Bench, spec: WorkspaceSpec, path: string, start: string): Promise<void>;
  /** Finds the git directory of a workspace; throws WorkspaceRefused unless everything is as we made it. */
  inspect(bench: Bench, path: string): Promise<Place>;
  /** Forgets a workspace whose directory is gone. */
  forget(bench: Bench, path: string): Promise<void>;
}

export function pathOf(bench: Bench, spec: Pick<WorkspaceSpec, 'task' | 'issue' | 'slug'>): string {
  return workspacePath(bench, spec);
}

export function seedOf(bench: Bench, task: string): Seed {
  return { folder: join(bench.git.gitDir, 'forge-loop'), name: safeName(task) };
}
