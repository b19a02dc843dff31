/** One event as one line for people; null for what only the log needs to know. */

import type { LoopEvent } from '../event.ts';
import { isFlaky } from '../gate.ts';
import { holdText } from '../hold.ts';
import { loopHoldKey, loopHoldOf } from '../loop/loop-hold.ts';
import { heldWait } from '../loop/loop-waits.ts';
import { REASONS } from '../machine.ts';
import { roleRow, turnName } from '../role.ts';
import { firstLine as firstLineOf, shortened } from '../text/shortened.ts';
import { decisionLine } from './conditions.ts';
import { resultText } from './gate-text.ts';
import type { Paint } from './paint.ts';
import { shortSha } from './short-sha.ts';
import { skippedText } from './skipped.ts';
import { timeOf, untilOf } from './wall-time.ts';
import { count, failedText, namesOf, togetherText, turnWarningText } from './words.ts';

type Naming = (task: string) => { name: string; issue: number | null } | undefined;

/** Below the time stands nothing else. */
export const EVENT_HANG = 10;

export function eventLine(happened: LoopEvent, name: Naming, paint: Paint): string | null {
  const said = eventText(happened, name, paint);
  if (said === null) return null;
  const task = happened.task === null ? undefined : name(happened.task);
  const subject = happened.task === null ? '' : `${paint.bold(task?.name ?? happened.task)} `;
  return `${paint.dim(timeOf(happened.at))}  ${subject}${said}`;
}

