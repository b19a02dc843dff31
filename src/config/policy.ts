/** The front matter's words become the policy that the core decides with. */
import type { AgentPolicy, Policy } from '../core/policy.ts';
import { ROLES, type Role } from '../core/role.ts';
import { type ChildPolicy, TOOLCHAIN_ENTRIES, TOOLCHAIN_VARIABLES } from '../core/toolchains.ts';
import { GATE_TIMEOUT_MS, GATES_AT_ONCE, type Workflow } from './schema.ts';

export function toPolicy(workflow: Workflow): Policy {
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
    agents: Object.fromEntries(ROLES.map((role) => [role, agentFor(role, workflow)])) as Record<
      Role,
      AgentPolicy
    >,
    critic: {
      enabled: critic.enabled,
      maxRounds: critic.max_rounds,
      parallel: critic.parallel,
      blockOn: critic.block_on,
    },
    spec: { expand: workflow.spec.expand },
    gate: gateOf(workflow.gate, childOf(workflow.env, 'gates')),
    loop: loopOf(workflow.loop),
    session: workflow.session.policy,
    whenFull: workflow.session.when_full,
    sandbox: workflow.sandbox,
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
    },
    deploy: {
      command: workflow.deploy.command,
      timeoutMs: workflow.deploy.timeout_ms,
      haltOnFailure: workflow.deploy.halt_on_failure,
      env: childOf(workflow.env, null),
      passEnv: workflow.deploy.pass_env,
    },
    cooldownMs: agent.cooldown_ms,
    idleTurns: agent.idle_turns,
    protectedPaths: workflow.protected_paths,
    coAuthor: merge.co_author,
  };
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

const limit = (given: number | 'none'): number | null => (given === 'none' ? null : given);

function agentFor(role: Role, { agent, roles, prices, env }: Workflow): AgentPolicy {
  const own = roles[role] ?? {};
  return {
    kind: own.kind ?? agent.kind,
    command: own.command ?? agent.command,
    script: own.script ?? agent.script,
    preset: own.preset ?? agent.preset,
    model: own.model ?? agent.model,
    fallbackModels: own.fallback_models ?? agent.fallback_models,
    effort: own.effort ?? agent.effort,
    prices: pricesOf(prices),
    toolCalls: own.tool_calls ?? agent.tool_calls,
    turnTimeoutMs: own.turn_timeout_ms ?? agent.turn_timeout_ms,
    stallTimeoutMs: own.stall_timeout_ms ?? agent.stall_timeout_ms,
    env: childOf(env, 'roles'),
    toolTimeoutMs: own.tool_timeout_ms ?? agent.tool_timeout_ms,
    repeatedCalls: own.repeated_calls ?? agent.repeated_calls,
  };
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

function gateOf(gate: Workflow['gate'], env: ChildPolicy): Policy['gate'] {
  if (gate === 'none') {
    return {
      setup: [],
      commands: 'none',
      timeoutMs: GATE_TIMEOUT_MS,
      preexisting: 'block',
      criteriaCommands: true,
      setupCache: true,
      reports: [],
      maxConcurrent: GATES_AT_ONCE,
      env,
    };
  }
  return {
    setup: gate.setup,
    commands: gate.commands,
    timeoutMs: gate.timeout_ms,
    preexisting: gate.preexisting,
    criteriaCommands: gate.criteria_commands,
    setupCache: gate.setup_cache,
    reports: gate.reports,
    maxConcurrent: gate.max_concurrent,
    env,
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
