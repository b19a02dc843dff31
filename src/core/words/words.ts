/** What we say to people beside comments and pull requests: advice, why something waits, what is at work. */

import type { Finding } from '../change/findings.ts';
import { type BaseRun, type CommandResult, type Evidence, isAllowable, wasRedBefore } from '../gate.ts';
import { holdText } from '../hold.ts';
import type { LoopHold } from '../loop/loop-hold.ts';
import { REASONS } from '../machine.ts';
import type { AccountLimit } from '../money/account.ts';
import type { Usage } from '../money/prices.ts';
import type { TurnWarning } from '../money/turn-cost.ts';
import { type Disagreement, into, out } from '../money/two-accounts.ts';
import type { Role } from '../role.ts';
import { isEnded, nameOfTask, type Task } from '../task.ts';
import { shortened } from '../text/shortened.ts';
import type { CriticReport, Judgement } from '../verdict.ts';
import { findingText } from './feedback-text.ts';
import { oneLine } from './fence.ts';
import { shortSha } from './short-sha.ts';
import { tellingLines } from './telling-lines.ts';
import { untilOf } from './wall-time.ts';

/** Of a post action whose changes do not pass. */
export const takenBackText = (audited: string, why: string): string =>
  `taken back to ${shortSha(audited)}, the audited head: ${oneLine(why)}`;

/** In one line, where a task stands. A wait that ends by itself within minutes is not worth a word. */
export function statusText(task: Task): string {
  const { state, hold } = task;
  if (hold && hold.reason !== 'retry_backoff' && !isEnded(task))
    return capital(holdText(hold, nameOfTask(task)));
  switch (state) {
    case 'queued':
    case 'dispatched':
      return 'Queued: waiting for a free slot';
    case 'running':
      return 'Working';
    case 'revising':
      return 'Revising: changes requested';
    case 'awaiting_critic':
    case 'merging':
      return 'In review';
    case 'merged':
      return `Merged as \`${shortSha(task.mergedSha)}\``;
    case 'completed':
      return 'Completed';
    case 'abandoned':
      return `Ended without a merge (\`${task.reason}\`): ${task.reason ? REASONS[task.reason].says : task.why}`;
    default:
      return state satisfies never;
  }
}

/** A push also marks the head as verified: when that alone fails, the head is pushed all the same. */
export const effectName = (kind: string): string =>
  kind === 'push' ? 'publishing' : kind.replaceAll('_', ' ');

export const failedText = (kind: string, times: number): string =>
  `${effectName(kind)} failed ${times}×; will retry`;

/** With what kept it from being done, where that is known. */
export const failureText = (kind: string, times: number, problem: string | null): string =>
  `${failedText(kind, times)}${problem === null ? '' : `: ${oneLine(problem)}`}`;

/** Where nobody asked the forge, which knows the checks and the rules of the branch. */
export const UNASKED = 'approved; `forge-loop why` asks the forge what it waits for';

export const capital = (text: string): string => `${text[0]?.toUpperCase()}${text.slice(1)}`;

export function untestedText(sha: string, tested: string): string {
  return `${shortSha(sha)} landed, but its tree differs from the tested one (${shortSha(tested)})`;
}

/** What a person does about an abandoned task. Where trunk itself was red, that comes first. */
export function adviceText(task: Task): string | null {
  if (!task.reason) return null;
  if (task.plan?.draftOf !== undefined && task.reason === 'spec_rejected')
    return `Say more in issue #${task.plan.draftOf}, then \`forge-loop plan draft ${task.plan.draftOf}\`; or write the plan yourself with \`forge-loop plan new\`.`;
  const { advice } = REASONS[task.reason];
  const before = redBeforeText(task);
  if (before === null || REASONS[task.reason].outcome !== 'failure') return advice;
  return [`Fix trunk first: ${before}.`, ...otherAdvice(task), advice].join(' ');
}