/** The sentence alone, without its time and its task. */
export function eventText(happened: LoopEvent, name: Naming, paint: Paint): string | null {
  switch (happened.type) {
    case 'task_created': {
      const { contract, attempt, branch, plan } = happened.data;
      if (plan?.draftOf !== undefined)
        return `${paint.cyan('queued')}: draft a plan for #${plan.draftOf}, ${contract.title}`;
      return `${paint.cyan('claimed')}: ${contract.title} (attempt ${attempt}, ${branch})`;
    }
    case 'turn_started': {
      const { role, turn, prompt } = happened.data;
      return `${turnName({ role, turn })} started${prompt === roleRow(role).prompt ? '' : ` (${prompt})`}`;
    }
    case 'turn_completed':
      return turnEnded(happened.data, paint);
    case 'tool_refused': {
      const { tool, detail, why, further } = happened.data;
      if (further !== undefined) return paint.yellow(`refused ${further} more calls in that turn`);
      return paint.yellow(`refused ${tool} ${paint.dim(firstLine(detail))}: ${why}`);
    }
    case 'coder_reported':
      return `reported: ${firstLine(happened.data.message)}`;
    case 'coder_asked':
      return `asked (told to decide itself): ${firstLine(happened.data.question)}`;
    case 'coder_finished':
      return `says it is done: ${firstLine(happened.data.summary)}`;
    case 'auditor_found':
      return `found a ${happened.data.finding.severity}: ${firstLine(happened.data.finding.description)}`;
    case 'auditor_resolved':
      return `marked ${happened.data.id} as fixed`;
    case 'context_compacted':
      return `the ${happened.data.role} compacted its conversation: ${happened.data.why}`;
    case 'spec_settled': {
      const { spec } = happened.data;
      if (spec.status === 'taken') return `accepted as written: ${spec.why}`;
      return paint.yellow(`declined: ${spec.problem}; ${count(spec.questions.length, 'question')}`);
    }
    case 'spec_expanded': {
      const { specification, status } = happened.data;
      return `specification ${status} (${specification.criteria.length} criteria): ${firstLine(specification.problem)}`;
    }
    case 'spec_approved':
      return `specification approved by ${happened.data.by}`;
    case 'plan_stored': {
      const { id, name: called, status } = happened.data;
      return status === 'approved' ? null : `plan ${called} (${id}) ${STORED[status]}`;
    }
    case 'plan_approved':
      return `plan ${happened.data.plan} approved by ${happened.data.by}`;
    case 'plan_archived':
      return `plan ${happened.data.plan} archived by ${happened.data.by}`;
    case 'workspace_failed':
      return paint.red(`workspace failed: ${happened.data.problem}`);
    case 'workspace_lost':
      return paint.yellow(happened.data.why);
    case 'checkpoint_refused':
      return paint.yellow(`work tree refused: ${happened.data.problem}`);
    case 'batch_gated': {
      const { with: others } = happened.data;
      return others.length > 0 ? `testing it together with ${namesOf(others)}` : null;
    }
    case 'gate_completed':
      return gateEnded(happened.data, paint);
    case 'gate_cut_off':
      return `${GATES[happened.data.scope]} was interrupted; it runs again if needed`;
    case 'gate_base_completed': {
      const { command, sha, outcome } = happened.data;
      const ended = { pass: 'passes', fail: 'also fails', could_not_run: 'could not run' }[outcome];
      return `\`${command}\` ${ended} on trunk at ${shortSha(sha)}`;
    }
    case 'pull_ensured':
      return `pull request #${happened.data.pull} at ${shortSha(happened.data.headSha)}`;
    case 'push_rejected':
      return `someone else pushed ${shortSha(happened.data.sha)}; merging it in`;
    case 'person_pushed':
      return `a person pushed ${shortSha(happened.data.head.sha)}`;
    case 'verdict_recorded': {
      const { verdict, by, round } = happened.data;
      const colour = verdict === 'APPROVE' ? paint.green : paint.yellow;
      return `${colour(verdict)} by ${by}${by === 'critic' ? ` (round ${round})` : ''}`;
    }
    case 'feedback_added': {
      const { kind, text } = happened.data.feedback;
      return kind === 'ci' || kind === 'review' ? paint.yellow(`${kind}: ${saidIn(text)}`) : null;
    }
    case 'feedback_withdrawn':
      return `${happened.data.ids.join(', ')}: ${happened.data.why}`;
    case 'remarks_ignored':
      return `ignored (no write access): ${happened.data.remarks.map(({ author }) => author).join(', ')}`;
    case 'finding_decided': {
      const { finding, status, by } = happened.data;
      const stands = { open: 'is open again', wontfix: 'stays as it is', resolved: 'is fixed' };
      return `${by}: finding ${finding} ${stands[status]}`;
    }
    case 'tell_unheard':
      return paint.yellow(
        `${happened.data.by} told it too late (no turn left): ${firstLine(happened.data.text)}`,
      );
    case 'finding_written':
      return `${happened.data.by}: finding ${happened.data.finding} is new`;
    case 'change_inspected': {
      const { grave, sentBack } = happened.data;
      if (grave.length === 0) return null;
      return paint.yellow(
        `touches protected files or its own checks: ${sentBack ? 'sent back to the coder' : 'a person decides'}`,
      );
    }
    case 'phase_entered': {
      const { phase, milestone } = happened.data;
      if (phase === 'delivered') return null;
      const isOfMilestone = phase === 'coding' || phase === 'auditing';
      return `${paint.cyan(phase.replaceAll('_', ' '))}${isOfMilestone ? `, milestone ${milestone + 1}` : ''}`;
    }
    case 'audit_recorded': {
      const { audit, isClean, says } = happened.data;
      const found = says.split('\n').slice(0, 2).join(' ').replace(': - ', ': ');
      return `audit ${audit}: ${isClean ? paint.green('clean') : paint.yellow(found)}`;
    }
    case 'milestone_completed': {
      const { milestone, title, commit } = happened.data;
      const where = commit === null ? 'no change needed' : `commit ${shortSha(commit)}`;
      return `${paint.green(`milestone ${milestone + 1} done`)}: ${title} (${where})`;
    }
    case 'post_action_ended':
      return `post action: ${firstLine(happened.data.summary ?? happened.data.problem ?? '')}`;
    case 'answer_unusable':
      return paint.yellow(`no usable report: ${happened.data.problem}`);
    case 'work_updated':
      return happened.data.conflicts.length > 0
        ? paint.yellow(`conflicts with trunk in ${happened.data.conflicts.join(', ')}`)
        : 'updated to trunk';
    case 'candidate_dropped':
      return `merge postponed: ${happened.data.why}`;
    case 'merge_decided':
      return decisionLine(happened.data, paint);
    case 'hold_set': {
      const { until } = happened.data;
      const again = until === null ? '' : ` (until ${untilOf(until, happened.at)})`;
      const whose = happened.task === null ? null : (name(happened.task)?.name ?? null);
      return paint.yellow(`${holdText(happened.data, whose)}${again}`);
    }
    case 'account_limited': {
      const { account, why, until } = happened.data;
      return paint.yellow(`${account} is used up until ${untilOf(until, happened.at)}: ${firstLine(why)}`);
    }
    case 'account_released':
      return `retrying ${happened.data.account}, requested by ${happened.data.by}`;
    case 'detached': {
      const { by, how, detail, durationMs, tokens } = happened.data;
      const used = tokens > 0 ? `, ${tokens} tokens` : '';
      const after = how === 'exited' ? 'has left' : `has left: ${firstLine(detail)}`;
      return `${by} ${after} (${(durationMs / 1000).toFixed(1)} s${used})`;
    }
    case 'hold_released': {
      const { by } = happened.data;
      return `released${by === 'loop' ? '' : ` by ${by}`}; continues when a slot is free`;
    }
    case 'hold_cleared':
      return `continues (${happened.data.reason} cleared)`;
    case 'recovered':
      return `recovered: ${happened.data.plan.replaceAll('_', ' ')} (${happened.data.why})`;
    case 'worker_state_transition':
      return transitioned(happened.data, paint);
    case 'effect_failed': {
      const { action, problem, attempt } = happened.data;
      return paint.yellow(`${failedText(action, attempt)}: ${problem}`);
    }
    case 'approval_outdated':
      return paint.yellow(
        `approved by ${happened.data.by} at ${shortSha(happened.data.head)}, which is no longer the head`,
      );
    case 'request_made':
      // A restart shows as "queued again".
      if (happened.task === null || happened.data.kind === 'restart') return null;
      return `${happened.data.kind} requested by ${happened.data.by}`;
    case 'budget_warned': {
      const { scope, used, of, says } = happened.data;
      const whose = scope === 'task' ? '' : ` of the ${scope}`;
      return paint.yellow(`the budget${whose} is ${used >= of ? '' : 'nearly '}spent: ${says}`);
    }
    case 'accounts_differ': {
      const { role, turn, ...found } = happened.data;
      const text = turnWarningText({ kind: 'accounts_differ', ...found });
      return paint.yellow(`${turnName({ role, turn })} ${text}`);
    }
    case 'network_used': {
      const refused = happened.data.requests.filter(({ verdict }) => verdict === 'refused');
      if (refused.length === 0) return null;
      const hosts = refused.map(({ host, port }) => `${host}:${port}`).slice(0, 5);
      return paint.yellow(`${happened.data.by}: network access refused to ${hosts.join(', ')}`);
    }
    case 'command_answered': {
      const { command, author, accepted, says } = happened.data;
      const said = `/loop ${command} by ${author}`;
      return accepted ? said : `${said}: ${paint.yellow(firstLine(says))}`;
    }
    case 'issue_declined':
      return `${paint.bold(`#${happened.data.issue}`)} ${paint.yellow('declined')}: ${happened.data.problem ?? 'it cannot be checked (a matter of taste)'}; see the ${count(happened.data.questions.length, 'question')} in its comments`;
    case 'readiness_withdrawn':
      return `${paint.bold(`#${happened.data.issue}`)} ${paint.yellow('no longer ready')}: its text was edited`;
    case 'loop_paused':
      return `paused by ${happened.data.by}`;
    case 'loop_resumed':
      return `resumed by ${happened.data.by}`;
    case 'loop_held':
      return paint.yellow(heldWait(loopHoldOf(happened.data)).text);
    case 'loop_released': {
      const { data } = happened;
      return `continues: ${'reason' in data ? data.reason : loopHoldKey(data)} ended by ${data.by}`;
    }
    case 'gate_tried': {
      const { outcome, detail, durationMs } = happened.data;
      const text = `the gate on trunk: ${outcome.replaceAll('_', ' ')} (${(durationMs / 1000).toFixed(1)} s)`;
      return outcome === 'pass' ? text : paint.yellow(`${text}: ${firstLine(detail)}`);
    }
    case 'gate_retry_requested':
      return null;
    case 'loop_stop_requested':
      return `stop requested by ${happened.data.by}${happened.data.now ? ', at once' : ''}`;
    case 'deploy_started':
      return `deploying ${shortSha(happened.data.sha)}`;
    case 'deploy_completed': {
      const { sha, status, problem, durationMs } = happened.data;
      const text = `deploy of ${shortSha(sha)} ${status} (${(durationMs / 1000).toFixed(1)} s)`;
      return problem === null ? paint.green(text) : paint.red(`${text}: ${problem}`);
    }
    case 'hook_completed':
      return happened.data.problem === null
        ? `hook ${happened.data.name} ran`
        : paint.yellow(`hook ${happened.data.name}: ${firstLine(happened.data.problem)}`);
    case 'runner_overslept': {
      const { sleptMs, tasks } = happened.data;
      const had = tasks.map((id) => name(id)?.name ?? id).join(', ');
      const stopped = had ? `; stopped its work on ${had}` : '';
      return paint.yellow(
        `a runner was suspended for ${Math.round(sleptMs / 1000)} s, longer than its leases${stopped}`,
      );
    }
    case 'config_reloaded':
      return `${happened.data.path} reloaded`;
    case 'config_invalid':
      return paint.red(
        `${happened.data.path} can't be used; keeping the last good settings: ${happened.data.problem}`,
      );
    case 'process_stopped':
      return `stopped process ${happened.data.pid}: ${happened.data.why}`;
    case 'forge_unavailable':
      return paint.yellow(`waiting: ${happened.data.problem}`);
    case 'issues_unreadable': {
      const { problems } = happened.data;
      if (problems.length === 0) return 'everything can be read again';
      return paint.yellow(skippedText(problems));
    }
    case 'forge_answers':
      return 'the forge answers again';
    case 'notify_failed':
      return paint.yellow(
        `notification to ${happened.data.channel} failed; will retry: ${happened.data.problem}`,
      );
    case 'notify_given_up':
      return paint.red(`gave up on notification to ${happened.data.channel}: ${happened.data.problem}`);
    case 'loop_failed':
      return paint.red(`${happened.data.where}: ${happened.data.problem}`);
    default:
      return null;
  }
}

