/**
 * Children of the loop: born held, found again, stopped for good.
 *
 * A child waits on a pipe until `onHeld` has resolved (its record is durable) and exits if the pipe closes first. It
 * leads its own process group. `FORGE_MARK` in its environment is the second net for descendants that left the group.
 */
import type { Child } from '../store/store.ts';

export interface LaunchRequest {
  /** argv; never a string that a shell of ours would parse. */
  argv: readonly string[];
  cwd: string;
  /** The whole environment: built, never inherited. */
  env: Record<string, string>;
  stdin: string;
  /** Where stdout and stderr go, appended as they come; the tail is kept in memory. */
  logPath: string;
  timeoutMs: number | null;
  signal: AbortSignal;
  /** Committed before the child is let go; when it rejects, the child never runs. */
  onHeld(child: { pid: number; startTime: string; bootId: string }): Promise<void>;
  onOutput?(): void;
  /**
   * Where its exit is written when it has come to one by itself: `{"code":0}`, durable and whole, also when no runner
   * lives by then. A signal counts as 128 and its number.
   */
  exitPath?: string;
  /** With `exitPath`: its runner dies, and so does it. Its exit is only written where it had come to one by then. */
  endsWithRunner?: boolean;
}

export interface LaunchResult {
  code: number | null;
  signal: string | null;
  timedOut: boolean;
  cancelled: boolean;
  spawnError: string | null;
  /** The last 16 KiB of both streams, in order of arrival. */
  tail: string;
  durationMs: number;
}

export interface Processes {
  /** Never throws. Resolves when the child and its whole group are gone. */
  launch(request: LaunchRequest): Promise<LaunchResult>;
  isAlive(record: Child): Promise<boolean>;
  /** Terminates, then kills: the group of each record that is still that process, and every process carrying the task's mark. Returns the pids it stopped. */
  stop(task: string, records: readonly Child[]): Promise<number[]>;
  /** The tasks whose mark somebody alive carries, all found in one look; nobody where marks can't be read. */
  marked(): Promise<ReadonlySet<string>>;
}

/** The environment variable that marks everything started for a task. */
export const MARK = 'FORGE_MARK';

/** Marks what one launch started: a runner that lost its task must not take its successor's children for its own. */
export const LAUNCH = 'FORGE_LAUNCH';
