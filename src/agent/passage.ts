/**
 * A turn's way to its model: a door of the gateway, which holds the credential, and whose count of what was used goes into
 * the ledger. What the agent says of it is the second account. It is told where the provider is not reached
 * through the door, and where it knows what the door can't: what a model costs that has no price here.
 */

import type { Left, Room } from '../core/budget.ts';
import { type CredentialKind, isHeldFor, networkOfTurn } from '../core/policy.ts';
import { costOf, mostOf, pricesFor, type Usage } from '../core/prices.ts';
import type { Gateway, NetworkRequest, Route } from '../gateway/gateway.ts';
import {
  type Failure,
  failed,
  type TurnHooks,
  type TurnRequest,
  type TurnResult,
  type UsageReport,
} from './agent.ts';
import { failureOnWire, withFailureOnWire } from './wire/on-wire.ts';

export interface Passage {
  /** With its way out. */
  turn: TurnRequest;
  /** Whose usage is the agent's own account. */
  hooks: TurnHooks;
  /** Where the program finds its provider; null when it holds its credential itself. */
  route: ((provider: Provider) => string) | null;
  /** Where something that it listens on is reached. */
  reach(port: number): Promise<number>;
}

interface Provider extends Pick<Route, 'upstream' | 'headers' | 'speaks'> {
  /** What it asks of other models on the side, by a word of their names. */
  asides?: readonly string[];
}

/** Whether its provider may go elsewhere for it: only for whoever could go there without. */
export const mayRoam = ({ access, policy: { network } }: Pick<TurnRequest, 'access' | 'policy'>): boolean =>
  access.sandbox === 'none' || network === 'any' || network === 'host';

/** What takes a credential's place. */
export const PLACEHOLDER = 'held-by-forge-loop';

/**
 * Rejects when it is to use a secret that it can't be given. `credential`: what its program needs; `other` is one that nobody can hold
 * for it, and it goes to its provider by itself.
 */
export async function through(
  gateway: Gateway,
  turn: TurnRequest,
  hooks: TurnHooks,
  credential: CredentialKind,
  ask: (passage: Passage) => Promise<TurnResult>,
): Promise<TurnResult> {
  const { policy, access, role } = turn;
  const { network } = policy;
  const isHeld = isHeldFor(credential, policy.gateway);
  const isInside = access.sandbox !== 'none' && networkOfTurn(credential, policy) !== 'host';
  const door = await gateway.open({
    at: isInside ? 'inside' : 'machine',
    network: network === 'host' ? [] : network,
    secrets: policy.secrets,
    advice: `add it to roles.${role}.access.network in WORKFLOW.md`,
    ...(hooks.onNetwork && { onRequest: hooks.onNetwork }),
  });
  const accounts = twoAccounts(turn, hooks.onUsage, isHeld);
  let spent: string | null = null;
  let refused: Failure | null = null;
  const passage: Passage = {
    turn: door.way ? { ...turn, access: { ...access, network: door.way } } : turn,
    hooks: { ...hooks, onUsage: accounts.said },
    route: isHeld ? routeTo : null,
    reach: door.reach,
  };
  try {
    const result = await ask(passage);
    await door.close();
    const usageKnown = accounts.close(result.usageKnown);
    if (spent !== null && result.status !== 'finished') return failed('out_of_budget', spent, usageKnown);
    return { ...withFailureOnWire(result, refused), usageKnown };
  } finally {
    await door.close();
  }

  function routeTo({ upstream, headers, speaks, asides = [] }: Provider): string {
    return door.route({
      task: turn.task,
      upstream,
      speaks,
      headers,
      models: policy.model === null ? 'any' : [policy.model, ...policy.fallbackModels, ...asides],
      isOpen: mayRoam(turn),
      costOf: accounts.costOf,
      mostOf: accounts.mostOf,
      room: async () => accounts.within((await hooks.room?.()) ?? UNLIMITED),
      onUsage: accounts.metered,
      onUntold: accounts.untold,
      // What came after it was an answer: whatever the turn fails for then, it is not that.
      onAnswered(said) {
        refused = said && failureOnWire(said, Date.now());
      },
      onRefused({ reason, why, url }) {
        if (reason === 'budget') spent = why;
        if (reason === 'errand') hooks.onNetwork?.(refusedErrand(why, url ?? null));
        const detail = why.slice(0, 500);
        hooks.onProgress({
          kind: 'refused',
          code: 'permission',
          tool: 'model',
          detail,
          why: REFUSED[reason],
        });
      },
    });
  }
}

const REFUSED = {
  budget: 'the budget is spent',
  model: 'this role may not ask that model',
  path: 'no program is let ask for that path',
  setting: 'no program is let ask in that way',
  errand: 'only a role that may go anywhere may send its provider somewhere',
};

