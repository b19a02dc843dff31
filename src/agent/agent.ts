/**
 * A coding agent: one prompt in, one terminal result out.
 *
 * `run` must not throw and must resolve exactly once. It starts nothing before `onHeld` has resolved. Usage is
 * reported as deltas with stable keys, as it becomes known. When `signal` fires, everything it started is gone before
 * `run` resolves.
 */

import type { CoderSummary } from '../core/event.ts';
import type { Room } from '../core/money/budget.ts';
import type { TwoAccounts } from '../core/money/two-accounts.ts';
import type { AgentPolicy, CredentialKind } from '../core/policy.ts';
import type { Access, Role } from '../core/role.ts';
import type { Progress } from '../core/tell/progress.ts';
import type { ToolAnswer, TurnTool } from '../core/words/turn-tools.ts';
import { SandboxFailed } from '../errors.ts';
import type { NetworkRequest } from '../gateway/gateway.ts';

export interface Usage {
  input: number;
  output: number;
  cacheRead: number;
  cacheWrite: number;
  reasoning: number;
}

export interface UsageReport extends Usage {
  key: string;
  model: string;
  costUsd: number | null;
}

export interface TurnRequest {
  task: string;
  issue?: number | null;
  role: Role;
  number: number;
  cwd: string;
  prompt: string;
  sessionId: string;
  /** Where the session's data lives; the same directory when the session is resumed. Outside every workspace. */
  sessionDir: string;
  resume: boolean;
  policy: AgentPolicy;
  access: Access;
  /** Identity for commits the agent makes itself. */
  identity: { name: string; email: string };
  /** A private home for this role of this task. */
  home: string;
  logPath: string;
  mark: string;
  /**
   * What trunk says about working here (AGENTS.md, CLAUDE.md). Agents load no such file, and no settings, from the
   * workspace: the branch could change them for whoever works on it.
   */
  conventions?: string;
  /** A skill of the operator's, of agents that have a place for one: see skills.ts. */
  skill?: { name: string; folder: string };
  /** The JSON Schema of the answer that is wanted; agents that can't be given one have it in words in the prompt. */
  outputSchema?: Record<string, unknown>;
}

export type FailureCode =
  | 'exit_nonzero'
  | 'could_not_start'
  /** It could not be confined, and was not started. */
  | 'sandbox_failed'
  /** Its program was started, and does not answer. */
  | 'unanswered'
  | 'crashed'
  | 'invalid_result'
  | 'rate_limit'
  | 'overload'
  | 'usage_limit'
  | 'auth'
  /** The account can't pay: no credit, or a limit of spending is reached. */
  | 'billing'
  /** No task could be asked with these settings. */
  | 'setting_refused'
  | 'network'
  | 'session_lost'
  /** The conversation no longer fits into the model's window. */
  | 'context_overflow'
  /** The provider will not take this conversation as it is; sending it again would not help. */
  | 'invalid_request'
  | 'model_unavailable'
  | 'refusal'
  /** The gateway passed no further call on: a budget is spent. */
  | 'out_of_budget'
  /** Nor here, since nobody knows whether it is: by what its calls may have cost, it is. */
  | 'spend_unknown';

export interface Failure {
  code: FailureCode;
  message: string;
  /** When the provider said to come again. */
  retryAt: number | null;
}

export type TurnResult =
  /** `summary`: what a coder says of its work, of agents that are given no tools. */
  | { status: 'finished'; text: string; structured: unknown; usageKnown: boolean; summary?: CoderSummary }
  | ({ status: 'failed'; usageKnown: boolean } & Failure)
  | { status: 'timed_out'; message: string; usageKnown: boolean }
  | { status: 'cancelled'; usageKnown: boolean };

/** Unless somebody told what it used, that is not known. */
export const failed = (
  code: FailureCode,
  message: string,
  usageKnown = false,
): Extract<TurnResult, { status: 'failed' }> => ({
  status: 'failed',
  code,
  message,
  retryAt: null,
  usageKnown,
});

