/** What the operator decided, resolved from WORKFLOW.md: plain values, no file names of ours, no clock. */

import type { Network } from './access/network.ts';
import type { SecretPolicy } from './access/secret.ts';
import type { ChildPolicy } from './access/toolchains.ts';
import type { Severity } from './change/findings.ts';
import type { Role } from './role.ts';
import type { ChannelPolicy } from './tell/notify.ts';

export const AGENT_KINDS = ['claude', 'codex', 'opencode', 'acp', 'command', 'scripted'] as const;
export type AgentKind = (typeof AGENT_KINDS)[number];

type SessionPolicy = 'persist' | 'rotate' | 'fresh';

/** US dollars for a million tokens. */
export interface Price {
  input: number;
  output: number;
  cacheRead: number;
  cacheWrite: number;
}

/** The name under which agents know the server of the loop's own tools. */
export const TOOL_SERVER = 'forge';

/** A program that speaks MCP on stdin and stdout. */
export interface McpServer {
  name: string;
  command: string[];
  env: Readonly<Record<string, string>>;
  /** Those that were granted; null is all of them. */
  tools: string[] | null;
}

export interface AgentPolicy {
  kind: string;
  command: string | null;
  /** Of an agent that is a program: what a person works with who attaches to it. */
  attachCommand: string | null;
  script: string | null;
  /** A program that speaks ACP and that we know how to start. */
  preset: string | null;
  model: string | null;
  /** Asked in this order when the model before is overloaded or can't be had. */
  fallbackModels: string[];
  /** How hard it thinks, in the agent's own words; null leaves it to the agent. */
  effort: string | null;
  /** The operator's own prices, by model; they go before the list. */
  prices: Readonly<Record<string, Price>>;
  /** How often one of the coder's tools is answered in a turn. */
  toolCalls: number;
  /** How often the forge is asked in a turn because its agent wants to read there. */
  forgeRequests: number;
  turnTimeoutMs: number;
  /** The longest silence while no tool is at work, and while one is; 0 is any. */
  stallTimeoutMs: number;
  env: ChildPolicy;
  /** Confined, it may read and write these besides, and go there. */
  read: string[];
  write: string[];
  network: Network;
  /** It is on the machine's network only because nobody here knows where its provider is. */
  isProviderUnknown?: true;
  /** What it may use without knowing it. */
  secrets: SecretPolicy[];
  /** The MCP servers it was granted; beside the loop's own tools it has no other. */
  mcp: McpServer[];
  /** Which credentials of providers the gateway holds in its place: all, keys without logins, or none. */
  gateway: 'all' | 'keys' | 'none';
  toolTimeoutMs: number;
  /** How often in a row the same call may have the same result; 0 is any. */
  repeatedCalls: number;
}

/** Variables in which a program of the operator's own has a key that the gateway can hold for it. */
export const HELD_KEYS = ['ANTHROPIC_API_KEY', 'OPENAI_API_KEY', 'GEMINI_API_KEY'] as const;

export interface Labels {
  ready: string;
  running: string;
  needsReview: string;
  needsSpec: string;
  blocked: string;
  abandon: string;
  merged: string;
}

/** What an agent's program proves who pays with; `other` is what nobody can hold for it. */
export type CredentialKind = 'key' | 'login' | 'none' | 'other';

/** Whether the gateway has it, and the program a placeholder. */
export const isHeldFor = (credential: CredentialKind, gateway: AgentPolicy['gateway']): boolean =>
  credential === 'key' ? gateway !== 'none' : credential === 'login' && gateway === 'all';

/** Where its turns can go: whoever keeps a credential goes to its provider by itself, on the machine's own network. */
export const networkOfTurn = (
  credential: CredentialKind,
  { gateway, network }: Pick<AgentPolicy, 'gateway' | 'network'>,
): Network => (credential === 'none' || isHeldFor(credential, gateway) ? network : 'host');

export interface Allowance {
  usd: number | null;
  tokens: number | null;
}