const UNLIMITED: Room = {
  task: { usd: null, tokens: null },
  loop: { usd: null, tokens: null },
  spent: null,
};

/** As a request of its own to that host, which was not let through either. */
function refusedErrand(why: string, url: string | null): NetworkRequest {
  const { hostname, port, protocol } = url !== null && URL.canParse(url) ? new URL(url) : NOWHERE;
  const to =
    hostname === ''
      ? { host: (url ?? why).replace(/\p{C}/gu, '').slice(0, 255), port: 0 }
      : { host: hostname, port: Number(port) || (protocol === 'http:' ? 80 : 443) };
  return { ...to, verdict: 'refused', why, sentBytes: 0, receivedBytes: 0 };
}

const NOWHERE = { hostname: '', port: '', protocol: '' };

/** What the door counted, and what the agent says; the ledger gets the first. */
function twoAccounts({ policy }: TurnRequest, tell: TurnHooks['onUsage'], isMetered: boolean) {
  const prices = pricesFor(policy);
  const agents: UsageReport[] = [];
  const counted: UsageReport[] = [];
  let isUntold = false;
  let isUnpriced = false;
  let settlements = 0;
  /** What the calls that have no price may have cost, since the agent last said what they did. */
  let unpricedUsd = 0;
  /** Some are chosen with their provider's name before them, and asked without. */
  const named = (model: string): string =>
    [policy.model, ...policy.fallbackModels].find((one) => one?.endsWith(`/${model}`)) ?? model;
  return {
    /** One without a price costs what the agent says, once it does. */
    costOf(model: string, usage: Usage): number {
      const usd = costOf(prices, named(model), usage);
      isUnpriced ||= usd === null;
      if (usd === null) unpricedUsd += mostOf(prices, named(model), usage);
      return usd ?? 0;
    },
    mostOf: (model: string, usage: Usage): number =>
      costOf(prices, named(model), usage) ?? mostOf(prices, named(model), usage),
    /** What is left when a model without a price costs as much as the dearest that has one, until the agent says better. */
    within(room: Room): Room {
      const less = ({ usd, tokens }: Left): Left => ({
        usd: usd === null ? null : usd - unpricedUsd,
        tokens,
      });
      const [task, loop] = [less(room.task), less(room.loop)];
      const isOver = [task, loop].some((left) => left.usd !== null && left.usd <= 0);
      return { task, loop, spent: room.spent ?? (isOver ? UNPRICED : null) };
    },
    metered(report: UsageReport): void {
      const known = { ...report, model: named(report.model) };
      counted.push(known);
      tell(known);
    },
    untold(): void {
      isUntold = true;
    },
    said(report: UsageReport): void {
      agents.push(report);
      if (report.costUsd !== null) unpricedUsd = 0;
      if (!isMetered) tell(report);
      else if (isUnpriced) settle(dollars(agents));
    },
    /** Whether all that was used is in the ledger. */
    close(agentKnows: boolean): boolean {
      if (!isMetered) return agentKnows;
      if (counted.length === 0) {
        for (const report of agents) tell(report);
        return agentKnows && !isUntold;
      }
      const said = dollars(agents);
      if (isUnpriced && said === null) tellCost(null);
      // A price that is not in our list, such as that of a longer cache: the provider's own program knows it.
      else if (isUnpriced || tokens(agents) === tokens(counted)) settle(said);
      return !isUntold;
    },
  };

  function settle(said: number | null): void {
    const more = (said ?? 0) - (dollars(counted) ?? 0);
    if (more > DUST) tellCost(more);
  }

  function tellCost(costUsd: number | null): void {
    settlements += 1;
    const [{ model, key }] = counted as [UsageReport];
    const report = { ...NOTHING, key: `${key}:cost:${settlements}`, model, costUsd };
    counted.push(report);
    tell(report);
  }
}

const UNPRICED =
  'the model has no known price, and at the highest price that is known its calls have used the budget: set its price under `prices` in WORKFLOW.md';

/** Of sums of binary fractions. */
const DUST = 1e-9;
const NOTHING = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, reasoning: 0 };

const tokens = (reports: readonly UsageReport[]): number =>
  reports.reduce(
    (sum, { input, output, cacheRead, cacheWrite, reasoning }) =>
      sum + input + output + cacheRead + cacheWrite + reasoning,
    0,
  );

const dollars = (reports: readonly UsageReport[]): number | null =>
  reports.reduce<number | null>(
    (sum, { costUsd }) => (sum === null || costUsd === null ? null : sum + costUsd),
    0,
  );
