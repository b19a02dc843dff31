/** From a published head to trunk: verdict, revision, candidate, merge. */
import { namesOf, requiredChecks, wantsOf } from './checks.ts';
import {
  approvalFor,
  approve,
  awaitGrant,
  type Decision,
  type Facts,
  gateBroken,
  gateEmpty,
  graveOf,
  hold,
  isEdited,
  isGateEmpty,
  MAX_CRITIC_BACKOFFS,
  personPushed,
  putAside,
  rest,
  stepAside,
  transition,
  waitedFor,
} from './decision.ts';
import { abandon, finish, outOfQueue } from './ending.ts';
import { type Candidate, event, type NewEvent } from './event.ts';
import { hear, objections } from './feedback.ts';
import { oneLine } from './fence.ts';
import { type Finding, isStuck, leftAsIs } from './findings.ts';
import { type Evidence, gateDigest, holdsFor } from './gate.ts';
import { gateFailureText } from './gate-text.ts';
import { mergeGate, touchedBy } from './merge.ts';
import { fallback } from './models.ts';
import type { Policy } from './policy.ts';
import { backoffMs } from './schedule.ts';
import { isByPerson, type Task } from './task.ts';
import { approvedText, editedComment, redBeforeText } from './words.ts';
import { verify } from './work.ts';

export function judge(task: Task, facts: Facts, policy: Policy, now: number): Decision {
  if (facts.branch && personPushed(task, facts)) {
    return {
      kind: 'act',
      events: [
        event('person_pushed', { head: facts.branch }),
        transition(task, 'awaiting_critic', 'a person pushed a new head'),
      ],
      actions: [{ kind: 'adopt_head', sha: facts.branch.sha }],
    };
  }
  const verdict = task.verdict && task.verdict.headSha === task.head?.sha ? task.verdict : null;
  if (verdict?.verdict === 'BLOCK') return finish(task, abandon('critic_blocked'), facts, policy, now);
  if (verdict?.verdict === 'BLOCK_ON_SPEC') return finish(task, abandon('spec_rejected'), facts, policy, now);
  if (verdict?.verdict === 'REQUEST_CHANGES') {
    const stuck = facts.openFindings.find((finding) => isStuck(finding) && finding.severity !== 'sev3');
    const open = stuck && `Open for ${stuck.rounds.length} rounds: ${oneLine(stuck.message)}`;
    const asked = `${task.changeRequests} rounds asked for changes`;
    if (task.changeRequests >= policy.critic.maxRounds) {
      const why = open ? `${asked}. ${open}` : asked;
      return finish(task, abandon('max_critic_rounds', why), facts, policy, now);
    }
    if (open) return finish(task, abandon('finding_stuck', open), facts, policy, now);
  }
  if (task.superseded) return finish(task, abandon('superseded'), facts, policy, now);
  const heard = hear(task, facts.feedback, policy);
  if (heard.length > 0) return { kind: 'act', events: heard, actions: [] };
  if (task.feedback.length > 0 || task.mergeInto !== null) return revise(task, facts, policy, now);

  const verified = verify(task, policy);
  if (verified) return verified;
  const gate = task.gate!;
  if (gate.outcome === 'could_not_run') return gateBroken(task, gate);
  if (gate.outcome === 'fail') {
    return {
      kind: 'act',
      events: [event('feedback_added', { feedback: { kind: 'gate', text: gateFailureText(gate) } })],
      actions: [],
    };
  }
  const { sha: headSha } = task.head!;
  if (task.inspected?.headSha !== headSha)
    return { kind: 'act', events: [], actions: [{ kind: 'inspect', headSha, baseSha: task.baseSha! }] };
  const grave = graveOf(task, facts);
  if (grave.length > 0 && !(verdict?.verdict === 'APPROVE' && isByPerson(verdict))) {
    const approved = approvalFor(task, facts);
    if (approved) return { kind: 'act', ...approve(task, facts, approved.by, now) };
    return { kind: 'act', events: [hold('protected_paths', graveText(grave))], actions: [] };
  }
  const refused = refusals(task, facts, policy);
  if (refused) return { kind: 'act', events: [refused], actions: [] };
  if (verdict?.verdict !== 'APPROVE') return seekVerdict(task, facts, policy, now);
  return awaitRules(facts) ?? awaitChecks(task, facts, policy, now) ?? enterMerge(task, facts, policy);
}

