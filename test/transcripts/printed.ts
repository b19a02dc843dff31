/** How a transcript shows what the core decided: events as they are, actions after `>`, stops after `!`, rests after `…`. */
import type { Action } from '../../src/core/action.ts';
import type { LoopEvent } from '../../src/core/event.ts';
import { loopHoldOf } from '../../src/core/loop/loop-hold.ts';
import { resultText } from '../../src/core/words/gate-text.ts';
import { loopHoldText, namesOf, togetherText } from '../../src/core/words/words.ts';
import type { Step } from '../support/play.ts';

export function printed(step: Step): string[] {
  if ('event' in step) return eventLines(step.event);
  if ('action' in step) return actionLines(step.action).map((line) => `> ${line}`);
  if ('stop' in step) return [`! stop the run: ${step.stop.status} (${step.stop.why})`];
  if ('refused' in step) return [`refused: ${step.refused}`];
  if ('prompt' in step)
    return step.prompt
      .trimEnd()
      .split('\n')
      .map((line) => `| ${line}`.trimEnd());
  const { why, until } = step.rest;
  return [`… ${why}${until === null ? '' : ` (until ${clock(until)})`}`];
}

function eventLines(happened: LoopEvent): string[] {
  switch (happened.type) {
    case 'task_created': {
      const { issue, attempt, branch, plan } = happened.data;
      if (plan) return [`plan ${plan.name}, ${plan.milestones.length} milestones, on ${branch}`];
      return [`task for #${issue}, attempt ${attempt}, on ${branch}`];
    }
    case 'worker_state_transition': {
      const { from, to, reason, why } = happened.data;
      return [`${from} → ${to}${reason ? ` ${reason}` : ''} (${brief(why)})`];
    }
    case 'contract_updated':
      return [`contract is now: ${brief(happened.data.contract.body)}`];
    case 'spec_settled': {
      const { spec } = happened.data;
      return spec.status === 'taken'
        ? [`taken as it stands (${brief(spec.why)})`]
        : [`declined (${brief(spec.problem)}), asks: ${spec.questions.map(brief).join(' | ')}`];
    }
    case 'spec_expanded': {
      const { specification, status } = happened.data;
      return [`specification ${status}: ${brief(specification.problem)}`];
    }
    case 'spec_approved':
      return [`specification agreed to by ${happened.data.by}`];
    case 'workspace_ready':
      return ['workspace ready'];
    case 'workspace_failed':
      return [`workspace failed: ${happened.data.problem}`];
    case 'turn_started':
    case 'retry_scheduled':
      return [];
    case 'turn_completed': {
      const { role, turn, status, code } = happened.data;
      return [`${role} turn ${turn} ${status}${code ? ` (${code})` : ''}`];
    }
    case 'checkpointed': {
      const { head, changed, empty } = happened.data;
      return [`head ${head.sha}${empty ? ', the same as trunk' : changed ? '' : ', unchanged'}`];
    }
    case 'checkpoint_refused':
      return [`could not be saved: ${happened.data.problem}`];
    case 'batch_gated': {
      const { sha, with: others } = happened.data;
      return others.length > 0 ? [`to be tested ${togetherText(others, sha)}`] : [];
    }
    case 'gate_completed': {
      const { scope, evidence, reused, within } = happened.data;
      const notable = evidence.results.filter((result) => result.first !== undefined).map(resultText);
      const together = within ? [togetherText(within.with, within.sha)] : [];
      const more = [...(reused ? ['reused'] : []), ...together, ...notable].map((one) => `, ${one}`).join('');
      return [`gate on the ${scope}: ${evidence.outcome} (${evidence.tree})${more}`];
    }
    case 'branch_pushed':
      return [`pushed ${happened.data.sha}`];
    case 'person_pushed':
      return [`a person pushed ${happened.data.head.sha}`];
    case 'pull_ensured':
      return [`pull request !${happened.data.pull}`];
    case 'verdict_recorded': {
      const { verdict, headSha, by, round } = happened.data;
      return [`verdict ${verdict} at ${headSha} by ${by}, round ${round}`];
    }
    case 'change_inspected': {
      const { open, grave, sentBack } = happened.data;
      if (open.length === 0) return [];
      return [`by rule, open: ${open.join(', ')}${grave.length > 0 ? ` (grave${sentBack ? ', sent back' : ''})` : ''}`];
    }
    case 'finding_written':
      return [`finding ${happened.data.finding} is new, by ${happened.data.by}`];
    case 'tell_unheard':
      return [`too late from ${happened.data.by}: ${happened.data.text}`];
    case 'finding_decided': {
      const { finding, status, by, why } = happened.data;
      return [`finding ${finding} is ${status} by ${by}${why ? ` (${why})` : ''}`];
    }
    case 'answer_unusable':
      return [`${happened.data.role} failed: ${happened.data.problem}`];
    case 'feedback_added': {
      const { kind, text } = happened.data.feedback;
      return [`feedback (${kind}): ${brief(text)}`];
    }
    case 'feedback_withdrawn':
      return [`feedback taken back (${happened.data.why})`];
    case 'feedback_acknowledged': {
      const { ids, turn } = happened.data;
      return [`told in turn ${turn}: ${ids.map(shortId).join(', ')}`];
    }
    case 'remarks_ignored':
      return [`ignored, without write access: ${happened.data.remarks.map(({ author }) => author).join(', ')}`];
    case 'candidate_built': {
      const { candidate, ahead } = happened.data;
      const { sha, headSha, trunk } = candidate;
      return [`candidate ${sha}: ${headSha} on ${ahead ? `top of ${namesOf(ahead)}, ${trunk}` : `trunk ${trunk}`}`];
    }
    case 'line_left': {
      const { with: others, text } = happened.data;
      return [`left the line: ${text === null ? 'conflicts with' : 'red on top of'} ${namesOf(others)}`];
    }
    case 'line_narrowed': {
      const { with: others, on } = happened.data;
      return [`fails together with ${namesOf(others)}${on ? `; tested on top of ${namesOf(on)} next` : ''}`];
    }
    case 'line_rejoined':
      return ['lined up again'];
    case 'gate_cut_off':
      return [`gate on the ${happened.data.scope} stopped`];
    case 'candidate_dropped':
      return [`candidate dropped: ${happened.data.why}`];
    case 'candidate_empty':
      return [`trunk ${happened.data.trunk} has it all`];
    case 'update_needed':
      return [`${happened.data.mergeInto} has to be merged in`];
    case 'work_updated': {
      const { mergedIn, conflicts } = happened.data;
      return [`merged in ${mergedIn}${conflicts.length > 0 ? `, conflicts in ${conflicts.join(', ')}` : ''}`];
    }
    case 'merge_decided': {
      const unmet = happened.data.conditions.filter(({ met }) => !met).map(({ name }) => name);
      return [happened.data.permitted ? 'merge gate: permitted' : `merge gate: refused, not met: ${unmet.join('; ')}`];
    }
    case 'merge_observed':
      return [`${happened.data.sha} is on trunk, by ${happened.data.by === 'loop' ? 'the loop' : 'a person'}`];
    case 'hold_set': {
      const { reason, detail, until } = happened.data;
      return [`hold ${reason}${until === null ? '' : ` until ${clock(until)}`} (${brief(detail)})`];
    }
    case 'account_limited': {
      const { account, until } = happened.data;
      return [`account ${account} used up until ${clock(until)}`];
    }
    case 'hold_released':
      return [`hold released by ${happened.data.by}`];
    case 'hold_cleared':
      return [`hold ${happened.data.reason} ended by ${happened.data.by}`];
    case 'recovered':
      return [`recovered: ${happened.data.plan} (${happened.data.why})`];
    case 'session_lost':
      return [`session ${happened.data.sessionId} is given up (${happened.data.why})`];
    case 'request_made':
      return [`${happened.data.kind} requested by ${happened.data.by}`];
    case 'phase_entered': {
      const { phase, milestone } = happened.data;
      return [`phase ${phase}${phase === 'coding' || phase === 'auditing' ? `, milestone ${milestone + 1}` : ''}`];
    }
    case 'audit_recorded': {
      const { audit, says, amendments } = happened.data;
      const anew = amendments.map(({ milestone, text }) => `, milestone ${milestone + 1} is now: ${brief(text)}`);
      return [`audit ${audit}: ${brief(says)}${anew.join('')}`];
    }
    case 'milestone_completed': {
      const { milestone, commit } = happened.data;
      return [`milestone ${milestone + 1} done${commit ? ` as ${commit}` : ', nothing changed'}`];
    }
    case 'post_action_ended':
      return [`post action said: ${brief(happened.data.summary ?? '')}`];
    case 'workspace_lost':
      return [`worktree lost, made anew from ${happened.data.saved}`];
    case 'recovery_failed':
      return [`unrecoverable: ${happened.data.why}`];
    case 'worktree_preserved':
      return ['worktree preserved'];
    case 'worktree_reaped':
      return ['worktree reaped'];
    default:
      return [`${happened.type} ${JSON.stringify(happened.data)}`];
  }
}

