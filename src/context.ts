/**
 * What an operation may touch: one repository and what belongs to it. Everything is opened when it is first asked for,
 * so that looking at a status loads no agent and reading never creates a file.
 */
import type { Agent, TurnRequest } from './agent/agent.ts';
import type { ReadFrontier } from './config/frontier.ts';
import type { Settings } from './config/load.ts';
import type { Redaction } from './core/access/redact.ts';
import type { BootClock } from './core/lease.ts';
import type { ConfigError } from './errors.ts';
import type { IssueDesk, PullDesk } from './forge/desk.ts';
import type { Forge } from './forge/forge.ts';
import type { Git } from './git/git.ts';
import type { Places, Ports } from './loop/ports.ts';
import type { Runner } from './loop/runner.ts';
import type { Child, Store } from './store/store.ts';
import type { OpenedTelemetry } from './telemetry/telemetry.ts';

/** The HTTP API while it listens. */
export interface Serving {
  readonly url: string;
  /** The same, logged in: only for the operator's eyes. */
  readonly link: string;
  /** Where GitHub's deliveries are taken. */
  readonly webhook: string | null;
  close(): Promise<void>;
}

/** A person at the terminal of this process. */
interface AtTerminal {
  note(text: string): void;
  /** They closed it, or want this to end. */
  gone: AbortSignal;
  close(): void;
}

export interface Context {
  /** The top level of the operator's checkout. */
  readonly root: string;
  readonly git: Git;
  /** WORKFLOW.md, or the file given instead. */
  readonly configPath: string;
  readonly databasePath: string;
  readonly forgeDir: string;
  now(): number;
  /** Strikes out what is known to be secret here, and what looks like it. */
  readonly redact: Redaction;
  /** The day around a time where the operator lives. */
  day(at: number): { startsAt: number; endsAt: number; name: string };
  /** Runs since this machine started; nobody sets it. */
  readonly bootClock: BootClock;
  isOwnerDead(owner: string): boolean;
  /** When a recorded child was started; null where nobody can tell any more. */
  startOf(child: Child): number | null;
  /** The name under which this person's requests are recorded. */
  operator(): Promise<string>;
  /** Throws where an agent gave this command in its turn, which hears of it: nobody starts or steers a loop inside a loop. */
  refuseInTurn(command: string): Promise<void>;
  /** The settings in force; with a file that can't be used, the defaults and what is wrong. */
  settings(): Promise<{ settings: Settings; problem: ConfigError | null }>;
  /** The stated direction, and what of its file can't be used. */
  frontier(): Promise<ReadFrontier>;
  /** Throws ConfigError when WORKFLOW.md is there but broken: its labels can't be guessed. */
  forge(): Promise<Forge & IssueDesk>;
  /** Of the embedded forge; a UserError where people have the forge's own pages. */
  pullDesk(): Promise<PullDesk>;
  /** Null when there is no database yet. Writes nothing. */
  reading(): Promise<Store | null>;
  writing(): Promise<Store>;
  /** Also says which events were written in the course of `work`, by their numbers. */
  withWritten<T>(work: () => Promise<T>): Promise<{ result: T; written: number[] }>;
  /** When this is a copy of a repository and its database has open tasks of that one's. Nothing works on those here. */
  original(): Promise<Original | null>;
  /** The database as a file. */
  readonly database: {
    backUp(to: string): Promise<Backup>;
    /** Null starts anew. Refused while anybody has it open to write. */
    restore(from: string | null): Promise<Restored>;
  };
  /** Keeps `.forge/` out of git's sight. Idempotent. */
  excludeForge(): Promise<void>;
  places(): Promise<Places>;
  /** What needs no database: for looking at agents, workspaces and processes. */
  tools(): Promise<Tools>;
  ports(): Promise<Ports>;
  runner(): Promise<Runner>;
  /** Where spans and figures are sent, as the standard variables say. */
  telemetry(): Promise<OpenedTelemetry>;
  /** Opens the endpoint for deliveries of the forge; null where none is configured. Throws when it can't listen. */
  webhook(): Promise<{ url: string; close(): Promise<void> } | null>;
  /** Opens the HTTP API on this port, or on `server.port`; null where neither is given. Throws when it can't listen. */
  server(port: number | null): Promise<Serving | null>;
  /** The same repository under the settings of another file. Whoever asks closes it. */
  under(configPath: string): Promise<Context>;
  /** Is a program of this name on the operator's PATH? */
  isInstalled(program: string): Promise<boolean>;
  /** A short question to one of them, in the checkout. */
  askProgram(argv: readonly string[]): Promise<{ code: number | null; output: string }>;
  /** How this program is started by another, wherever that is. */
  ownCommand(): Promise<string[]>;
  /** Where the operator's programs keep their settings. */
  readonly configHome: string;
  /** Who types here, as long as they are needed; null where nobody does. */
  atTerminal(): Promise<AtTerminal | null>;
  /** Is this a command that an agent gave in its turn? */
  isInTurn(): Promise<boolean>;
  close(): Promise<void>;
}

type TurnPlace = Pick<TurnRequest, 'role' | 'task' | 'cwd' | 'home' | 'sessionDir' | 'access'>;

export type Tools = Pick<
  Ports,
  | 'workspaces'
  | 'processes'
  | 'sandbox'
  | 'gateway'
  | 'channels'
  | 'identity'
  | 'render'
  | 'prepareHome'
  | 'childEnvironment'
> & {
  agent(kind: string): Agent;
  /** Every kind there is. */
  agents(): readonly Agent[];
  /** What a turn of any agent adds to the environment of its program, with the files that it names until it is closed. */
  openTurnEnvironment(
    turn: TurnPlace,
    env: Record<string, string>,
  ): { env: Record<string, string>; close(): void };
  workspaceRoot: string;
  /** Removes an orphaned workspace; the caller knows that it holds nothing unsaved. */
  discard(path: string): Promise<void>;
};

export interface Original {
  gitDir: string;
  /** How many tasks are open. */
  tasks: number;
}

export interface Backup {
  path: string;
  /** The last event in it. */
  events: number;
  bytes: number;
}

export interface Restored {
  path: string;
  /** The last event in it. */
  events: number;
  /** Where the database that it replaced is now. */
  aside: string | null;
}
