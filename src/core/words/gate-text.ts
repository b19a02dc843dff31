/** How a gate came out, in words for agents and people. */

import { type CommandResult, type CommandRun, type Evidence, isUnchanged, looksUnchanged } from '../gate.ts';
import { fence, oneLine, tail } from './fence.ts';
import { shortSha } from './short-sha.ts';

/** What the coder reads about a gate that is not green: which command, how it ended, the end of its output. */
export function gateFailureText(evidence: Evidence): string {
  return notGreen(evidence)
    .map((result) => `\`${result.command}\`: ${resultText(result)}\n${fence('output', tail(result.tail))}`)
    .join('\n\n');
}

/** The same for people, in a line. */
export const redText = (evidence: Evidence): string =>
  notGreen(evidence)
    .map((result) => `\`${oneLine(result.command)}\`: ${resultText(result)}`)
    .join('; ');

const notGreen = ({ results }: Evidence): CommandResult[] =>
  results.filter(({ outcome }) => outcome !== 'pass');

/** How one command came out: what people and agents read about it, in a word or in a clause. */
export function resultText(result: CommandResult): string {
  const { base, first, problem } = result;
  if (result.outcome === 'could_not_run') return problem ?? 'could not run';
  if (result.outcome === 'pass')
    return first ? `flaky: failed (${first.problem}), then passed when rerun` : 'passed';
  if (!base) return problem ?? 'failed';
  const at = shortSha(base.sha);
  if (base.outcome === 'pass') return `${problem}; passes on trunk (${at})`;
  if (base.outcome === 'could_not_run') return `${problem}; could not run on trunk (${at}): ${base.problem}`;
  const how = howItCompares(result, base);
  return `${problem}; also fails on trunk (${at}), ${how}`;
}

function howItCompares(result: CommandResult, base: CommandRun): string {
  if (isUnchanged(result)) return 'same tests';
  if (looksUnchanged(result)) return 'same output';
  const more = base.failing && result.failing?.filter((name) => !base.failing?.includes(name));
  if (more && more.length > 0) return `failing only here: ${more.slice(0, 3).map(oneLine).join(', ')}`;
  if (result.vanished && result.vanished.count > 0) return vanishedText(result.vanished);
  return `other output, ${base.problem}`;
}

function vanishedText({ count, some }: NonNullable<CommandResult['vanished']>): string {
  const more = count > some.length ? ` and ${count - some.length} more` : '';
  return `tests that ran there are missing here (do they still load?): ${some.map(oneLine).join(', ')}${more}`;
}

export function evidenceText(evidence: Evidence | null): string {
  if (!evidence || evidence.results.length === 0) return 'No verification commands are configured.';
  return evidence.results.map((result) => `- \`${result.command}\`: ${resultText(result)}`).join('\n');
}
