/** How a gate came out, in words for agents and people. */

import { type CommandResult, type CommandRun, type Evidence, isUnchanged, looksUnchanged } from '../gate.ts';
import { fence, oneLine, tail } from './fence.ts';

/** What the coder reads about a gate that is not green: which command, how it ended, the end of its output. */
export function gateFailureText(evidence: Evidence): string {
  const red = evidence.results.filter((result) => result.outcome !== 'pass');
  return red
    .map((result) => `\`${result.command}\`: ${resultText(result)}\n${fence('output', tail(result.tail))}`)
    .join('\n\n');
}

/** How one command came out: what people and agents read about it, in a word or in a clause. */
export function resultText(result: CommandResult): string {
  const { base, first, problem } = result;
  if (result.outcome === 'could_not_run') return problem ?? 'could not run';
  if (result.outcome === 'pass')
    return first ? `passed when run again, at first ${first.problem} (flaky)` : 'passed';
  if (!base) return problem ?? 'failed';
  const at = base.sha.slice(0, 10);
  if (base.outcome === 'pass') return `${problem}; without this work, on trunk at ${at}, it passes`;
  if (base.outcome === 'could_not_run')
    return `${problem}; on trunk at ${at} it could not run: ${base.problem}`;
  const how = howItCompares(result, base);
  return `${problem}; red on trunk without this work too (at ${at}, ${how})`;
}

function howItCompares(result: CommandResult, base: CommandRun): string {
  if (isUnchanged(result)) return 'by the same tests';
  if (looksUnchanged(result)) return 'in the same way';
  const more = base.failing && result.failing?.filter((name) => !base.failing?.includes(name));
  if (more && more.length > 0) return `failing only here: ${more.slice(0, 3).map(oneLine).join(', ')}`;
  if (result.vanished && result.vanished.count > 0) return vanishedText(result.vanished);
  return `with another output, ${base.problem}`;
}

function vanishedText({ count, some }: NonNullable<CommandResult['vanished']>): string {
  const more = count > some.length ? ` and ${count - some.length} more` : '';
  return `but tests that ran there are missing here (do they still load?): ${some.map(oneLine).join(', ')}${more}`;
}

export function evidenceText(evidence: Evidence | null): string {
  if (!evidence || evidence.results.length === 0) return 'No verification commands are configured.';
  return evidence.results.map((result) => `- \`${result.command}\`: ${resultText(result)}`).join('\n');
}