function actionLines(action: Action): string[] {
  switch (action.kind) {
    case 'label': {
      const signs = [...action.add.map((label) => `+${label}`), ...action.remove.map((label) => `-${label}`)];
      return [`label #${action.issue} ${signs.join(' ')}`];
    }
    case 'comment':
      return [`comment #${action.issue}: ${brief(action.body)}`];
    case 'tell_status':
      return [`status of #${action.issue}`];
    case 'hold_loop':
      return [loopHoldText(loopHoldOf(action.hold))];
    case 'release_loop':
      return [`release the loop: ${action.why}`];
    case 'reply':
      return [`reply to ${action.to.id}: ${brief(action.body)}`];
    case 'turn': {
      const { role, turn, sessionId, prompt, priorFailure, fallback } = action;
      const told = priorFailure && prompt !== 'revise' ? `, told: ${brief(priorFailure)}` : '';
      return [`${role} turn ${turn} on session ${sessionId} (${prompt}${told})${fallback ? `, fallback model ${fallback}` : ''}`];
    }
    case 'gate':
      return [`gate on ${action.commit}`];
    case 'hook':
      return [`hook ${action.name} on ${action.sha}`];
    case 'push':
      return [`push ${action.sha}${action.expected ? ` over ${action.expected}` : ''}`];
    case 'post_review':
      return [`review on !${action.pull}: ${action.verdict}`];
    case 'build_candidate':
      return [`build a candidate of ${action.headSha}${action.onto ? ` on ${action.onto.sha}` : ''}`];
    case 'land':
      return [`land ${action.permit.candidate.sha}`];
    case 'merge_in':
    case 'adopt_head':
      return [`${action.kind} ${action.sha}`];
    case 'seal':
      return [`seal "${action.message}" since ${action.from}`];
    case 'inspect':
      return [];
    case 'update_pull':
      return [`describe !${action.pull} anew`];
    case 'close_pull':
    case 'leave_queue':
      return [`${action.kind} !${action.pull}`];
    case 'close_issue':
      return [`close_issue #${action.issue}`];
    case 'ensure_pull':
    case 'prepare_workspace':
    case 'checkpoint':
    case 'delete_branch':
    case 'switch_checkout':
    case 'reap_workspace':
    case 'preserve_workspace':
      return [action.kind];
    case 'notify':
      return [`notify ${action.channel}`];
    default:
      return action satisfies never;
  }
}

/** Without the digest that an id ends with. */
const shortId = (id: string): string => id.replace(/:[0-9a-f]{12}$/, '');

const clock = (ms: number): string => `${ms / 1000}s`;

function brief(text: string): string {
  const line = text.trim().split('\n')[0] ?? '';
  return line.length > 90 ? `${line.slice(0, 89)}…` : line;
}
