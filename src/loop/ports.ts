/** Everything the loop touches outside itself. Only `main.ts` (and the simulation) puts real things here. */
import type { Agent } from '../agent/agent.ts';
import type { PromptKind } from '../core/event.ts';
import type { Policy, Role } from '../core/policy.ts';
import type { PromptContext } from '../core/prompt-context.ts';
import type { Forge } from '../forge/forge.ts';
import type { Processes } from '../process/process.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import type { Store } from '../store/store.ts';
import type { Workspaces } from '../workspace/workspace.ts';

export interface Clock {
  /** Wall time in milliseconds. */
  now(): number;
  /** Never goes back; used for our own expiry. */
  monotonic(): number;
  /** The day around this time where the operator lives, and its name. */
  day(at: number): { startsAt: number; endsAt: number; name: string };
  /** Calls `wake` once after `ms`; the returned function takes it back. */
  after(ms: number, wake: () => void): () => void;
}

export interface SettingsSource {
  policy(): Policy;
  template(kind: PromptKind): string;
  /** Looks at the file again; a broken one keeps the last good. */
  check(): Promise<'same' | 'reloaded' | 'broken'>;
  problem(): string | null;
  readonly path: string;
}

/** Where the loop keeps what is not in the database. None of it is inside a workspace. */
export interface Places {
  home(task: string): string;
  session(task: string, sessionId: string): string;
  log(task: string, name: string): string;
}

export type Log = (
  level: 'debug' | 'info' | 'warn' | 'error',
  message: string,
  fields?: Record<string, unknown>,
) => void;

export interface Ports {
  store: Store;
  forge: Forge;
  workspaces: Workspaces;
  processes: Processes;
  sandbox: Sandbox;
  agentFor(role: Role): Agent;
  settings: SettingsSource;
  render(kind: PromptKind, template: string, context: PromptContext): string;
  places: Places;
  identity(): Promise<{ name: string; email: string }>;
  /**
   * The whole environment of a child that runs project code; its home is the task's unless another is named. `pass`
   * names variables of the runner's own that it is to have.
   */
  childEnvironment(task: string, home?: string, pass?: readonly string[]): Promise<Record<string, string>>;
  writeText(path: string, text: string): Promise<void>;
  clock: Clock;
  timing: Timing;
  random(): number;
  newId(): string;
  owner: string;
  isOwnerDead(owner: string): boolean;
  log: Log;
}

/** How often the loop looks after itself. */
export interface Timing {
  leaseTtlMs: number;
  renewMs: number;
  pulseMs: number;
}

export const TIMING: Timing = { leaseTtlMs: 300_000, renewMs: 60_000, pulseMs: 1000 };
