/** The list is what the package says, for names that it has: it would also price names that only begin alike. */
import { readFileSync, writeFileSync } from 'node:fs';
import { calcPrice, findProvider, type MatchLogic, type ModelInfo } from '@pydantic/genai-prices';
import { expect, test } from 'vitest';
import type { Price } from '../policy.ts';

/** When each version was published: the package does not tell. */
const PUBLISHED: Readonly<Record<string, string>> = { '0.1.8': '2026-09-23' };
const PROVIDERS = ['anthropic', 'openai', 'google'];

/** Names that the package has in full. */
function namesIn(match: MatchLogic): string[] {
  if ('or' in match) return match.or.flatMap(namesIn);
  return 'equals' in match ? [match.equals] : [];
}

/** As a request below its first tier costs; dollars for a million. */
function priceOf(model: ModelInfo, providerId: string): Price | null {
  const timestamp = new Date(`${publishedAt}T12:00:00Z`);
  const found = calcPrice({ input_tokens: 1 }, model.id, { providerId, timestamp });
  if (found?.model.id !== model.id) return null;
  const of = (unit: string): number | null => {
    const price = found.model_price[unit];
    return typeof price === 'object' ? price.base : (price ?? null);
  };
  const [input, output] = [of('input_mtok'), of('output_mtok')];
  if (input === null || output === null || input === 0) return null;
  return {
    input,
    output,
    cacheRead: of('cache_read_mtok') ?? input,
    cacheWrite: of('cache_write_mtok') ?? input,
  };
}

const packageFile = new URL('../../../node_modules/@pydantic/genai-prices/package.json', import.meta.url);
const { version } = JSON.parse(readFileSync(packageFile, 'utf8')) as { version: string };
const publishedAt = PUBLISHED[version] ?? 'unknown: add it to PUBLISHED';

const rows = PROVIDERS.flatMap((providerId) =>
  findProvider({ providerId })!.models.flatMap((model) => {
    const price = priceOf(model, providerId);
    return price ? [model.id, ...namesIn(model.match)].map((name) => [name, price] as const) : [];
  }),
);
const listed: Record<string, Price> = Object.fromEntries(rows.toSorted(([a], [b]) => (a < b ? -1 : 1)));

const FILE = new URL('./price-list.ts', import.meta.url);
const source = `/** Generated from @pydantic/genai-prices ${version} by price-list.test.ts (UPDATE_DOCS=1). Why: docs/adr/0042-libraries.md. */
import type { Price } from '../policy.ts';

export const PRICES_AS_OF = '${publishedAt}';

/** Input, output, cache read, cache write: US dollars for a million tokens. */
const ROWS: readonly (readonly [model: string, number, number, number, number])[] = [
${Object.entries(listed)
  .map(
    ([name, { input, output, cacheRead, cacheWrite }]) =>
      `  ['${name}', ${input}, ${output}, ${cacheRead}, ${cacheWrite}],`,
  )
  .join('\n')}
];

export const PRICE_LIST: Readonly<Record<string, Price>> = Object.fromEntries(
  ROWS.map(([model, input, output, cacheRead, cacheWrite]) => [model, { input, output, cacheRead, cacheWrite }]),
);
`;
if (process.env.UPDATE_DOCS) writeFileSync(FILE, source);

test('the list is as the package has it', async () => {
  const { PRICE_LIST, PRICES_AS_OF } = await import('./price-list.ts');
  expect(PRICES_AS_OF).toBe(publishedAt);
  expect(PRICE_LIST).toEqual(listed);
});

test.each(['claude-sonnet-4-5', 'gpt-5-codex', 'gpt-5.5', 'gemini-2.5-pro'])('%s is in it', (model) => {
  expect(listed[model]).toBeDefined();
});
