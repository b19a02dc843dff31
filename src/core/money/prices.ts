/**
 * What tokens cost, in US dollars for a million. Used where the provider tells no cost, or none yet. A model that is not
 * listed has no known cost; it is never guessed from a similar name. A price that grows with the length of a request is
 * the one for short requests.
 */
import type { AgentPolicy, Policy, Price } from '../policy.ts';
import { type Role, rolesInUse } from '../role.ts';
import { PRICE_LIST } from './price-list.ts';

export interface Usage {
  input: number;
  output: number;
  cacheRead: number;
  cacheWrite: number;
  reasoning: number;
}

/** By model, as the provider names it; a dated name (`…-20250929`, `…-2025-08-07`) has the price of the name without its date. */
export type Prices = Readonly<Record<string, Price>>;

/** Newer than the list, as the provider's own program has it. */
const NEWER: Prices = { 'claude-sonnet-5-5': { input: 2, output: 10, cacheRead: 0.1, cacheWrite: 2.5 } };

export const LIST_PRICES: Prices = { ...PRICE_LIST, ...NEWER };

/** The operator's own prices go before the list. */
export const pricesFor = ({ prices }: AgentPolicy): Prices => ({ ...LIST_PRICES, ...prices });

const MILLION = 1_000_000;

/** Null when the model's price is not known. Reasoning costs what output costs. */
export function costOf(prices: Prices, model: string, usage: Usage): number | null {
  const found = priceOf(prices, model);
  if (!found) return null;
  const { input, output, cacheRead, cacheWrite } = found;
  const total =
    usage.input * input +
    (usage.output + usage.reasoning) * output +
    usage.cacheRead * cacheRead +
    usage.cacheWrite * cacheWrite;
  return total / MILLION;
}

/** As if it were the dearest model that is known of the same family (`claude`, `gpt` …), or else of all. */
export function mostOf(prices: Prices, model: string, usage: Usage): number {
  const known = Object.entries(prices);
  const kin = known.filter(([name]) => familyOf(name) === familyOf(model));
  const alike = (kin.length > 0 ? kin : known).map(([, price]) => price);
  const most = (kind: keyof Price): number => Math.max(...alike.map((one) => one[kind]));
  const dearest = {
    input: most('input'),
    output: most('output'),
    cacheRead: most('cacheRead'),
    cacheWrite: most('cacheWrite'),
  };
  return costOf({ dearest }, 'dearest', usage) ?? 0;
}

const familyOf = (model: string): string => model.slice(model.lastIndexOf('/') + 1).split(/[-.\d]/)[0]!;

const priceOf = (prices: Prices, model: string): Price | undefined =>
  prices[model] ?? prices[model.replace(/-(?:\d{8}|\d{4}-\d\d-\d\d)$/, '')];

/** Agents that tell what a turn costs, whatever its model. */
const TELLS_COST: readonly string[] = ['claude', 'opencode', 'scripted', 'simulated'];
const PRESET_TELLS_COST: readonly string[] = ['claude-agent-acp', 'opencode'];

/** Whether it is one of those: what it says of a model without a price is believed. */
export const tellsCost = ({ kind, preset }: Pick<AgentPolicy, 'kind' | 'preset'>): boolean =>
  TELLS_COST.includes(kind) || (kind === 'acp' && PRESET_TELLS_COST.includes(preset ?? ''));

/** Whether what its turns cost will be known: it tells it, or every model it may ask has a price. */
export function isPriced(agent: AgentPolicy): boolean {
  if (tellsCost(agent)) return true;
  const prices = pricesFor(agent);
  return [agent.model, ...agent.fallbackModels].every((model) => model !== null && priceOf(prices, model));
}

/** The roles that are asked under this policy and whose turns have no known cost. */
export const unpricedRoles = (policy: Pick<Policy, 'agents' | 'critic' | 'spec'>): Role[] =>
  rolesInUse(policy).filter((role) => !isPriced(policy.agents[role]));