const graveText = (grave: readonly Finding[]): string =>
  grave
    .slice(0, 5)
    .map(({ message }) => message)
    .join(' ');

/** CI or a person said no to this very head, and the coder, who was told, left it as it is: a person decides. */
function refusals(task: Task, facts: Facts, policy: Policy): NewEvent | null {
  const checks = requiredChecks(facts.feedback, task.head!.sha, policy) ?? [];
  const red = namesOf(checks, 'red');
  if (red) return hold('checks_red', `red at ${task.head!.sha.slice(0, 10)}: ${red}`);
  const [objection] = objections(facts.feedback?.remarks ?? [], task.head!.sha);
  return objection
    ? hold('changes_requested', `${objection.author} asked for changes at ${task.head!.sha.slice(0, 10)}`)
    : null;
}

/** The forge would refuse it: whoever can do something about that is told before it is tried. */
function awaitRules({ feedback }: Facts): Decision | null {
  const wants = feedback ? wantsOf(feedback) : [];
  return wants.length > 0 ? { kind: 'act', events: [rulesUnmet(wants)], actions: [] } : null;
}

const rulesUnmet = (wants: readonly string[]): NewEvent => hold('rules_unmet', wants.join('; '));

/** Checks take their time; only when they take too long is it a person's matter. */
function awaitChecks(task: Task, facts: Facts, policy: Policy, now: number): Decision | null {
  const checks = requiredChecks(facts.feedback, task.head!.sha, policy) ?? [];
  const pending = namesOf(checks, 'pending');
  if (!pending) return null;
  const until = (task.pushedAt ?? now) + policy.merge.checksWaitMs;
  if (now < until) return rest(`approved; waiting for the checks ${pending}`, until);
  return { kind: 'act', events: [hold('checks_pending', `still not reported: ${pending}`)], actions: [] };
}

export function revise(task: Task, facts: Facts, policy: Policy, now: number): Decision {
  if (task.turns >= policy.maxTurns) {
    return finish(
      task,
      abandon(
        'max_turns_reached',
        [`${task.turns} of ${policy.maxTurns} turns used, and it still needs changes`, redBeforeText(task)]
          .filter(Boolean)
          .join('. '),
      ),
      facts,
      policy,
      now,
    );
  }
  if (!facts.slot) return awaitGrant('changes were asked for; waiting for a slot');
  return {
    kind: 'act',
    events: [transition(task, 'revising', kindsOf(task) || 'trunk moved')],
    actions: [{ kind: 'prepare_workspace' }],
    limits: { slots: policy.maxConcurrent },
  };
}

const kindsOf = ({ feedback }: Task): string => [...new Set(feedback.map(({ kind }) => kind))].join(', ');