/** Only what would help: to allow it, where a report names the same failing tests as on trunk. */
export const otherAdvice = ({ gate }: Task): string[] =>
  gate && isAllowable(gate)
    ? ['Or set gate.preexisting: allow_unchanged to ignore those failing tests.']
    : [
        'If it passes in your own shell, see `env` in WORKFLOW.md: it lists what commands get of your environment.',
      ];

/** A task as people know it, in a sentence. */
export const subjectOf = ({ issue, plan, kind, id }: Task): string =>
  issue !== null
    ? `issue #${issue}`
    : plan?.draftOf !== undefined
      ? `the plan for issue #${plan.draftOf}`
      : `${kind} ${plan?.name ?? id}`;

export const nameOf = ({ issue, task }: { issue: number | null; task: string }): string =>
  issue === null ? task : `#${issue}`;

export const namesOf = (tasks: readonly { issue: number | null; task: string }[]): string =>
  new Intl.ListFormat('en').format(tasks.map(nameOf));

/** `together with #7 and #9 at 1a2b3c4d5e`. */
export const togetherText = (others: Parameters<typeof namesOf>[0], sha: string): string =>
  `together with ${namesOf(others)} at ${shortSha(sha)}`;

export const redAloneText = (text: string): string =>
  `Merged into trunk alone, without the other tasks in line, it fails:\n\n${text}`;

export const redTogetherText = (others: string, text: string): string =>
  `Your branch passes by itself. Merged together with ${others}, which landed meanwhile, it fails:\n\n${text}`;

/** Said of a task whose gate is red by commands that were red on trunk when its work began. */
export function redBeforeText(task: Task): string | null {
  if (task.gate?.outcome !== 'fail') return null;
  const red = task.gate.results.filter(wasRedBefore).map((result) => `\`${result.command}\``);
  if (red.length === 0) return null;
  return `${red.join(', ')} ${red.length === 1 ? 'was' : 'were'} failing on trunk before the work began`;
}

/** What stood open when a task ended, the gravest first: whoever looks for the reason should not have to search. */
export function openText(open: readonly Finding[]): string | null {
  const telling = open.filter(({ severity }) => severity !== 'sev3');
  if (telling.length === 0) return null;
  const shown = [...telling].sort((a, b) => a.severity.localeCompare(b.severity)).slice(0, 3);
  const texts = shown.map(({ id, message }) => `${oneLine(message).replace(/\.$/, '')} (finding ${id})`);
  const more = telling.length - shown.length;
  return `Still open: ${texts.join('; ')}${more > 0 ? `; and ${more} more` : ''}.`;
}

/** Which command of the gate could not run, and why by its own words. */
export function couldNotRunText(gate: Evidence): string {
  const said = tellingLines(couldNotRun(gate)?.tail ?? '');
  return `${brokenText(gate)}${said ? `: ${said}` : ''}`;
}

/** Without its output, which may differ from run to run. */
export function brokenText(gate: Evidence): string {
  const broken = couldNotRun(gate);
  return broken ? `\`${broken.command}\` ${broken.problem}` : 'the gate could not run';
}

export const couldNotRun = ({ results }: Evidence): CommandResult | undefined =>
  results.find(({ outcome }) => outcome === 'could_not_run');

/** What of the gate did not pass on trunk, in one line: the first of it, why by its own words, and where the rest is. */
export function trialText(results: readonly BaseRun[]): string {
  const bad = results.find(({ outcome }) => outcome !== 'pass');
  if (!bad) return '';
  const said = tellingLines(bad.tail);
  const log = bad.logPath ? ` (${bad.logPath})` : '';
  return `\`${oneLine(bad.command)}\` ${bad.problem}${said ? `: ${said}` : ''}${log}`;
}

/** Where it was opened next to what a person left: whoever fixes it must not fix that. */
function besideText({ history }: Finding): string {
  const why = history.length === 1 ? history[0]!.why : null;
  return why ? `\n  It is ${oneLine(why)}; do not change that one.` : '';
}

export const judgementText = ({ id, criterion, met, evidence }: Judgement): string =>
  `- [criterion ${met}] ${id === null ? '' : `${id} `}${oneLine(criterion)}${evidence ? `: ${oneLine(evidence)}` : ''}`;

