/**
 * A turn's way to its model: a door of the gateway, which holds the credential, and whose count of what was used goes into
 * the ledger. What the agent says of it is the second account. It is told where the provider is not reached
 * through the door, and where it knows what the door can't: what a model costs that has no price here.
 */

import type { Left, Room } from '../core/money/budget.ts';
import { costOf, mostOf, pricesFor, tellsCost, type Usage } from '../core/money/prices.ts';
import type { TwoAccounts } from '../core/money/two-accounts.ts';
import { type CredentialKind, isHeldFor, networkOfTurn } from '../core/policy.ts';
import { answerIdOf, type Gateway, type NetworkRequest, type Route } from '../gateway/gateway.ts';
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

const onHostText = (role: string): string =>
  `\`sandbox: required\`, and this program would be on this machine's network, since it keeps its own credential or nobody knows where its provider is. Use a credential that the gateway can hold, or allow it: roles.${role}.access.network: host.`;

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
  if (access.sealed && !isInside) return failed('sandbox_failed', onHostText(role), true);
  const door = await gateway.open({
    at: isInside ? 'inside' : 'machine',
    network: network === 'host' ? [] : network,
    secrets: policy.secrets,
    advice: `add it to roles.${role}.access.network in WORKFLOW.md`,
    ...(hooks.onNetwork && { onRequest: hooks.onNetwork }),
  });
  const accounts = twoAccounts(turn, hooks.onUsage, isHeld);
  let spent = null as { code: 'out_of_budget' | 'spend_unknown'; why: string } | null;
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
    const both = accounts.both(result.usageKnown);
    if (both) hooks.onAccounts?.(both);
    if (spent !== null && result.status !== 'finished') return failed(spent.code, spent.why, usageKnown);
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
      async room() {
        accounts.asked();
        return accounts.within((await hooks.room?.()) ?? UNLIMITED);
      },
      onUsage: accounts.metered,
      onUntold: accounts.untold,
      // What came after it was an answer: whatever the turn fails for then, it is not that.
      onAnswered(said) {
        refused = said && failureOnWire(said, Date.now());
      },
      onRefused({ reason, why, url }) {
        accounts.asked();
        const isKnown = reason === 'budget' && why !== UNPRICED;
        if (isKnown) spent = { code: 'out_of_budget', why };
        else if (reason === 'budget' || reason === 'untold') spent = { code: 'spend_unknown', why };
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
  untold: 'the budget may be spent',
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
  const onWire: UsageReport[] = [];
  /** What of it is in the ledger, with what it cost. */
  const counted: UsageReport[] = [];
  let hasAsked = false;
  let isUntold = false;
  let isUnpriced = false;
  let settlements = 0;
  let settledUsd = 0;
  /** What the calls that have no price may have cost: of an agent that knows what they did, since it last said so. */
  let unpricedUsd = 0;
  /** Any other program may say what it likes, and so may whatever it runs. */
  const isBelieved = tellsCost(policy);
  /** Of that, what is not in the ledger by the program's own word. */
  const unsettledUsd = (): number => (isBelieved ? unpricedUsd : Math.max(0, unpricedUsd - settledUsd));
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
    /** What is left when a model without a price costs as much as the dearest that has one, until who knows better says so. */
    within(room: Room): Room {
      const less = ({ usd, tokens }: Left): Left => ({
        usd: usd === null ? null : usd - unsettledUsd(),
        tokens,
      });
      const [task, loop] = [less(room.task), less(room.loop)];
      const isOver = [task, loop].some((left) => left.usd !== null && left.usd <= 0);
      return { task, loop, spent: room.spent ?? (isOver ? UNPRICED : null) };
    },
    metered(report: UsageReport): void {
      const known = { ...report, model: named(report.model) };
      onWire.push(known);
      counted.push(known);
      tell(known);
    },
    /** By this door, whatever came of it. */
    asked(): void {
      hasAsked = true;
    },
    untold(): void {
      isUntold = true;
    },
    said(report: UsageReport): void {
      agents.push(report);
      if (isBelieved && report.costUsd !== null) unpricedUsd = 0;
      if (!isMetered) tell(report);
      else if (isUnpriced) settle(dollars(agents));
    },
    /** Null where there is one account or none. */
    both(agentKnows: boolean): TwoAccounts | null {
      if (!isMetered || !hasAsked || agents.length === 0) return null;
      return {
        counted: { told: onWire.map((one) => ({ ...one, id: answerIdOf(one.key) })), isWhole: !isUntold },
        agent: { told: agents.map((one) => ({ ...one, id: one.key })), isWhole: agentKnows },
      };
    },
    /** Whether all that was used is in the ledger. */
    close(agentKnows: boolean): boolean {
      if (!isMetered) return agentKnows;
      // What an agent says of a turn in which nothing was answered, it used in an earlier one that was cut off.
      if (counted.length === 0 && hasAsked && !isUntold) return true;
      if (counted.length === 0) {
        for (const report of agents) tell(report);
        return agentKnows && !isUntold;
      }
      const said = dollars(agents);
      if (isUnpriced && said === null) tellCost(null);
      // A price that is not in our list, such as that of a longer cache: the provider's own program knows it.
      else if (isUnpriced || tokens(agents) === tokens(counted)) settle(said);
      if (said !== null && unsettledUsd() > DUST) tellCost(null);
      return !isUntold;
    },
  };

  function settle(said: number | null): void {
    const more = (said ?? 0) - (dollars(counted) ?? 0);
    if (more <= DUST) return;
    settledUsd += more;
    tellCost(more);
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
