/** The front matter's words become the policy that the core decides with. */

import { authorityOf, destinationOf, type Network } from '../core/access/network.ts';
import type { SecretPolicy, SecretUser } from '../core/access/secret.ts';
import { type ChildPolicy, TOOLCHAIN_ENTRIES, TOOLCHAIN_VARIABLES } from '../core/access/toolchains.ts';
import { type AgentPolicy, HELD_KEYS, isHeldFor, type McpServer, type Policy } from '../core/policy.ts';
import { ROLES, type Role, roleRow } from '../core/role.ts';
import type { ChannelPolicy, QuietHours } from '../core/tell/notify.ts';
import { GATE_TIMEOUT_MS, GATES_AT_ONCE, REGISTRIES, type Workflow } from './schema.ts';

/** `isSymphonys`: the file was written for Symphony, which knows no gate. */
export function toPolicy(workflow: Workflow, isSymphonys = false): Policy {
  const sandbox = sandboxOf(workflow.sandbox);
  const { agent, critic, hooks, labels, merge, budget, recovery, keep } = workflow;
  const { running, revising } = agent.max_concurrent_by_state;
  return {
    requiredLabels: workflow.tracker.required_labels,
    labels: {
      ready: labels.ready,
      running: labels.running,
      needsReview: labels.needs_review,
      needsSpec: labels.needs_spec,
      blocked: labels.blocked,
      abandon: labels.abandon,
      merged: labels.merged,
    },
    pollIntervalMs: workflow.polling.interval_ms,
    wokenPollIntervalMs: workflow.webhook.poll_interval_ms,
    maxConcurrent: agent.max_concurrent,
    perState: { ...(running && { running }), ...(revising && { revising }) },
    maxTurns: agent.max_turns,
    maxWaiting: agent.max_waiting === 'auto' ? null : agent.max_waiting,
    agents: Object.fromEntries(
      ROLES.map((role) => [role, agentFor(role, workflow, sandbox.network)]),
    ) as Record<Role, AgentPolicy>,
    critic: {
      enabled: critic.enabled,
      maxRounds: critic.max_rounds,
      parallel: critic.parallel,
      blockOn: critic.block_on,
    },
    spec: { expand: workflow.spec.expand },
    gate: { ...gateOf(workflow, sandbox.network), mayBeEmpty: isSymphonys },
    loop: loopOf(workflow.loop),
    session: workflow.session.policy,
    whenFull: workflow.session.when_full,
    sandbox,
    merge: {
      enabled: merge.enabled,
      method: merge.method,
      requiredChecks: merge.required_checks,
      checksWaitMs: merge.checks_wait_ms,
      queue: merge.queue,
    },
    budget: {
      usd: budget.usd,
      tokens: limit(budget.tokens),
      wallMs: limit(budget.wall_ms),
      warnTurnUsd: limit(budget.warn_turn_usd),
      day: budget.day,
      loop: budget.loop,
    },
    keep: { abandonedMs: keep.abandoned_days * DAY_MS, logsMs: keep.logs_days * DAY_MS },
    recovery: { mode: recovery.mode, onLostSession: recovery.on_lost_session },
    hooks: {
      afterCreate: hooks.after_create,
      beforeRun: hooks.before_run,
      afterRun: hooks.after_run,
      beforeRemove: hooks.before_remove,
      afterMerge: hooks.after_merge,
      timeoutMs: hooks.timeout_ms,
      env: childOf(workflow.env, 'hooks'),
      secrets: secretsFor('hooks', sandbox.network, workflow.secrets),
    },
    deploy: {
      command: workflow.deploy.command,
      timeoutMs: workflow.deploy.timeout_ms,
      haltOnFailure: workflow.deploy.halt_on_failure,
      env: childOf(workflow.env, null),
      passEnv: workflow.deploy.pass_env,
    },
    notify: { channels: channelsOf(workflow.notify) },
    cooldownMs: agent.cooldown_ms,
    maxBackoffMs: agent.max_retry_backoff_ms,
    idleTurns: agent.idle_turns,
    protectedPaths: workflow.protected_paths,
    coAuthor: merge.co_author,
  };
}

