/** Everything the loop touches outside itself. Only `main.ts` (and the simulation) puts real things here. */
import type { Agent } from '../agent/agent.ts';
import type { Redaction } from '../core/access/redact.ts';
import type { ChildPolicy } from '../core/access/toolchains.ts';
import type { TestReport } from '../core/change/test-report.ts';
import type { Frontier } from '../core/direction/frontier.ts';
import type { PromptKind } from '../core/event.ts';
import type { Part } from '../core/keep.ts';
import type { BootClock } from '../core/lease.ts';
import type { Policy } from '../core/policy.ts';
import type { Role } from '../core/role.ts';
import type { PromptContext } from '../core/words/prompt-context.ts';
import type { Forge } from '../forge/forge.ts';
import type { Gateway } from '../gateway/gateway.ts';
import type { Repository } from '../git/repository.ts';
import type { Channels } from '../notify/notify.ts';
import type { Processes } from '../process/process.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import type { Store } from '../store/store.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
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
  /** Looks at the file again; one that is broken, or that a start would refuse, keeps the last good. */
  check(): Promise<'same' | 'reloaded' | 'broken'>;
  problem(): string | null;
  readonly path: string;
}

/** Where the loop keeps what is not in the database. None of it is inside a workspace. */
export interface Places {
  /** Each role of a task has its own: what one leaves there, no other is led by. Gate and hooks share one. */
  home(task: string, user: Role | 'commands'): string;
  session(task: string, sessionId: string): string;
  log(task: string, name: string): string;
  /** Homes and sessions, or logs. Follows no link. Answers whether there was anything; with `preview` it only looks. */
  remove(task: string, part: Part, preview?: boolean): Promise<boolean>;
  /** Logs of no task that were last written before this time. Answers which; with `preview` it only looks. */
  removeLogs(of: string, before: number, preview?: boolean): Promise<string[]>;
}

export type Log = (
  level: 'debug' | 'info' | 'warn' | 'error',
  message: string,
  fields?: Record<string, unknown>,
) => void;

export interface Ports {
  store: Store;
  forge: Forge;
  repository: Repository;
  workspaces: Workspaces;
  processes: Processes;
  sandbox: Sandbox;
  gateway: Gateway;
  channels: Channels;
  /** The stated direction as it is now; what is wrong with its file is told once. */
  frontier(): Promise<Frontier>;
  /** Null where nobody asked for it. */
  telemetry: Telemetry | null;
  agentFor(role: Role): Agent;
  settings: SettingsSource;
  render(kind: PromptKind, template: string, context: PromptContext): string;
  places: Places;
  identity(): Promise<{ name: string; email: string }>;
  /**
   * Makes a private home, and offers in it what the operator's has. Idempotent, and cheap when it is there. Answers with
   * the folders of the operator's that it leads to.
   */
  prepareHome(home: string, child: ChildPolicy): Promise<string[]>;
  /** The whole environment of a child that runs project code. `pass` names variables of the runner's own that it gets on top. */
  childEnvironment(
    child: ChildPolicy,
    of: { task: string; home: string; pass?: readonly string[] },
  ): Promise<Record<string, string>>;
  /** Begun before a command; the answer, after it, is what it reports of its tests, or null. */
  watchTestReports(of: {
    tree: string;
    logPath: string;
    patterns: readonly string[];
  }): Promise<() => Promise<TestReport | null>>;
  writeText(path: string, text: string): Promise<void>;
  appendText(path: string, text: string): Promise<void>;
  /** Null when there is none. */
  readText(path: string): Promise<string | null>;
  /** When anything of these files, or below these folders, was last written; null when there is none. */
  lastWrite(paths: readonly string[]): Promise<number | null>;
  clock: Clock;
  /** By which the leases of this boot are judged: nobody sets it. */
  bootClock: BootClock;
  timing: Timing;
  random(): number;
  newId(): string;
  /** What people call the repository. */
  project: string;
  /** `tracker.trunk` as it was when the forge was opened. */
  configuredTrunk: string | null;
  owner: string;
  isOwnerDead(owner: string): boolean;
  log: Log;
  /** For what is written past the store, and to know again what the store has written. */
  redact: Redaction;
}

/** How often the loop looks after itself. */
interface Timing {
  leaseTtlMs: number;
  renewMs: number;
  pulseMs: number;
}

export const TIMING: Timing = { leaseTtlMs: 300_000, renewMs: 60_000, pulseMs: 1000 };