export function changesText(
  report: CriticReport,
  judged: readonly Judgement[],
  open: readonly Finding[],
): string {
  const unmet = judged.filter((one) => one.met !== 'met');
  const lines = [
    ...open.map((finding) => `${findingText(finding)}${besideText(finding)}`),
    ...unmet.map(judgementText),
    ...(report.minimalPathToGreen.length > 0
      ? ['To get this approved:', ...report.minimalPathToGreen.map((step) => `- ${oneLine(step)}`)]
      : []),
    ...(report.summary ? [oneLine(report.summary)] : []),
  ];
  if (lines.length === 0) return 'It named no finding. Compare the change with every point of the issue.';
  return lines.join('\n');
}

export function takeBackText(grave: readonly Finding[]): string {
  return [
    ...grave.map((finding) => findingText(finding)),
    'Revert these changes completely, so that the files match trunk, and do the work without them. If that is',
    'impossible, leave them: a person will decide.',
  ].join('\n');
}

export function conflictText(files: readonly string[]): string {
  const list = files.map((file) => `- ${file}`).join('\n');
  return `Trunk was merged into your work tree. Resolve the conflicts, keep both intentions, and leave no conflict marker:\n${list}`;
}

export function rewrittenText(baseSha: string, trunk: string): string {
  return `trunk was rewritten: ${shortSha(trunk)} no longer contains ${shortSha(baseSha)}, which this work builds on`;
}

/** Tracked paths with a filter that is not applied here. */
export interface FilteredPaths {
  filter: string;
  paths: readonly string[];
}

export function filteredText(found: readonly FilteredPaths[]): string {
  return found
    .map(({ filter, paths }) => {
      const more = paths.length > FEW ? ` and ${paths.length - FEW} more` : '';
      const why = filter === 'lfs' ? 'Git LFS is not set up here' : 'forge-loop does not run it';
      return `${paths.slice(0, FEW).join(', ')}${more}: filter=${filter}, and ${why}`;
    })
    .join('; ');
}

const FEW = 5;

/** What holds the whole loop. */
export function loopHoldText(hold: LoopHold): string {
  const held = `the loop is held (${hold.reason}): `;
  switch (hold.reason) {
    case 'untested_merge':
      return held + oneLine(hold.why);
    case 'trunk_changed':
      return `${held}tracker.trunk changed from ${hold.was} to ${hold.is}; nothing starts until you confirm`;
    case 'credential_refused':
      return `${held}${oneLine(hold.account)} refuses its credential: ${oneLine(hold.said)}`;
    default:
      return hold satisfies never;
  }
}

/** What holds every task of one provider, and since when. */
export function accountText({ account, why, until, outage, blocked }: AccountLimit, now: number): string {
  const said = shortened(oneLine(why), 300);
  if (blocked) return `${account} ${BLOCKED[blocked.code]}: ${said}`;
  if (!outage) return `${account} is used up until ${untilOf(until, now)} (${said}). Its tasks continue then`;
  const next = outage.triedBy !== undefined ? 'One turn is trying it' : `Next try ${untilOf(until, now)}`;
  return `${account} has failed for every task since ${untilOf(outage.since, now)} (${said}). ${next}`;
}

const BLOCKED = {
  auth: 'refuses its credential',
  billing: 'has a billing problem',
  model_unavailable: 'does not have the model that `agent.model` or `roles.*.model` names',
  setting_refused: 'does not accept the settings of `agent` (see `effort`)',
} as const;

export const count = (n: number, noun: string): string => `${n} ${noun}${n === 1 ? '' : 's'}`;

export const silentText = (silenceMs: number, inTool: boolean): string =>
  inTool
    ? `a tool call showed no sign of progress for ${lasting(silenceMs)}`
    : `no sign of progress for ${lasting(silenceMs)}`;

/** Said to people, and to the coder when it is asked again. */
export const repeatedText = ({
  tool,
  detail,
  times,
}: {
  tool: string;
  detail: string;
  times: number;
}): string =>
  `the same tool call was made ${times} times in a row with the same result: ${tool}${detail && ` ${shortened(oneLine(detail), 200)}`}`;