function channelsOf({ channels, ...usual }: Workflow['notify']): ChannelPolicy[] {
  return Object.entries(channels).map(([name, given]) => {
    const { kind, events, url, secret, token, command, pass_env: passEnv } = given;
    return {
      name,
      kind,
      events,
      digestMs: given.digest_ms ?? usual.digest_ms,
      quiet: quietOf(given.quiet_hours ?? usual.quiet_hours, usual.time_zone),
      ...{ url, secret, token, command, passEnv },
    };
  });
}

function quietOf(hours: string, timeZone: string | null): QuietHours | null {
  if (hours === 'none') return null;
  const [from = 0, to = 0] = hours.split('-').map((time) => {
    const [hour = 0, minute = 0] = time.split(':').map(Number);
    return hour * 60 + minute;
  });
  return { from, to, timeZone: timeZone ?? new Intl.DateTimeFormat().resolvedOptions().timeZone };
}

function loopOf({ max_iterations, session, post_action: after, ...given }: Workflow['loop']): Policy['loop'] {
  const { enabled, skill, prompt, model } = after;
  const isAsked = enabled && (skill !== null || prompt !== null);
  return {
    maxIterations: max_iterations,
    session,
    postAction: isAsked ? { skill, prompt, model } : null,
    worktreeFiles: Object.entries(given.worktree_files).map(([path, from]) => ({ path, from })),
    skills: given.skills,
  };
}

function sandboxOf(given: Workflow['sandbox']): Policy['sandbox'] {
  if (typeof given === 'string')
    return { kind: given, image: null, read: [], network: REGISTRIES, trusted: ['deploy'] };
  return { ...given, network: networkOf(given.network) };
}

const networkOf = (given: Network | 'none'): Network => (given === 'none' ? [] : given);

const limit = (given: number | 'none'): number | null => (given === 'none' ? null : given);

function agentFor(
  role: Role,
  { agent, roles, prices, env, gateway, secrets, mcp: servers }: Workflow,
  usualNetwork: Network,
): AgentPolicy {
  const own: Partial<NonNullable<Workflow['roles'][Role]>> = roles[role] ?? {};
  const { read = [], write = [], network, mcp = [] } = own.access ?? {};
  const kind = own.kind ?? agent.kind;
  const preset = own.preset ?? agent.preset;
  const child = childOf(env, 'roles');
  const isOwnProgram = kind === 'command' || (kind === 'acp' && preset === null);
  const isHeld =
    isHeldFor('key', gateway.credentials) &&
    HELD_KEYS.some((key) => child.pass.includes(key) || Boolean(child.set[key]));
  // Where the provider of a program is that nobody knows, it knows itself. Who only reads needs nothing but its model.
  const isUnknown = network === undefined && isOwnProgram && !isHeld;
  const usual = isUnknown ? 'host' : roleRow(role).tools === 'work' ? usualNetwork : [];
  const where = network === undefined ? usual : networkOf(network);
  return {
    kind,
    command: own.command ?? agent.command,
    attachCommand: agent.attach_command,
    script: own.script ?? agent.script,
    preset,
    model: own.model ?? agent.model,
    fallbackModels: own.fallback_models ?? agent.fallback_models,
    effort: own.effort ?? agent.effort,
    prices: pricesOf(prices),
    toolCalls: own.tool_calls ?? agent.tool_calls,
    forgeRequests: own.forge_requests ?? agent.forge_requests,
    turnTimeoutMs: own.turn_timeout_ms ?? agent.turn_timeout_ms,
    stallTimeoutMs: own.stall_timeout_ms ?? agent.stall_timeout_ms,
    env: child,
    read,
    write,
    network: where,
    ...(isUnknown && { isProviderUnknown: true as const }),
    secrets: secretsFor(role, where, secrets),
    mcp: grantedServers(mcp, servers),
    gateway: gateway.credentials,
    toolTimeoutMs: own.tool_timeout_ms ?? agent.tool_timeout_ms,
    repeatedCalls: own.repeated_calls ?? agent.repeated_calls,
  };
}

