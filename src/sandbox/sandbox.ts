/** Confinement of a command to what it may touch. */
import type { Policy } from '../core/policy.ts';
import type { Access, SandboxKind } from '../core/role.ts';

export interface Command {
  argv: readonly string[];
  /** The whole environment: built, never inherited. */
  env: Record<string, string>;
  cwd: string;
}

export interface Confined {
  argv: readonly string[];
  env: Record<string, string>;
  /** Where it is started: what starts it is not confined itself, and must find nothing there. */
  cwd: string;
  /** Asked when it has ended: why the command was never run; null when it was, or was stopped. */
  problem(end: { code: number | null }): string | null;
  dispose(): Promise<void>;
}

export interface SandboxOptions {
  /** Where it keeps its own files; nothing confined can write there. */
  folder: string;
  /** Where the objects are that clones borrow. */
  objects(): string[];
  /** Shown to nobody as part of a toolchain: the operator's home, the repository, what the loop keeps. */
  hidden: readonly string[];
  /** Ours: what confined programs are started with. */
  programs: readonly string[];
  /** What any role may write to besides its own places, by the settings in force. */
  writable(): readonly string[];
  /** What keeps anything from being confined, whatever the machine can do. */
  never: string | null;
  /** Of one command and all it starts; three quarters of the machine's unless it is said. */
  memoryBytes?: number;
  /** The same, threads too, where they can be counted. */
  processes?: number;
}

/** `isSure`: this machine can't; else something came in between, and it may well. */
export interface Unavailable {
  why: string;
  isSure: boolean;
}

/** What nothing keeps a command from using up, and why. */
export interface Unlimited {
  what: 'memory and processes' | 'processes';
  why: string;
}

/**
 * `why`: what keeps a better one, or the one that was asked for, from working here, and what would mend that. `unlimited`: what
 * of the machine a command may use up; null when nothing is.
 */
type Choice =
  | { kind: SandboxKind; why: string | null; unlimited: Unlimited | null }
  | { kind: null; why: string };

type Wanted = Pick<Policy['sandbox'], 'kind' | 'image'>;

export interface Sandbox {
  choose(wanted: Wanted): Promise<Choice>;
  /** By what the access names. Rejects with `SandboxFailed` when it can't be confined; nothing was started then. */
  confine(command: Command, access: Access): Promise<Confined>;
  /** Ends what a runner that is gone left confined of a task. Rejects when it can't. */
  clear(task: string): Promise<void>;
}