/** Of whatever kept its program from being started. */
export const notStarted = (error: unknown): Extract<TurnResult, { status: 'failed' }> =>
  failed(error instanceof SandboxFailed ? 'sandbox_failed' : 'could_not_start', (error as Error).message);

export type { Progress };

/** What the agent may ask its host in the middle of a turn; an agent that can't be given tools leaves them out. */
export interface TurnTools {
  readonly list: readonly TurnTool[];
  /** Never rejects and never waits for a person. The host counts the calls, and notes them. */
  call(name: string, input: unknown): Promise<ToolAnswer>;
}

export interface TurnHooks {
  signal: AbortSignal;
  onHeld(child: { pid: number; startTime: string; bootId: string }): Promise<void>;
  onUsage(report: UsageReport): void;
  /** Something came from the agent: output, a tool call. Resets the stall clock. */
  onProgress(progress?: Progress): void;
  /** Of roles that have some. */
  tools?: TurnTools;
  /** How much may still be spent, as the ledger has it; without it there is no limit. */
  room?(): Promise<Room>;
  /** Of a turn whose calls the gateway counted and whose agent said what they used, when it is over. */
  onAccounts?(accounts: TwoAccounts): void;
  /** It went to a host, or wanted to. */
  onNetwork?(request: NetworkRequest): void;
}

/** A turn of which nothing runs any more and whose end nobody heard. */
export type UnheardTurn = Pick<
  TurnRequest,
  | 'role'
  | 'number'
  | 'prompt'
  | 'conventions'
  | 'sessionId'
  | 'sessionDir'
  | 'policy'
  | 'outputSchema'
  | 'logPath'
> & { startedAt: number };

export interface UnheardEnd {
  result: TurnResult;
  endedAt: number;
}

/** `empty`: the session exists but never had a message, so starting over loses nothing. */
export type SessionProbe = 'resumable' | 'empty' | 'lost';

export interface About {
  name: string;
  installed: boolean;
  /** Null when the program does not tell. */
  version: string | null;
  /** What it asks of Node, where this one is older. */
  wantsNode?: string;
  signIn: SignIn;
  /** What it can't do here, and what to do about that. */
  problem?: { what: string; fix: string };
}

/** `by` is where the credential is from, never what it is; `unknown` says why it can't be told. */
export type SignIn =
  | { by: string; expires?: { at: number; advice: string } }
  | 'none'
  /** There is a login that no turn can use; why, and what to do. */
  | { unusable: string }
  | { unknown: string };

export interface Agent {
  readonly kind: string;
  /** It has a place where it looks for skills; others have them in words in the prompt. */
  readonly looksForSkills?: true;
  /** It tells of each tool before it is at work: a turn that called none has changed nothing. */
  readonly tellsTools?: true;
  run(turn: TurnRequest, hooks: TurnHooks): Promise<TurnResult>;
  /**
   * Its own program with the conversation of this turn, which goes on with one, for a person at the operator's terminal. There is no
   * prompt, and `finished` says only that the program has ended, with its exit in words. Absent where it has no such program.
   */
  attach?(turn: TurnRequest, hooks: TurnHooks): Promise<TurnResult>;
  /** Why it can't be attached to with these settings; null when it can. */
  unattachable?(policy: AgentPolicy): Promise<string | null>;
  probeSession(session: { sessionId: string; sessionDir: string }): Promise<SessionProbe>;
  /**
   * What a turn came to that nobody heard end, with its usage, told under the keys it would have had. Null when it is not
   * known to have finished: it was cut off, or failed, which can't be told from being cut off. Asked again, it tells the
   * same.
   */
  finished(turn: UnheardTurn, onUsage: TurnHooks['onUsage']): Promise<UnheardEnd | null>;
  /** What is installed and who pays, a line for each of its programs. `configured` is what the roles ask of this kind. */
  about?(configured: readonly AgentPolicy[]): Promise<About[]>;
  /** What its program would be given; null when that can't be told, or it is not signed in. */
  credential?(policy: AgentPolicy): Promise<CredentialKind | null>;
  /** Null when it can work here; else what to install or configure. */
  unavailable(policy: AgentPolicy): Promise<string | null>;
}
