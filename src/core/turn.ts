/**
 * The one place that starts a turn, and the one ladder of retries. What a role does when its chances are used up, and
 * what its answer means, is said where the role is asked.
 */

import type { Action } from './action.ts';
import { afterInterruptions } from './alone.ts';
import { type Act, act, type Facts, hold, SPEND_UNKNOWN, waitedFor } from './decision.ts';
import { event, type NewEvent, type PromptKind } from './event.ts';
import { backoffMs } from './line/schedule.ts';
import type { Reason } from './machine.ts';
import { accountOf, blockOf, outageOf, PROVIDERS_OWN, waitsFor } from './money/account.ts';
import { fallback, hasFallback } from './money/models.ts';
import { FORGE_SILENT, isBlocking, REPEATING, TAMPERED } from './outcome.ts';
import type { Policy } from './policy.ts';
import { type Mishap, PROVIDER_PATIENCE, type Role, roleRow } from './role.ts';
import { mishaps, type RoleMemory, runsAlone, type Task } from './task.ts';

interface Asking {
  /** Counted from 1, as people read it. */
  turn: number;
  /** Null opens a new session. */
  session: string | null;
  prompt: PromptKind;
  /** What went wrong before, in words for the agent. */
  priorFailure: string | null;
  /** In place of the role's own model. */
  model?: string | null;
}

export function startTurn(task: Task, role: Role, asking: Asking, facts: Facts, policy: Policy): Act {
  const { turn, prompt, priorFailure } = asking;
  const sessionId = asking.session ?? facts.newSessionId;
  const memory = task.roles[role];
  const own = asking.model ?? task.plan?.models[role];
  const model = {
    ...fallback(role, policy.agents[role], memory.last?.code ?? null, failuresOf(role, memory)),
    ...(own && { model: own }),
  };
  return {
    ...act(
      [event('turn_started', { turn, role, sessionId, prompt })],
      [{ kind: 'turn', role, turn, sessionId, prompt, priorFailure, ...model }],
    ),
    ...(roleRow(role).limit === 'critics' && {
      limits: { critics: runsAlone(task) ? 1 : policy.critic.parallel },
    }),
  };
}

/** In a new conversation, with the one prompt that opens it. */
export function askAnew(task: Task, role: Role, turn: number, facts: Facts, policy: Policy): Act {
  const { prompt } = roleRow(role);
  if (prompt === null) throw new Error(`the ${role} has no one prompt`);
  return startTurn(
    task,
    role,
    { turn, session: null, prompt, priorFailure: task.roles[role].problem },
    facts,
    policy,
  );
}

type NextTry =
  | { kind: 'now' }
  /** A hold until the next try, and what goes with it. */
  | { kind: 'later'; events: NewEvent[]; actions: Action[] }
  /** Its patience is used up, by this above all. */
  | { kind: 'spent'; by: Mishap; reason: Reason };