export interface Policy {
  requiredLabels: string[];
  labels: Labels;
  pollIntervalMs: number;
  /** In place of it while deliveries of the forge arrive; never more often. */
  wokenPollIntervalMs: number;
  maxConcurrent: number;
  /** Of those slots, at most so many for first work and for revisions; absent means no limit of its own. */
  perState: Partial<Record<'running' | 'revising', number>>;
  maxTurns: number;
  /** New work waits while so many tasks wait to be judged and merged; null: by what can land meanwhile. */
  maxWaiting: number | null;
  agents: Record<Role, AgentPolicy>;
  critic: { enabled: boolean; maxRounds: number; parallel: number; blockOn: Severity[] };
  spec: { expand: 'auto' | 'propose' | 'off' };
  /** `none` was said explicitly; an empty list of commands was not, and waits for a person. */
  gate: {
    setup: string[];
    commands: string[] | 'none';
    /** Whether turns run while there are no commands: a file written for Symphony knows no gate. */
    mayBeEmpty: boolean;
    timeoutMs: number;
    /** What becomes of a command that was red on the base commit too. */
    preexisting: 'block' | 'allow_unchanged';
    /** Whether the commands that an issue's criteria name are run too; without a sandbox only `always`. */
    criteriaCommands: 'confined' | 'always' | 'never';
    /** Whether what setup makes is kept for trees with the same lockfiles. */
    setupCache: boolean;
    /** Where commands write JUnit reports, as globs below the tree. */
    reports: string[];
    /** So many run at the same time. */
    maxConcurrent: number;
    env: ChildPolicy;
    /** Where its commands may go, confined. */
    network: Network;
    /** What they may use without knowing it. */
    secrets: SecretPolicy[];
  };
  /** Of plans. */
  loop: {
    /** So many rounds that an audit found wanting; 0 is any. */
    maxIterations: number;
    /** Whether each pass of the coder begins a conversation, or all go on in one. */
    session: 'rotate' | 'persist';
    /** What runs after the last audit; null is nothing. */
    postAction: { skill: string | null; prompt: string | null; model: string | null } | null;
    /** What of the operator's lies in a worktree: where, and what it is a copy of. */
    worktreeFiles: { path: string; from: string }[];
    /** The operator's folder of skills. */
    skills: string | null;
  };
  session: SessionPolicy;
  /** When a conversation is too long although its agent shortens it: a lost session, or a new one with a hand-over. */
  whenFull: 'compact' | 'rotate';
  sandbox: {
    /** `auto`: what works here, or nothing. `required`: what works here. */
    kind: 'auto' | 'required' | 'none' | 'bwrap' | 'container' | 'srt';
    /** The plan at hand was started with it. */
    isOwn?: true;
    /** Of containers; null is none. */
    image: string | null;
    /** What every confined command may read besides. */
    read: string[];
    /** Where everything confined may go that has no network of its own. */
    network: Network;
    /** Commands of the operator's that run unconfined. */
    trusted: ('hooks' | 'deploy')[];
  };
  merge: {
    enabled: boolean;
    method: 'squash' | 'merge' | 'rebase';
    /** Checks that have to be green beside those the forge requires itself. */
    requiredChecks: string[];
    /** How long a head may wait for them before a person is asked. */
    checksWaitMs: number;
    /** So many approved tasks are tested at a time, each on top of those before it; or, as a `batch`, the last for all. */
    queue: { ahead: number; batch: boolean };
  };
  /**
   * What one task may cost; and all tasks together, each day and ever. Null is no limit. A turn that costs more than
   * `warnTurnUsd` is warned of, and no more.
   */
  budget: Allowance & {
    wallMs: number | null;
    warnTurnUsd: number | null;
    day: Allowance;
    loop: Allowance;
  };
  recovery: { mode: 'auto' | 'manual'; onLostSession: 'abandon' | 'fresh_session' };
  hooks: {
    afterCreate: string | null;
    beforeRun: string | null;
    afterRun: string | null;
    beforeRemove: string | null;
    afterMerge: string | null;
    timeoutMs: number;
    env: ChildPolicy;
    secrets: SecretPolicy[];
  };
  deploy: {
    command: string | null;
    timeoutMs: number;
    haltOnFailure: boolean;
    env: ChildPolicy;
    /** Variables of the runner's own environment that it gets on top, those of the loop too. */
    passEnv: string[];
  };
  notify: { channels: ChannelPolicy[] };
  /** For how long after its end the homes and sessions of an abandoned task stay, and the logs of any. */
  keep: { abandonedMs: number; logsMs: number };
  cooldownMs: number;
  /** The longest wait before another try. */
  maxBackoffMs: number;
  /** Consecutive turns that may change nothing before `no_progress`. */
  idleTurns: number;
  protectedPaths: string[];
  coAuthor: string | null;
}