export function seekVerdict(task: Task, facts: Facts, policy: Policy, now: number): Decision {
  const head = task.head!;
  if (!policy.critic.enabled) {
    const approved = approvalFor(task, facts);
    if (approved) return { kind: 'act', ...approve(task, facts, approved.by, now) };
    return {
      kind: 'act',
      events: [hold('needs_approval', `a person has to approve ${head.sha.slice(0, 10)}`)],
      actions: [],
    };
  }
  const { critic: failures } = task.streaks;
  if (task.criticHeldOnce && failures > MAX_CRITIC_BACKOFFS + 2) {
    return finish(task, abandon('critic_unusable'), facts, policy, now);
  }
  if (failures > 1 && !waitedFor(task, now)) {
    if (failures > MAX_CRITIC_BACKOFFS + 1) {
      return {
        kind: 'act',
        events: [
          event('retry_scheduled', { until: now }),
          hold('critic_unusable', `${failures} reports in a row were unusable`),
        ],
        actions: [],
      };
    }
    const until = now + backoffMs(failures - 1, facts.jitter);
    return {
      kind: 'act',
      events: [
        event('retry_scheduled', { until }),
        hold('retry_backoff', 'the critic gave no usable report', until),
      ],
      actions: [],
    };
  }
  if (!facts.criticSlot) return awaitGrant('waiting for a critic');
  const turn = task.criticRounds + 1;
  const sessionId = facts.newSessionId;
  return {
    kind: 'act',
    events: [event('turn_started', { turn, role: 'critic', sessionId, prompt: 'critic' })],
    actions: [
      {
        kind: 'turn',
        role: 'critic',
        turn,
        sessionId,
        prompt: 'critic',
        priorFailure: task.reportProblem ?? null,
        ...fallback(policy.agents.critic, task.criticBroke ?? null, failures),
      },
    ],
    limits: { critics: policy.critic.parallel },
  };
}

export function enterMerge(task: Task, facts: Facts, policy: Policy): Decision {
  if (!policy.merge.enabled)
    return { kind: 'act', events: [hold('needs_merge', 'merge.enabled is false')], actions: [] };
  if (isEdited(task, facts)) return holdEdited(task, facts, policy);
  if (task.queued)
    return {
      kind: 'act',
      events: [
        event('queue_left', {}),
        hold('merge_refused', 'the merge queue gave it back: see the pull request'),
      ],
      actions: [],
    };
  if (!facts.mergeFree) return awaitGrant('another task is merging');
  if (facts.mergeBlocker)
    return { kind: 'act', events: [hold('dirty_checkout', facts.mergeBlocker)], actions: [] };
  return {
    kind: 'act',
    events: [transition(task, 'merging', approvedText(task.verdict!, leftAsIs(facts.ledger)))],
    actions: [{ kind: 'build_candidate', headSha: task.head!.sha }],
    limits: { merging: 1 },
  };
}

/** Somebody has to agree to the new text; they are told once for each text. */
function holdEdited(task: Task, { issue }: Facts, policy: Policy, before: NewEvent[] = []): Decision {
  const marker = `${task.id}:edited:${issue?.textHash.slice(0, 12)}`;
  const body = editedComment(task, policy.labels.ready);
  return {
    kind: 'act',
    events: [
      ...before,
      ...(task.queued ? [event('queue_left', {})] : []),
      hold('body_edited', 'the issue was edited after it was made ready'),
    ],
    actions: [
      ...outOfQueue(task),
      ...(task.issue === null ? [] : [{ kind: 'comment' as const, issue: task.issue, marker, body }]),
    ],
  };
}

