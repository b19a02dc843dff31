/** Failures of a boundary, and mistakes of input, that a caller tells apart. */

/** Something a person can put right: what happened, to which thing, and what to do next. */
export class UserError extends Error {
  override name = 'UserError';
  readonly hint: string | null;
  constructor(message: string, hint: string | null = null, options?: ErrorOptions) {
    super(message, options);
    this.hint = hint;
  }
}

/** Something of the repository is not here and could not be fetched: nobody's fault, and it may come by itself. */
export class FetchFailed extends UserError {
  override name = 'FetchFailed';
}

/** What was asked for can't be asked like that: nothing was looked at or done. */
export class UsageError extends UserError {
  override name = 'UsageError';
}

/** One thing that is wrong with WORKFLOW.md; a warning alone does not keep it from being used. */
export interface ConfigProblem {
  level: 'error' | 'warning';
  line: number;
  key: string | null;
  /** Without the place. */
  text: string;
  hint: string | null;
}

/** WORKFLOW.md can't be used as it stands: `line` and `key` say where the first problem is, `problems` has them all. */
export class ConfigError extends UserError {
  override name = 'ConfigError';
  readonly kind: 'missing' | 'yaml' | 'not_a_map' | 'invalid' | 'template';
  readonly file: string;
  readonly line: number | null;
  readonly key: string | null;
  problems: readonly ConfigProblem[] = [];
  constructor(
    kind: ConfigError['kind'],
    message: string,
    at: { file: string; line?: number | null; key?: string | null },
    hint: string | null = null,
    options?: ErrorOptions,
  ) {
    super(message, hint, options);
    this.kind = kind;
    this.file = at.file;
    this.line = at.line ?? null;
    this.key = at.key ?? null;
  }
}

export class VersionConflict extends Error {
  override name = 'VersionConflict';
}

/** The lease named by a write is not held any more: another runner owns the task. */
export class LeaseLost extends Error {
  override name = 'LeaseLost';
}

/** A commit would have exceeded a limit it named. Nothing was written. */
export class LimitReached extends Error {
  override name = 'LimitReached';
}

/** The database can't be read or written: full disk, read-only file, lock held too long. */
export class StoreUnavailable extends Error {
  override name = 'StoreUnavailable';
}

/** The forge did not answer, or asked us to wait until `retryAt`. */
export class ForgeUnavailable extends Error {
  override name = 'ForgeUnavailable';
  readonly retryAt: number | null;
  /** It answered, and only a person can change the answer: the token is not accepted, trunk is not there. */
  readonly isRefusal: boolean;
  /** What that person can do. */
  readonly hint: string | null;
  constructor(
    message: string,
    retryAt: number | null = null,
    options: ErrorOptions & { isRefusal?: boolean; hint?: string } = {},
  ) {
    super(message, options);
    this.retryAt = retryAt;
    this.isRefusal = options.isRefusal ?? false;
    this.hint = options.hint ?? null;
  }
}

export class GitFailed extends Error {
  override name = 'GitFailed';
  readonly args: readonly string[];
  readonly exitCode: number | null;
  readonly stderr: string;
  constructor(args: readonly string[], exitCode: number | null, stderr: string) {
    super(`git ${args.join(' ')} failed (${exitCode ?? 'signal'}): ${stderr.trim().slice(0, 2000)}`);
    this.args = args;
    this.exitCode = exitCode;
    this.stderr = stderr;
  }
}

/** The operator asks for signed commits, and one could not be signed. */
export class SigningFailed extends Error {
  override name = 'SigningFailed';
}

/** A workspace is not the one we made, or holds something we refuse to touch. */
export class WorkspaceRefused extends Error {
  override name = 'WorkspaceRefused';
}

/** What an agent left is no plain file of a size that can be read: what it would tell is not known. */
export class StrangeFile extends Error {
  override name = 'StrangeFile';
}

/** A command could not be confined as it has to be; it was not started. */
export class SandboxFailed extends Error {
  override name = 'SandboxFailed';
}

/** Without its code and the file, which the reader knows: `no such file or directory`. */
export const whyUnreadable = ({ message }: Error): string =>
  /^E[A-Z]+: (.+?)(?:, \w+(?: '.*')?)?$/.exec(message)?.[1] ?? message;

/** The disk is full, or can't be written to: no fault of what was being written. */
export function isDiskFault(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (['ENOSPC', 'EDQUOT', 'EROFS'].includes((error as NodeJS.ErrnoException).code ?? '')) return true;
  if (error instanceof GitFailed)
    return /No space left|Disk quota exceeded|Read-only file system/.test(error.stderr);
  return isDiskFault(error.cause);
}

/** What happened and what to do about it, where there is one line for both. */
export const withHint = ({ message, hint }: { message: string; hint: string | null }): string =>
  hint === null ? message : `${message} ${hint}`;

/** The collector can't take these spans, whenever they come: they are not what it reads, or too many. */
export class SpansRefused extends Error {}
