/** A policy as the defaults of WORKFLOW.md give it, with whatever a test wants otherwise. */

import type { ChildPolicy } from '../../src/core/access/toolchains.ts';
import type { AgentPolicy, Policy } from '../../src/core/policy.ts';
import { ROLES, type Role } from '../../src/core/role.ts';
import { LABELS } from './labels.ts';

/** A child that gets nothing of the operator's. */
export const BARE: ChildPolicy = { pass: [], set: {}, home: 'private', homeEntries: [] };

const AGENT: AgentPolicy = {
  kind: 'scripted',
  command: null,
  script: null,
  attachCommand: null,
  preset: null,
  model: null,
  fallbackModels: [],
  effort: null,
  prices: {},
  toolCalls: 20,
  forgeRequests: 20,
  turnTimeoutMs: 3_600_000,
  stallTimeoutMs: 300_000,
  env: BARE,
  read: [],
  write: [],
  network: 'host',
  secrets: [],
  mcp: [],
  gateway: 'all',
  toolTimeoutMs: 3_600_000,
  repeatedCalls: 12,
};

export const NO_BUDGET: Policy['budget'] = {
  usd: null,
  tokens: null,
  wallMs: null,
  warnTurnUsd: null,
  day: { usd: null, tokens: null },
  loop: { usd: null, tokens: null },
};

const POLICY: Policy = {
  requiredLabels: [],
  labels: LABELS,
  pollIntervalMs: 60_000,
  wokenPollIntervalMs: 300_000,
  maxConcurrent: 3,
  perState: {},
  maxTurns: 20,
  maxWaiting: null,
  agents: Object.fromEntries(ROLES.map((role) => [role, AGENT])) as Record<Role, AgentPolicy>,
  critic: { enabled: true, maxRounds: 3, parallel: 2, blockOn: ['sev1', 'sev2'] },
  spec: { expand: 'auto' },
  gate: {
    setup: [],
    commands: ['npm test'],
    mayBeEmpty: false,
    timeoutMs: 600_000,
    preexisting: 'block',
    criteriaCommands: 'always',
    setupCache: true,
    reports: [],
    maxConcurrent: 4,
    env: BARE,
    network: 'host',
    secrets: [],
  },
  loop: { maxIterations: 20, session: 'rotate', postAction: null, worktreeFiles: [], skills: null },
  session: 'persist',
  whenFull: 'compact',
  sandbox: { kind: 'auto', image: null, read: [], network: 'host', trusted: ['deploy'] },
  merge: {
    enabled: true,
    method: 'squash',
    requiredChecks: [],
    checksWaitMs: 3_600_000,
    queue: { ahead: 3, batch: false },
  },
  budget: NO_BUDGET,
  keep: { abandonedMs: 14 * 86_400_000, logsMs: 90 * 86_400_000 },
  recovery: { mode: 'auto', onLostSession: 'abandon' },
  hooks: {
    afterCreate: null,
    beforeRun: null,
    afterRun: null,
    beforeRemove: null,
    afterMerge: null,
    timeoutMs: 60_000,
    env: BARE,
    secrets: [],
  },
  notify: { channels: [] },
  deploy: { command: null, timeoutMs: 60_000, haltOnFailure: false, env: BARE, passEnv: [] },
  cooldownMs: 3_600_000,
  maxBackoffMs: 300_000,
  idleTurns: 3,
  protectedPaths: [],
  coAuthor: null,
};

export type PolicyChange = {
  [K in keyof Policy]?: Policy[K] extends object
    ? Policy[K] extends unknown[]
      ? Policy[K]
      : Partial<Policy[K]>
    : Policy[K];
};

export function testPolicy(change: PolicyChange = {}): Policy {
  return merged(structuredClone(POLICY), change);
}

export function merged(policy: Policy, change: PolicyChange): Policy {
  const next: Record<string, unknown> = { ...policy };
  for (const [key, value] of Object.entries(change)) {
    const isMap = typeof value === 'object' && value !== null && !Array.isArray(value);
    next[key] = isMap ? { ...(next[key] as object), ...value } : value;
  }
  return next as unknown as Policy;
}