/** `docs` is the whole server, `docs/search` one of its tools. */
export function grantParts(grant: string): { name: string; tool: string | null } {
  const [name = '', ...rest] = grant.split('/');
  return { name, tool: rest.length === 0 ? null : rest.join('/') };
}

/** Whoever has the whole of a server has the tools that are named beside it, too. */
function grantedServers(grants: readonly string[], servers: Workflow['mcp']): McpServer[] {
  const parts = grants.map(grantParts);
  return Object.entries(servers).flatMap(([name, { command, env }]) => {
    const own = parts.filter((part) => part.name === name);
    if (own.length === 0) return [];
    const named = own.flatMap(({ tool }) => tool ?? []);
    return [{ name, command, env, tools: named.length < own.length ? null : [...new Set(named)] }];
  });
}

function childOf(env: Workflow['env'], whose: 'roles' | 'gates' | 'hooks' | null): ChildPolicy {
  const own = whose === null ? null : env[whose];
  const [variables, entries] = env.toolchains ? [TOOLCHAIN_VARIABLES, TOOLCHAIN_ENTRIES] : [[], []];
  return {
    pass: [...new Set([...variables, ...env.pass, ...(own?.pass ?? [])])],
    set: { ...env.set, ...own?.set },
    home: env.home,
    homeEntries: [...new Set([...entries, ...env.home_entries])],
  };
}

const USUAL_USERS: readonly SecretUser[] = ['coder', 'gate'];

/** What somebody with this network may use; nothing can be held for whoever is on the machine's own, unless it is said. */
function secretsFor(user: SecretUser, network: Network, given: Workflow['secrets']): SecretPolicy[] {
  return Object.entries(given).flatMap(([name, { command, env, host, for: users }]) => {
    const isUser = users ? users.includes(user) : USUAL_USERS.includes(user) && network !== 'host';
    if (!isUser) return [];
    const hosts = [host].flat().map((one) => authorityOf(destinationOf(one, 443)!));
    return [{ name, from: command === undefined ? { env: env! } : { command }, hosts }];
  });
}

const criteriaCommandsOf = (given: 'confined' | 'always' | boolean): Policy['gate']['criteriaCommands'] =>
  typeof given === 'string' ? given : given ? 'confined' : 'never';

function gateOf({ gate, env: all, secrets }: Workflow, usual: Network): Omit<Policy['gate'], 'mayBeEmpty'> {
  const env = childOf(all, 'gates');
  const own = gate === 'none' ? undefined : gate.network;
  const network = own === undefined ? usual : networkOf(own);
  const shared = { env, network, secrets: secretsFor('gate', network, secrets) };
  if (gate === 'none') {
    return {
      setup: [],
      commands: 'none',
      timeoutMs: GATE_TIMEOUT_MS,
      preexisting: 'block',
      criteriaCommands: 'confined',
      setupCache: true,
      reports: [],
      maxConcurrent: GATES_AT_ONCE,
      ...shared,
    };
  }
  return {
    setup: gate.setup,
    commands: gate.commands,
    timeoutMs: gate.timeout_ms,
    preexisting: gate.preexisting,
    criteriaCommands: criteriaCommandsOf(gate.criteria_commands),
    setupCache: gate.setup_cache,
    reports: gate.reports,
    maxConcurrent: gate.max_concurrent,
    ...shared,
  };
}

const pricesOf = (given: Workflow['prices']): AgentPolicy['prices'] =>
  Object.fromEntries(
    Object.entries(given).map(([model, { cache_read: cacheRead, cache_write: cacheWrite, ...rest }]) => [
      model,
      { ...rest, cacheRead, cacheWrite },
    ]),
  );

const DAY_MS = 86_400_000;
