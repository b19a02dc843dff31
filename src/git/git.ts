/**
 * The one way the loop runs git on the host.
 *
 * Hooks path empty, fsmonitor off, configured filters blanked, submodules ignored, no prompts, no pager, no inherited
 * GIT_* variables; the repository is always named explicitly and is never a directory an agent can write to.
 */
export interface GitOptions {
  /** Extra environment: GIT_INDEX_FILE, GIT_WORK_TREE, GIT_ALTERNATE_OBJECT_DIRECTORIES, identities. */
  env?: Record<string, string>;
  input?: string | Buffer;
  /** Exit codes besides 0 that are answers, not failures. */
  allow?: readonly number[];
  cwd?: string;
}

export interface GitResult {
  stdout: string;
  stderr: string;
  exitCode: number;
}

export interface Git {
  readonly gitDir: string;
  /** The operator's checkout; null for a bare repository. */
  readonly worktree: string | null;
  (args: readonly string[], options?: GitOptions): Promise<GitResult>;
}
