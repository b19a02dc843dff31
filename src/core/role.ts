/**
 * A role is a row. What the roles have in common (starting, retrying, recovering and metering a turn) is written once
 * and reads this table; what a role's answer means is said where it is used (work.ts, judge.ts, specify.ts, plan/).
 */
import type { PromptKind } from './event.ts';
import { specReportSchema } from './issue/specification.ts';
import { auditReportSchema } from './plan/audit.ts';
import type { Policy } from './policy.ts';
import { criticReportSchema } from './verdict.ts';
import type { ToolName } from './words/turn-tools.ts';

/** What a turn may touch. Agents map it to their own settings; a sandbox enforces it. */
export interface Access {
  /** Below these it may read. */
  readRoots: readonly string[];
  /** Below these it may write, too. */
  writeRoots: readonly string[];
  /** Its way to others: the machine's own network, none, or a door of the gateway. */
  network: 'host' | 'none' | Way;
  /** `work`: it edits files and runs commands. `read`: neither. */
  tools: 'work' | 'read';
  /** What keeps it to that. Where nothing does, agents keep to it by their own means, as far as those go. */
  sandbox: SandboxKind;
  /** It starts only where its network is confined with it: who keeps a credential of its own does not. */
  sealed?: boolean;
  /** A person is at its terminal, which is one of its own: it keeps that as the terminal it is controlled by. */
  terminal?: boolean;
}

/** A socket of the gateway, which is at that port inside. */
export interface Way {
  socket: string;
  port: number;
  /** What tells programs so, and what else they are told of it. */
  env: Readonly<Record<string, string>>;
  /** Files that `env` names. */
  reads: readonly string[];
  /** What is asked of the socket to offer it a connection to what listens inside; null where nothing of that is reached. */
  offer: string | null;
}

export type SandboxKind = 'none' | 'bwrap' | 'srt' | Container;

interface Container {
  image: string;
}

export const sandboxName = (kind: SandboxKind): string =>
  typeof kind === 'string' ? kind : `container of ${kind.image}`;

export interface RoleRow {
  /** Where it works: the task's workspace, or a throwaway copy of the head (of trunk, while there is no head). */
  place: 'workspace' | 'copy';
  tools: Access['tools'];
  /** Whose refs must stand as they did when it is done: all that are there, or those of its task. */
  leavesAlone: 'repository' | 'task';
  /** What it may say to the loop, and ask of it, in the middle of a turn: see words/turn-tools.ts. */
  offers: readonly ToolName[];
  /**
   * `continues`: one conversation for the whole task. `while_warm`: that of its last answer, for as long as the provider's
   * cache keeps it. `fresh`: one for each turn.
   */
  session: 'continues' | 'while_warm' | 'fresh';
  /** The prompt that opens its conversation; a coder's follows from where its task stands. */
  prompt: PromptKind | null;
  /** The JSON Schema of its answer; null where its work, or its text, is the answer. */
  answer: (() => Record<string, unknown>) | null;
  patience: Patience;
  /** What ends a row of mishaps: a turn that finished, or only an answer that could be used. */
  forgives: 'finished' | 'usable';
  /** What it works in: a slot for agents, or one of the places for critics. */
  limit: 'slots' | 'critics';
  /** How a turn failed after which one of its other models is asked, in the same session. */
  fallsBackOn: readonly string[];
  /** Whether the settings let it be asked at all. */
  isAsked: (policy: Pick<Policy, 'critic' | 'spec'>) => boolean;
}

/** What of a role's turns can go wrong in a row; see `RoleMemory`. An interruption is none: see alone.ts. */
export type Mishap = 'unusable' | 'failed' | 'stalled';

/** So many of these together, in a row, and the role has had its chances. What follows then is the role's own matter. */
type Patience = readonly { of: readonly Mishap[]; most: number }[];

/** For failures that nobody here can mend and time does: with the waits between them, a quarter of an hour. */
export const PROVIDER_PATIENCE = 8;

/** It was overloaded or could not be had: another one may help. */
const MODELS_OWN = ['overload', 'model_unavailable'];

/** An error that nobody explained may be the model's, too. Whoever works for hours does not end by it while another model is there. */
const ANY_ERROR = [...MODELS_OWN, 'crashed'];

/**
 * Issues and pull requests hold the words of anybody. They are for those whose work is judged by somebody who has not read
 * them, by what was agreed to: a coder's by gate and critic, a planner's by the person who approves the plan. Who judges, or
 * writes what is judged by (critic, auditor, specifier), must not be led by them.
 */
const FORGE: readonly ToolName[] = ['issue_read', 'pull_request_read', 'issues_search'];