type Data<T extends LoopEvent['type']> = Extract<LoopEvent, { type: T }>['data'];

function turnEnded(
  { role, turn, status, message, durationMs }: Data<'turn_completed'>,
  paint: Paint,
): string {
  const which = turnName({ role, turn });
  const took = `${(durationMs / 1000).toFixed(1)} s`;
  if (status === 'finished') return `${which} finished (${took})`;
  return paint.yellow(
    `${which} ${status.replaceAll('_', ' ')} (${took})${message ? `: ${firstLine(message)}` : ''}`,
  );
}

const STORED = { captured: 'captured', draft: 'stored as a draft', archived: 'archived' };

const GATES = { work: 'gate', candidate: 'gate on the merged tree', trunk: 'gate on trunk' };

function gateEnded({ scope, evidence, reused, within }: Data<'gate_completed'>, paint: Paint): string {
  const where = GATES[scope];
  const notable =
    evidence.results.find((result) => result.outcome !== 'pass') ?? evidence.results.find(isFlaky);
  const detail = notable ? `: \`${notable.command}\` ${resultText(notable)}` : '';
  if (evidence.outcome === 'pass')
    return `${where} ${paint.green('passed')}${reused ? ' before, on the same tree' : ''}${within ? `, ${togetherText(within.with, within.sha)}` : ''}${detail}`;
  return `${where} ${paint.yellow(evidence.outcome === 'fail' ? 'failed' : 'could not run')}${detail}`;
}

function transitioned(
  { to, reason, why, from }: Data<'worker_state_transition'>,
  paint: Paint,
): string | null {
  if (to === 'merged') return paint.green(`merged: ${why}`);
  if (to === 'abandoned' && reason) {
    return `${paint.red(`abandoned (${reason}): ${firstLine(why)}`)}\n${' '.repeat(EVENT_HANG)}${REASONS[reason].advice}`;
  }
  if (to === 'revising') return `revising: ${why}`;
  if (to === 'merging') return `merging: ${why}`;
  return from === 'abandoned' ? `queued again: ${why}` : null;
}

/** "ann says:" is followed by her words, fenced. */
function saidIn(text: string): string {
  const [first = '', , words = ''] = text.trim().split('\n', 3);
  return shortened(first.endsWith(':') ? `${first} ${words}` : first, ROOM);
}

const firstLine = (text: string): string => firstLineOf(text, ROOM);

const ROOM = 200;
