/** How a gate came out, in words for agents and people. */
import { fence, tail } from './fence.ts';
import { type CommandResult, type Evidence, isUnchanged } from './gate.ts';

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
  const how = isUnchanged(result) ? 'in the same way' : `with another output, ${base.problem}`;
  return `${problem}; red on trunk without this work too (at ${at}, ${how})`;
}

export function evidenceText(evidence: Evidence | null): string {
  if (!evidence || evidence.results.length === 0) return 'No verification commands are configured.';
  return evidence.results.map((result) => `- \`${result.command}\`: ${resultText(result)}`).join('\n');
}