export function merge(task: Task, facts: Facts, policy: Policy, now: number): Decision {
  const back = (why: string, ...events: NewEvent[]): Decision => stepAside(task, why, ...events);
  if (facts.branch?.sha !== task.head?.sha) return back('the head moved');
  if (isEdited(task, facts)) return holdEdited(task, facts, policy, putAside(task, 'the issue was edited'));
  if (facts.mergeBlocker)
    return back('the checkout is not clean', hold('dirty_checkout', facts.mergeBlocker));
  // What blocked it can't be seen from here, so only time tells whether it is gone.
  if (task.landProblem) {
    const until = now + backoffMs(task.streaks.landing ?? 1, facts.jitter);
    return back('the checkout could not be moved along', hold('dirty_checkout', task.landProblem, until));
  }
  if (task.superseded) return finish(task, abandon('superseded'), facts, policy, now);
  const heard = hear(task, facts.feedback, policy);
  if (heard.length > 0) return { kind: 'act', events: heard, actions: [] };
  if (task.feedback.length > 0 || task.mergeInto !== null) {
    if (!facts.slot || task.turns >= policy.maxTurns)
      return back('the merged tree needs changes; waiting for a slot');
    return {
      kind: 'act',
      events: [
        event('candidate_dropped', { why: 'it needs changes' }),
        transition(task, 'revising', kindsOf(task) || 'conflict'),
      ],
      actions: [{ kind: 'prepare_workspace' }],
      limits: { slots: policy.maxConcurrent },
    };
  }
  if (isGateEmpty(policy)) return back('no gate is configured', gateEmpty());
  const { candidate, candidateGate: gate } = task;
  if (!candidate)
    return { kind: 'act', events: [], actions: [{ kind: 'build_candidate', headSha: task.head!.sha }] };
  const digest = gateDigest(policy.gate, task.contract);
  if (!holdsFor(gate, candidate.tree, digest)) return testCandidate(task, candidate, digest);
  if (gate.outcome === 'could_not_run') {
    const broken = gateBroken(task, gate);
    return { ...broken, events: [...putAside(task, 'the gate could not run'), ...broken.events] };
  }
  if (gate.outcome === 'fail') {
    const feedback = { kind: 'gate' as const, text: gateFailureText(gate) };
    return {
      kind: 'act',
      events: [event('feedback_added', { feedback }), event('update_needed', { mergeInto: candidate.trunk })],
      actions: [],
    };
  }

  const checks = requiredChecks(facts.feedback, task.head?.sha ?? null, policy);
  const waiting = checks?.filter(({ state }) => state !== 'green') ?? [];
  if (waiting.length > 0) return back(`not green: ${waiting.map(({ name }) => name).join(', ')}`);

  const wants = facts.feedback ? wantsOf(facts.feedback) : [];
  if (wants.length > 0) return back('the rules of the branch are not met', rulesUnmet(wants));

  // The rules had the coder take it back once; what is there now is a person's matter.
  const delicate = [...touchedBy(facts.change, policy), ...facts.change.secrets];
  if (delicate.length > 0 && !isByPerson(task.verdict)) {
    const approved = approvalFor(task, facts);
    if (approved) return { kind: 'act', ...approve(task, facts, approved.by, now) };
    return back('a person has to agree to it', hold('protected_paths', delicate.slice(0, 5).join(', ')));
  }
  const decision = mergeGate(
    task,
    {
      issueOpen: facts.issue?.state === 'open' || task.issue === null,
      textHash: facts.issue?.textHash ?? null,
      branchSha: facts.branch?.sha ?? null,
      openFindings: facts.openFindings,
      left: leftAsIs(facts.ledger),
      change: facts.change,
      checks,
      wants: facts.feedback && wantsOf(facts.feedback),
      objections: facts.feedback && objections(facts.feedback.remarks, task.head?.sha ?? null),
    },
    policy,
  );
  const recorded = event('merge_decided', {
    permitted: decision.permit !== null,
    conditions: decision.conditions,
  });
  if (decision.permit)
    return { kind: 'act', events: [recorded], actions: [{ kind: 'land', permit: decision.permit }] };
  const unmet = decision.conditions.filter((one) => !one.met).map((one) => `${one.name} (${one.value})`);
  return back('the merge gate refused', recorded, hold('merge_refused', `not met: ${unmet.join('; ')}`));
}

/** Runs the gate on it, unless a candidate with the same tree has passed these very commands against the same trunk. */
function testCandidate(task: Task, candidate: Candidate, digest: string): Decision {
  const known = task.candidateEvidence ?? null;
  if (holdsFor(known, candidate.tree, digest) && known.outcome === 'pass' && restsOn(known, candidate.trunk))
    return {
      kind: 'act',
      events: [event('gate_completed', { scope: 'candidate', evidence: known, reused: true })],
      actions: [],
    };
  const { tree, sha: commit, trunk: base } = candidate;
  return { kind: 'act', events: [], actions: [{ kind: 'gate', scope: 'candidate', tree, commit, base }] };
}

/** A red that was let pass because trunk was red says nothing about another trunk. */
const restsOn = (evidence: Evidence, trunk: string): boolean =>
  evidence.results.every((result) => result.base === undefined || result.base.sha === trunk);