export const copiedText = ({ gitDir, tasks }: { gitDir: string; tasks: number }): string =>
  `This is a copy of ${originalOf(gitDir)}, which still exists. Its ${count(tasks, 'open task')} ${tasks === 1 ? 'belongs' : 'belong'} to the original.`;

export const copiedAdvice = ({ gitDir }: { gitDir: string }): string =>
  `To use both: \`forge-loop restore --empty\` here. To continue here instead: delete ${originalOf(gitDir)}.`;

const originalOf = (gitDir: string): string => gitDir.replace(/\/\.git$/, '');

export const lostWorkText = (saved: string): string =>
  `The worktree was gone; it is recreated at \`${shortSha(saved)}\`. What was not committed is lost.`;

/** What a runner that was asked to stop waits for: ``the gate of #1 (`npm test`, for 1 min 5 s)``. */
export function atWorkText(
  work: {
    name: string | null;
    what: string;
    command: string | null;
    since: number | null;
  },
  now: number,
): string {
  const { name, what, command, since } = work;
  const whose = name === null ? '' : ` of ${name}`;
  const details = [
    ...(command === null ? [] : [`\`${shortened(oneLine(command), 80)}\``]),
    ...(since === null ? [] : [`for ${lasting(now - since)}`]),
  ];
  return `${what}${whose}${details.length > 0 ? ` (${details.join(', ')})` : ''}`;
}

/** The same where it is clear whose it is, with what its command printed last. */
export function workingText(
  work: Parameters<typeof atWorkText>[0] & { lastLine: string | null },
  now: number,
): string {
  const text = atWorkText({ ...work, name: null }, now);
  return work.lastLine === null ? text : `${text}: ${work.lastLine}`;
}

/** How much of an account's window is used up. */
export function windowText(
  of: { role: Role; name: string; usedPercent: number; until: number | null },
  now: number,
): string {
  const until = of.until === null ? '' : ` until ${untilOf(of.until, now)}`;
  return `account of the ${of.role}: ${of.name} ${Math.round(of.usedPercent)} % used${until}`;
}

/** After the turn's name. */
export function turnWarningText(warning: TurnWarning): string {
  if (warning.kind === 'expensive') {
    const { costUsd, limitUsd, complete } = warning;
    return `cost ${complete ? '' : 'at least '}$${costUsd.toFixed(2)}, more than $${limitUsd.toFixed(2)} (\`budget.warn_turn_usd\`)`;
  }
  if (warning.kind === 'accounts_differ') return differText(warning);
  const { read, expected, restedMs } = warning;
  return `read only ${Math.round((read / expected) * 100)} % of its session (${Math.round(expected / 1000)}k tokens) from the cache, ${lasting(restedMs)} after the session's last call`;
}

function differText({ counted, agent, calls }: Disagreement): string {
  const tokens = (usage: Usage): string => `${into(usage)} tokens in and ${out(usage)} out`;
  const named = calls.slice(0, 3).map((one) => {
    const [ours, theirs] = [one.counted, one.agent].map((count) => count ?? 'none');
    return `${one.id} (${ours}, ${theirs})`;
  });
  const more = calls.length > named.length ? ' …' : '';
  const where = named.length > 0 ? `; they differ in ${named.join(', ')}${more}` : '';
  return `used ${tokens(counted)} by the gateway's count, which is booked, and ${tokens(agent)} by its agent's${where}`;
}

export function lasting(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min${seconds % 60 === 0 ? '' : ` ${seconds % 60} s`}`;
  return `${Math.floor(minutes / 60)} h${minutes % 60 === 0 ? '' : ` ${minutes % 60} min`}`;
}

export const UNCONFINED_CRITERION_FIX =
  'Install a sandbox (`forge-loop doctor` says how), or set `gate.criteria_commands: always` in WORKFLOW.md if you trust whoever writes issues.';
export const UNCONFINED_CRITERION = `it comes from an issue's text, and there is no sandbox to run it in. ${UNCONFINED_CRITERION_FIX}`;
