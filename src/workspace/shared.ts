/** What the steps of a workspace's life share: the repository, where workspaces are, and how a kind lays one out. */
import { join } from 'node:path';
import type { Git } from '../git/git.ts';
import type { KeptIndex } from './kept-index.ts';
import { type Site, safeName, workspacePath } from './paths.ts';
import type { Place } from './place.ts';
import type { WorkspaceKey } from './workspace.ts';

export interface WorkspacesOptions {
  git: Git;
  root: string;
  repositoryKey: string;
  /** The git directories the repository was in before: workspaces made then point there. */
  former: readonly string[];
  trunk(): Promise<Trunk>;
}

/** The branch, and the commit it is at now. */
export interface Trunk {
  branch: string;
  sha: string;
}

export interface Shared extends Site {
  git: Git;
  former: readonly string[];
  trunk(): Promise<Trunk>;
  layout: Layout;
}

/** What differs between the kinds. */
export interface Layout {
  readonly kind: 'clone' | 'worktree';
  /** Makes a workspace at `start`. Seen from outside it is there complete, or not at all. */
  make(shared: Shared, spec: WorkspaceKey, path: string, start: string): Promise<void>;
  /** Finds the git directory of a workspace; throws WorkspaceRefused unless everything is as we made it. */
  inspect(shared: Shared, path: string): Promise<Place>;
  /** Forgets a workspace whose directory is gone. */
  forget(shared: Shared, path: string): Promise<void>;
}

export function pathOf(shared: Shared, spec: Pick<WorkspaceKey, 'task' | 'issue' | 'slug'>): string {
  return workspacePath(shared, spec);
}

export function keptIndexOf(shared: Shared, task: string): KeptIndex {
  return { folder: indexFolder(shared), name: safeName(task) };
}

/** Where nobody but the host writes. */
export function indexFolder(shared: Shared): string {
  return join(shared.git.gitDir, 'forge-loop');
}
