/**
 * What tokens cost, in US dollars for a million: the list prices as the providers' own programs had them on
 * 2026-11-15. Used where the provider tells no cost, or none yet. A model that is not here has no known cost; it is never
 * guessed from a similar name.
 */
import type { AgentPolicy, Policy, Price } from './policy.ts';
import { type Role, rolesInUse } from './role.ts';

export interface Usage {
  input: number;
  output: number;
  cacheRead: number;
  cacheWrite: number;
  reasoning: number;
}

/** By model, as the provider names it; a dated name (`…-20250929`) has the price of the name without its date. */
export type Prices = Readonly<Record<string, Price>>;

const price = (input: number, output: number, cacheRead: number, cacheWrite: number): Price => ({
  input,
  output,
  cacheRead,
  cacheWrite,
});

export const LIST_PRICES: Prices = {
  'claude-opus-5-5': price(4, 20, 0.2, 5),
  'claude-opus-5': price(5, 25, 0.5, 6.25),
  'claude-opus-4-8': price(5, 25, 0.5, 6.25),
  'claude-opus-4-7': price(5, 25, 0.5, 6.25),
  'claude-opus-4-6': price(5, 25, 0.5, 6.25),
  'claude-opus-4-5': price(5, 25, 0.5, 6.25),
  'claude-sonnet-5-5': price(2, 10, 0.1, 2.5),
  'claude-sonnet-5': price(2, 10, 0.2, 2.5),
  'claude-sonnet-4-6': price(3, 15, 0.3, 3.75),
  'claude-sonnet-4-5': price(3, 15, 0.3, 3.75),
  'claude-haiku-4-5': price(1, 5, 0.1, 1.25),
};

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

const priceOf = (prices: Prices, model: string): Price | undefined =>
  prices[model] ?? prices[model.replace(/-\d{8}$/, '')];

/** Agents that tell what a turn costs, whatever its model. */
const TELLS_COST: readonly string[] = ['claude', 'opencode', 'scripted', 'simulated'];
const PRESET_TELLS_COST: readonly string[] = ['claude-agent-acp', 'opencode'];

/** Whether what its turns cost will be known: it tells it, or every model it may ask has a price. */
export function isPriced(agent: AgentPolicy): boolean {
  if (TELLS_COST.includes(agent.kind)) return true;
  if (agent.kind === 'acp' && PRESET_TELLS_COST.includes(agent.preset ?? '')) return true;
  const prices = pricesFor(agent);
  return [agent.model, ...agent.fallbackModels].every((model) => model !== null && priceOf(prices, model));
}

/** The roles that are asked under this policy and whose turns have no known cost. */
export const unpricedRoles = (policy: Pick<Policy, 'agents' | 'critic' | 'spec'>): Role[] =>
  rolesInUse(policy).filter((role) => !isPriced(policy.agents[role]));
