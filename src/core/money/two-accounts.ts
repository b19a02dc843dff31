/**
 * What the gateway counted of a turn, held against what its agent says. The ledger has the first. Where they differ, a program
 * does not tell the truth, or we read a program or a provider wrong: it is written down, and a person may look.
 */
import type { Usage } from './prices.ts';

/** What was told of one call, or of several. */
export interface ToldUsage extends Usage {
  /** The provider's own name of its answer; null where it is not known. */
  id: string | null;
}

interface Account {
  told: readonly ToldUsage[];
  /** Whoever told it says that nothing is missing. */
  isWhole: boolean;
}

export interface TwoAccounts {
  counted: Account;
  agent: Account;
}

/** Of the same task, before this turn. */
interface Earlier {
  /** Answers that the gateway counted then. */
  ids: ReadonlySet<string>;
  /** A turn of this session was cut off: its agent may say only now what that used. */
  isOpen: boolean;
}

export interface Disagreement {
  counted: Usage;
  agent: Usage;
  /** By the answer's name, where both know it: tokens in and out together; null of whoever has not told of it. */
  calls: { id: string; counted: number | null; agent: number | null }[];
}

/** Null where they agree, or where the one that says less does not say that it is all. */
export function disagreement({ counted, agent }: TwoAccounts, earlier: Earlier): Disagreement | null {
  const said = agent.told.filter(({ id }) => id === null || !earlier.ids.has(id));
  if (said.length === 0) return null;
  const sums = { counted: sumOf(counted.told), agent: sumOf(said) };
  const names = new Set(counted.told.flatMap(({ id }) => id ?? []));
  const areNamed = said.some(({ id }) => id !== null && names.has(id));
  const mayCatchUp = earlier.isOpen && !areNamed;
  const differs = [into, out].some((of) => {
    const more = of(sums.agent) - of(sums.counted);
    return (more > 0 && counted.isWhole && !mayCatchUp) || (more < 0 && agent.isWhole);
  });
  if (!differs) return null;
  return { ...sums, calls: areNamed ? callsApart(counted.told, said) : [] };
}

const MOST_CALLS = 20;

function callsApart(counted: readonly ToldUsage[], agent: readonly ToldUsage[]): Disagreement['calls'] {
  const [ours, theirs] = [byName(counted), byName(agent)];
  return [...new Set([...ours.keys(), ...theirs.keys()])]
    .map((id) => ({ id, counted: ours.get(id) ?? null, agent: theirs.get(id) ?? null }))
    .filter((one) => one.counted !== one.agent)
    .slice(0, MOST_CALLS);
}

function byName(told: readonly ToldUsage[]): Map<string, number> {
  const tokens = new Map<string, number>();
  for (const { id, ...usage } of told)
    if (id !== null) tokens.set(id, (tokens.get(id) ?? 0) + into(usage) + out(usage));
  return tokens;
}

/** How it is divided is no difference: not every program tells thoughts from other output, or what was in a cache. */
export const into = ({ input, cacheRead, cacheWrite }: Usage): number => input + cacheRead + cacheWrite;
export const out = ({ output, reasoning }: Usage): number => output + reasoning;

const KINDS = ['input', 'output', 'cacheRead', 'cacheWrite', 'reasoning'] as const;

const sumOf = (told: readonly Usage[]): Usage =>
  Object.fromEntries(
    KINDS.map((kind) => [kind, told.reduce((sum, one) => sum + one[kind], 0)]),
  ) as unknown as Usage;
