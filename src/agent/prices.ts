/**
 * What tokens cost, in US dollars for a million: the list prices as the providers' own programs had them on the day
 * below. Used where the provider tells no cost, or none yet. A model that is not here has no known cost; it is never
 * guessed from a similar name.
 */
import type { AgentPolicy, Price } from '../core/policy.ts';
import type { Usage } from './agent.ts';

/** By model, as the provider names it; a dated name (`…-20250929`) has the price of the name without its date. */
export type Prices = Readonly<Record<string, Price>>;

export const PRICED_ON = '2026-11-15';

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
  const found = prices[model] ?? prices[model.replace(/-\d{8}$/, '')];
  if (!found) return null;
  const { input, output, cacheRead, cacheWrite } = found;
  const total =
    usage.input * input +
    (usage.output + usage.reasoning) * output +
    usage.cacheRead * cacheRead +
    usage.cacheWrite * cacheWrite;
  return total / MILLION;
}