/** May the role be asked again, and when? */
export function nextTry(task: Task, role: Role, facts: Facts, policy: Policy, now: number): NextTry {
  const { patience } = roleRow(role);
  const memory = task.roles[role];
  const { last, failure, unusable } = memory;
  const code = failure?.code ?? null;
  // Whoever is refused what everybody is refused waits with the others for a person.
  if (isBlocking(last?.code ?? null) && blockOf(facts.accountLimits, accountOf(policy.agents[role])))
    return { kind: 'now' };
  // The ledger will never say that its budget is spent.
  if (last?.code === SPEND_UNKNOWN && !waitedFor(task, now)) {
    const events = [event('retry_scheduled', { until: now }), hold('spend_unknown', last.message)];
    return { kind: 'later', events, actions: [] };
  }
  for (const { of, most } of patience) {
    const [by] = of;
    const chances = by === 'failed' ? mostFailures(failure, most) : most;
    // Work makes up for silence, but not for ever: nothing else limits how often an auditor is asked.
    const isOverdue = by === 'stalled' && stallsOf(memory) >= Math.max(chances, policy.maxTurns);
    const isSpent = by !== undefined && (mishaps(memory, of) >= chances || isOverdue);
    // It fails for everybody: it waits with the others, and its chances are its own again afterwards.
    if (isSpent && by !== 'unusable' && outageOf(facts.accountLimits, accountOf(policy.agents[role])))
      return { kind: 'now' };
    if (isSpent) return { kind: 'spent', by, reason: reasonFor(by, code) };
  }
  if ((memory.sameProblem ?? 0) >= SAME_PROBLEM)
    return { kind: 'spent', by: 'unusable', reason: reasonFor('unusable', code) };
  const interrupted = afterInterruptions(
    memory,
    waitedFor(task, now),
    now,
    facts.jitter,
    policy.maxBackoffMs,
  );
  if (interrupted) return { kind: 'later', events: interrupted, actions: [] };
  // What it is forgiven when its account may be asked again, it does not wait for once more.
  const isForgiven = last !== null && isBroken(role, last) && memory.failed + memory.stalled === 0;
  if (isForgiven || waitedFor(task, now)) return { kind: 'now' };

  const failures = failuresOf(role, memory);
  if (last && hasFallback(role, policy.agents[role], last.code, failures) && last.retryAt !== null)
    return { kind: 'now' };
  if (last && isBroken(role, last)) {
    const until = Math.max(last.retryAt ?? 0, now + backoffMs(failures, facts.jitter, policy.maxBackoffMs));
    return {
      kind: 'later',
      events: [
        event('retry_scheduled', { until }),
        event('hold_set', {
          reason: last.retryAt === null ? 'retry_backoff' : 'provider_limit',
          detail: last.message || `the ${role} failed`,
          until,
          ...waitsFor(last, policy.agents[role], facts.accountLimits, now),
        }),
      ],
      actions: [],
    };
  }
  if (unusable > 1) {
    const until = now + backoffMs(failures - 1, facts.jitter, policy.maxBackoffMs);
    const detail = `the ${role} gave no usable report: ${lastProblem(memory)}`;
    const events = [event('retry_scheduled', { until }), hold('retry_backoff', detail, until)];
    return { kind: 'later', events, actions: [] };
  }
  return { kind: 'now' };
}

/** In all, since a turn of its last came to its end. */
export const stallsOf = ({ stalled, outworked = 0 }: RoleMemory): number => stalled + outworked;

/** Told so often what is wrong with its answer, it does not mend it. */
const SAME_PROBLEM = 3;

/** What went wrong last, whatever it was. */
export const lastProblem = ({ last, problem, failure }: RoleMemory): string =>
  (last?.status === 'finished' ? problem : last?.message || failure?.message) ?? 'nothing was said about why';

/**
 * A turn to wait after. One during which something was tampered with had an answer, which nobody can use; whose time ran
 * out in the middle of its work goes on with it.
 */
function isBroken(role: Role, { status, code }: NonNullable<RoleMemory['last']>): boolean {
  if (status === 'timed_out' || code === REPEATING) return roleRow(role).place !== 'workspace';
  return (status === 'failed' && code !== TAMPERED) || status === 'stalled';
}

/** What its waits grow with: its failures, and what else its patience counts with them. */
function failuresOf(role: Role, memory: RoleMemory): number {
  const together = roleRow(role).patience.find(({ of }) => of.includes('failed'))?.of ?? [];
  return mishaps(memory, [...new Set<Mishap>(['failed', 'stalled', ...together])]);
}

function reasonFor(by: Mishap, code: string | null): Reason {
  switch (by) {
    case 'stalled':
      return 'stall_timeout';
    case 'unusable':
      return 'critic_unusable';
    case 'failed':
      return code === 'usage_limit' ? 'provider_limit' : 'error_max_retries';
    default:
      return by satisfies never;
  }
}

/**
 * How many failed turns in a row are too many, by the last one. What is refused to everybody waits for a person. One that
 * failed at once cost nothing, so there is time to find out whether it fails for everybody.
 */
function mostFailures(failure: RoleMemory['failure'], usual: number): number {
  const code = failure?.code ?? '';
  if (isBlocking(code)) return Number.POSITIVE_INFINITY;
  const mayPass = failure?.atOnce || PROVIDERS_OWN.includes(code) || code === FORGE_SILENT;
  return mayPass ? Math.max(usual, PROVIDER_PATIENCE) : usual;
}