const TABLE = {
  specifier: {
    place: 'copy',
    tools: 'read',
    leavesAlone: 'repository',
    offers: [],
    session: 'fresh',
    prompt: 'spec',
    answer: specReportSchema,
    patience: [
      { of: ['failed', 'stalled'], most: 3 },
      { of: ['unusable'], most: 2 },
    ],
    forgives: 'finished',
    limit: 'slots',
    fallsBackOn: MODELS_OWN,
    isAsked: ({ spec }) => spec.expand !== 'off',
  },
  coder: {
    place: 'workspace',
    tools: 'work',
    leavesAlone: 'task',
    offers: ['report_progress', 'list_findings', 'ask_operator', 'finish', 'milestone_read', ...FORGE],
    session: 'continues',
    prompt: null,
    answer: null,
    patience: [
      { of: ['failed'], most: 3 },
      { of: ['stalled'], most: 5 },
    ],
    forgives: 'finished',
    limit: 'slots',
    fallsBackOn: ANY_ERROR,
    isAsked: () => true,
  },
  critic: {
    place: 'copy',
    tools: 'read',
    leavesAlone: 'repository',
    offers: [],
    session: 'while_warm',
    prompt: 'critic',
    answer: criticReportSchema,
    patience: [{ of: ['failed', 'stalled', 'unusable'], most: 7 }],
    forgives: 'usable',
    limit: 'critics',
    fallsBackOn: MODELS_OWN,
    isAsked: ({ critic }) => critic.enabled,
  },
  auditor: {
    place: 'copy',
    tools: 'read',
    // A plan takes hours in a repository that people work in: what they commit is not the auditor's doing.
    leavesAlone: 'task',
    offers: ['findings_read', 'findings_write', 'findings_resolve', 'milestone_read'],
    session: 'continues',
    prompt: 'audit',
    answer: auditReportSchema,
    patience: [
      { of: ['failed'], most: 3 },
      { of: ['stalled'], most: 5 },
      { of: ['unusable'], most: 7 },
    ],
    forgives: 'finished',
    limit: 'slots',
    // A limit may be of one model, and nobody else has looked at what it is asked about.
    fallsBackOn: [...ANY_ERROR, 'usage_limit'],
    isAsked: () => true,
  },
  planner: {
    place: 'copy',
    tools: 'read',
    leavesAlone: 'repository',
    offers: FORGE,
    session: 'continues',
    prompt: 'plan_draft',
    // A plan is a text: made a field of JSON, it would only be harder to write.
    answer: null,
    patience: [
      { of: ['failed', 'stalled'], most: 3 },
      { of: ['unusable'], most: 3 },
    ],
    forgives: 'finished',
    limit: 'slots',
    fallsBackOn: MODELS_OWN,
    isAsked: () => true,
  },
} as const satisfies Record<string, RoleRow>;

export type Role = keyof typeof TABLE;
export const ROLES = Object.keys(TABLE) as Role[];
export const roleRow = (role: Role): RoleRow => TABLE[role];
/** Its patience with silence is one of its own. */
export const countsStallsAlone = (role: Role): boolean =>
  roleRow(role).patience.some(({ of }) => of.length === 1 && of[0] === 'stalled');
/** What people call one of its turns. */
export const turnName = ({ turn, role }: { turn: number; role: Role }): string =>
  roleRow(role).place === 'workspace' ? `turn ${turn}` : `${role} round ${turn}`;
export const rolesInUse = (policy: Pick<Policy, 'critic' | 'spec'>): Role[] =>
  ROLES.filter((role) => roleRow(role).isAsked(policy));

/** What the settings give a role besides; `offered` is what its home leads to. */
export const allowedBySettings = (
  policy: Pick<Policy, 'agents' | 'sandbox'>,
  role: Role,
  sandbox: SandboxKind,
  offered: readonly string[],
) => {
  const { read, write, network, isProviderUnknown } = policy.agents[role];
  return {
    sandbox,
    read: [...policy.sandbox.read, ...offered, ...read],
    write,
    sealed: policy.sandbox.kind === 'required' && (network !== 'host' || isProviderUnknown === true),
  };
};

/** What the role may touch in this place, beside what every confined command may: see src/sandbox/. */
export function accessOf(
  role: Role,
  { cwd, home, session }: Record<'cwd' | 'home' | 'session', string>,
  {
    sandbox = 'none',
    read = [],
    write = [],
    sealed = false,
  }: { sandbox?: SandboxKind; read?: readonly string[]; write?: readonly string[]; sealed?: boolean } = {},
): Access {
  const { tools } = roleRow(role);
  return {
    readRoots: tools === 'work' ? read : [cwd, ...read],
    writeRoots: [...(tools === 'work' ? [cwd] : []), home, session, ...write],
    network: 'host',
    tools,
    sandbox,
    sealed,
  };
}
