/** What a program told at the end of a turn beyond what its own record of the conversation has: asides, answers that were refused. */
import type { Usage, UsageReport } from '../agent.ts';

/** Null when there is nothing, or when a program that was cut off did not get to tell. */
export function beyond(
  heard: readonly UsageReport[],
  recorded: readonly UsageReport[],
): Omit<UsageReport, 'key'> | null {
  if (heard.every((one) => tokensIn(one) === 0)) return null;
  const more = (kind: keyof Usage): number => Math.max(0, sum(heard, kind) - sum(recorded, kind));
  // Claude's adapter does not tell thoughts from other output.
  const written = sum(heard, 'output') + sum(heard, 'reasoning');
  const output = Math.max(0, written - sum(recorded, 'output') - sum(recorded, 'reasoning'));
  const usage = {
    input: more('input'),
    output,
    reasoning: 0,
    cacheRead: more('cacheRead'),
    cacheWrite: more('cacheWrite'),
  };
  const costUsd = heard.some((one) => one.costUsd === null)
    ? null
    : Math.max(0, rounded(sum(heard, 'costUsd') - sum(recorded, 'costUsd')));
  if (tokensIn(usage) === 0 && !costUsd) return null;
  return { model: modelOf(heard, recorded), ...usage, costUsd };
}

/** Names of models may differ between the two, so a sum of all is compared, and named after the model that lacks most. */
function modelOf(heard: readonly UsageReport[], recorded: readonly UsageReport[]): string {
  const tokensOf = (reports: readonly UsageReport[], model: string): number =>
    reports.filter((one) => one.model === model).reduce((total, one) => total + tokensIn(one), 0);
  const [most] = [...new Set(heard.filter((one) => tokensIn(one) > 0).map(({ model }) => model))]
    .map((model) => ({ model, lacking: tokensOf(heard, model) - tokensOf(recorded, model) }))
    .sort((one, other) => other.lacking - one.lacking);
  return most?.model ?? 'unknown';
}

const KINDS = ['input', 'output', 'cacheRead', 'cacheWrite', 'reasoning'] as const;
const tokensIn = (usage: Usage): number => KINDS.reduce((total, kind) => total + usage[kind], 0);
const sum = (reports: readonly UsageReport[], kind: keyof Usage | 'costUsd'): number =>
  reports.reduce((total, one) => total + (one[kind] ?? 0), 0);
/** Without the dust of binary fractions. */
const rounded = (usd: number): number => Math.round(usd * 1e9) / 1e9;
