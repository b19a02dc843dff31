/**
 * What an operation may touch: one repository and what belongs to it. Everything is opened when it is first asked for,
 * so that looking at a status loads no agent and reading never creates a file.
 */
import type { Agent } from './agent/agent.ts';
import type { Settings } from './config/load.ts';
import type { Check, Remark } from './core/remark.ts';
import type { ConfigError } from './errors.ts';
import type { Forge, Issue, Pull } from './forge/forge.ts';
import type { Git } from './git/git.ts';
import type { Places, Ports } from './loop/ports.ts';
import type { Runner } from './loop/runner.ts';
import type { Store } from './store/store.ts';

export interface Context {
  /** The top level of the operator's checkout. */
  readonly root: string;
  readonly git: Git;
  /** WORKFLOW.md, or the file given instead. */
  readonly configPath: string;
  readonly databasePath: string;
  readonly forgeDir: string;
  now(): number;
  /** The day around a time where the operator lives. */
  day(at: number): { startsAt: number; endsAt: number; name: string };
  isOwnerDead(owner: string): boolean;
  /** The name under which this person's requests are recorded. */
  operator(): Promise<string>;
  /** The settings in force; with a file that can't be used, the defaults and what is wrong. */
  settings(): Promise<{ settings: Settings; problem: ConfigError | null }>;
  /** Throws ConfigError when WORKFLOW.md is there but broken: its labels can't be guessed. */
  forge(): Promise<Forge & IssueDesk>;
  /** Of the embedded forge; a UserError where people have the forge's own pages. */
  pullDesk(): Promise<PullDesk>;
  /** Null when there is no database yet. Writes nothing. */
  reading(): Promise<Store | null>;
  writing(): Promise<Store>;
  /** Keeps `.forge/` out of git's sight. Idempotent. */
  excludeForge(): Promise<void>;
  places(): Promise<Places>;
  /** What needs no database: for looking at agents, workspaces and processes. */
  tools(): Promise<Tools>;
  ports(): Promise<Ports>;
  runner(): Promise<Runner>;
  /** Opens the endpoint for deliveries of the forge; null where none is configured. Throws when it can't listen. */
  webhook(): Promise<{ url: string; close(): Promise<void> } | null>;
  close(): Promise<void>;
}

export type Tools = Pick<Ports, 'workspaces' | 'processes' | 'sandbox' | 'identity' | 'render'> & {
  agent(kind: string): Agent;
  /** Every kind there is. */
  agents(): readonly Agent[];
  workspaceRoot: string;
  /** Removes an orphaned workspace; the caller knows that it holds nothing unsaved. */
  discard(path: string): Promise<void>;
};

/** What people do with issues, beyond what the loop does. */
export interface IssueDesk {
  newIssue(issue: {
    title: string;
    body: string;
    labels?: readonly string[];
    priority?: number | null;
    blockedBy?: readonly number[];
    ready?: boolean;
    by?: string;
  }): Promise<Issue>;
  markReady(number: number, by: string): Promise<Issue>;
  setState(number: number, state: 'open' | 'closed'): Promise<void>;
  addComment(number: number, by: string, text: string): Promise<void>;
  comments(number: number): Promise<{ by: string; at: string; text: string }[]>;
  listIssues(all: boolean): Promise<Issue[]>;
  approvePull(number: number, by: string): Promise<{ headSha: string }>;
  /** Makes the labels of the loop that do not exist yet, where labels have to exist; says which. */
  createLabels?(): Promise<string[]>;
}

/** What people and CI do with pull requests. */
export interface PullDesk {
  listPulls(all: boolean): Promise<(Pull & { title: string; body: string })[]>;
  /** Somebody's word on the head as it is now. */
  remark(
    pull: number,
    remark: Pick<Remark, 'verdict' | 'body' | 'file' | 'line'> & { by: string },
  ): Promise<{ headSha: string }>;
  reportCheck(
    pull: number,
    check: Pick<Check, 'name' | 'state' | 'job' | 'step' | 'link'> & { by: string; log: string | null },
  ): Promise<{ headSha: string }>;
}
