/** From a published head to trunk: verdict, revision, candidate, merge. */
import type { Action } from './action.ts';
import { approve } from './approval.ts';
import { hear } from './change/feedback.ts';
import { type Finding, isStuck, leftAsIs } from './change/findings.ts';
import {
  type Act,
  act,
  approvalFor,
  awaitGrant,
  type Decision,
  type Facts,
  gateEmpty,
  givenBack,
  graveOf,
  hold,
  isEdited,
  isGateEmpty,
  MAX_LANDING_REFUSALS,
  personPushed,
  putAside,
  QUEUE_LAG_MS,
  rest,
  saidOf,
  stepAside,
  transition,
  verdictAtHead,
  waitedFor,
} from './decision.ts';
import { abandon, finish, outOfQueue } from './ending.ts';
import { type Candidate, type Checkpoint, event, type NewEvent } from './event.ts';
import { type Evidence, gateDigest, proves } from './gate.ts';
import { agreedHash } from './issue/text-hash.ts';
import { batchStep, type InBatch, testOf } from './line/batch.ts';
import { type Ahead, asAhead, isSettled, type Misfit, narrowed } from './line/line.ts';
import { backoffMs } from './line/schedule.ts';
import { mergeGate, touchedBy } from './merge.ts';
import type { Policy } from './policy.ts';
import {
  isByPerson,
  isReworked,
  mishaps,
  type RecordedVerdict,
  required,
  runsAlone,
  type Task,
  turnsHere,
} from './task.ts';
import { askAnew, lastProblem, nextTry, startTurn } from './turn.ts';
import { approvedText, editedComment } from './words/comments.ts';
import { oneLine } from './words/fence.ts';
import { gateFailureText } from './words/gate-text.ts';
import { shortSha } from './words/short-sha.ts';
import { nameOf, namesOf, redAloneText, redBeforeText, redTogetherText } from './words/words.ts';
import { evidenceAt, gateBroken, inspect, prepareAgain, verify } from './work.ts';

export function judge(task: Task, facts: Facts, policy: Policy, now: number): Decision {
  if (isReworked(task)) {
    if (!facts.slot) return awaitGrant('slot', 'a person changed its worktree; waiting for a slot');
    return {
      ...act([transition(task, 'revising', 'a person changed its worktree')]),
      limits: { slots: policy.maxConcurrent },
    };
  }
  if (facts.branch && personPushed(task, facts)) {
    return act(
      [
        event('person_pushed', { head: facts.branch }),
        transition(task, 'awaiting_critic', 'a person pushed a new head'),
      ],
      [{ kind: 'adopt_head', sha: facts.branch.sha }],
    );
  }
  const head = required(task, 'head');
  if (task.unprepared) return prepareAgain(task, task.unprepared, facts, policy, now, head.sha);
  const verdict = verdictAtHead(task);
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
  if (heard.length > 0) return act(heard);
  if (task.feedback.length > 0 || task.mergeInto !== null) return revise(task, facts, policy, now);

  const gate = evidenceAt(head, task, policy);
  if (!gate) return verify(head, task, policy);
  if (gate.outcome === 'could_not_run') return gateBroken(task, gate);
  if (gate.outcome === 'fail')
    return act([event('feedback_added', { feedback: { kind: 'gate', text: gateFailureText(gate) } })]);
  if (task.inspected?.headSha !== head.sha) return inspect(head, task);
  const grave = graveOf(task, facts);
  if (grave.length > 0 && !(verdict?.verdict === 'APPROVE' && isByPerson(verdict)))
    return byPerson(task, head, facts, now) ?? act([hold('protected_paths', graveText(grave))]);
  const refused = refusals(task, head, facts, policy);
  if (refused) return act([refused]);
  if (verdict?.verdict !== 'APPROVE') return seekVerdict(task, head, facts, policy, now);
  return (
    awaitRules(task, facts, policy) ??
    awaitChecks(task, facts, policy, now) ??
    enterMerge(task, verdict, facts, policy, now)
  );
}

/** The approval that a person gave this head on the forge, taken as the verdict. */
function byPerson(task: Task, head: Checkpoint, facts: Facts, now: number): Act | null {
  const approved = approvalFor(task, facts);
  return approved && approve(task, head, facts, approved.by, now);
}

const graveText = (grave: readonly Finding[]): string =>
  grave
    .slice(0, 5)
    .map(({ message }) => message)
    .join(' ');

/** CI or a person said no to this very head, and the coder, who was told, left it as it is: a person decides. */
function refusals(task: Task, { sha }: Checkpoint, facts: Facts, policy: Policy): NewEvent | null {
  const said = saidOf(task, facts, policy);
  if (said?.red) return hold('checks_red', `red at ${shortSha(sha)}: ${said.red}${said.unread}`);
  const [objection] = said?.objections ?? [];
  return objection
    ? hold('changes_requested', `${objection.author} asked for changes at ${shortSha(sha)}`)
    : null;
}

/** The forge would refuse it: whoever can do something about that is told before it is tried. */
function awaitRules(task: Task, facts: Facts, policy: Policy): Decision | null {
  const wants = saidOf(task, facts, policy)?.wants ?? [];
  return wants.length > 0 ? act([rulesUnmet(wants)]) : null;
}

const rulesUnmet = (wants: readonly string[]): NewEvent => hold('rules_unmet', wants.join('; '));

/** Checks take their time; only when they take too long is it a person's matter. */
function awaitChecks(task: Task, facts: Facts, policy: Policy, now: number): Decision | null {
  const said = saidOf(task, facts, policy);
  if (!said?.pending) return null;
  const pending = `${said.pending}${said.unread}`;
  const until = (task.published?.at ?? now) + policy.merge.checksWaitMs;
  if (now < until) return rest(`approved; waiting for the checks ${pending}`, until);
  return act([hold('checks_pending', `still not reported: ${pending}`)]);
}

function revise(task: Task, facts: Facts, policy: Policy, now: number): Decision {
  if (turnsHere(task) >= policy.maxTurns) {
    return finish(
      task,
      abandon(
        'max_turns_reached',
        [
          `${turnsHere(task)} of ${policy.maxTurns} turns used, and it still needs changes`,
          redBeforeText(task),
        ]
          .filter(Boolean)
          .join('. '),
      ),
      facts,
      policy,
      now,
    );
  }
  if (!facts.slot) return awaitGrant('slot', 'changes were asked for; waiting for a slot');
  return backToWork(task, [], 'trunk moved', policy);
}

/** With a slot; `otherwise` says why where nothing was asked for. */
const backToWork = (task: Task, before: NewEvent[], otherwise: string, policy: Policy): Act => ({
  ...act(
    [...before, transition(task, 'revising', kindsOf(task) || otherwise)],
    [{ kind: 'prepare_workspace' }],
  ),
  limits: { slots: policy.maxConcurrent },
});

const kindsOf = ({ feedback }: Task): string => [...new Set(feedback.map(({ kind }) => kind))].join(', ');

function seekVerdict(task: Task, head: Checkpoint, facts: Facts, policy: Policy, now: number): Decision {
  if (!policy.critic.enabled) {
    const asks = hold('needs_approval', `waiting for your approval of ${shortSha(head.sha)}`);
    return byPerson(task, head, facts, now) ?? act([asks]);
  }
  const next = nextTry(task, 'critic', facts, policy, now);
  if (next.kind === 'later') return act(next.events, next.actions);
  // A person is asked before it is given up; whoever lets it go on grants one more try.
  if (next.kind === 'spent' && !waitedFor(task, now)) {
    const { critic } = task.roles;
    const count = mishaps(critic, ['unusable', 'failed', 'stalled']);
    const problem = oneLine(lastProblem(critic));
    if (critic.releasedAt !== null && count > critic.releasedAt)
      return finish(task, abandon('critic_unusable', `the last report: ${problem}`), facts, policy, now);
    const detail = `${count} reports in a row were unusable, the last: ${problem}`;
    return act([event('retry_scheduled', { until: now }), hold('critic_unusable', detail)]);
  }
  if (!facts.criticSlot)
    return awaitGrant(
      'critic',
      runsAlone(task) ? 'its critic runs alone, once no other turn is at work' : 'waiting for a critic',
    );
  const turn = task.criticRounds + 1;
  const session = warmSession(task, policy, now);
  if (session === null) return askAnew(task, 'critic', turn, facts, policy);
  return startTurn(
    task,
    'critic',
    { turn, session, prompt: 'next_round', priorFailure: null },
    facts,
    policy,
  );
}

/** As long as providers keep a conversation in their caches at least. After that, going on would cost more than to begin anew. */
const WARM_MS = 5 * 60_000;

/** Of a patch. Each call reads the earlier diffs again: of a larger change they cost more than what need not be told again. */
const SMALL_CHARS = 20_000;

/** The conversation that gave the last verdict, where going on with it saves money; null begins another. */
function warmSession({ roles, inspected }: Task, policy: Policy, now: number): string | null {
  const { session, answeredAt = 0 } = roles.critic;
  const isSmall = (inspected?.chars ?? 0) <= SMALL_CHARS;
  // A program of the operator's own may remember nothing, and says so to nobody.
  const remembers = policy.agents.critic.kind !== 'command';
  const isWorthIt = policy.session === 'persist' && remembers && isSmall && now - answeredAt < WARM_MS;
  return isWorthIt ? session : null;
}

function enterMerge(
  task: Task,
  verdict: RecordedVerdict,
  facts: Facts,
  policy: Policy,
  now: number,
): Decision {
  if (!policy.merge.enabled) return act([hold('needs_merge', 'merge.enabled is false')]);
  const unproved = facts.issue?.unproved;
  if (unproved) return rest(unproved.why, unproved.until);
  if (isEdited(task, facts)) return holdEdited(task, facts, policy);
  if (task.inMergeQueue) return awaitQueue(task, task.inMergeQueue, facts, now);
  if (!facts.mergeFree) return awaitGrant('merge', 'approved; others merge first');
  if (facts.mergeBlocker) return act([hold('dirty_checkout', facts.mergeBlocker)]);
  // Its candidate follows from the line as it is once it stands in it: another may line up in the same instant.
  return {
    ...act([transition(task, 'merging', approvedText(verdict, leftAsIs(facts.ledger)))]),
    limits: { merging: facts.lineLength },
  };
}

/**
 * A forge may take it out of the queue before it shows that it is merged: unless it says that it gave it back, that is
 * waited for. It is never put in again without a person's word.
 */
function awaitQueue(
  task: Task,
  { unseenAt }: NonNullable<Task['inMergeQueue']>,
  facts: Facts,
  now: number,
): Decision {
  if (facts.pull?.inMergeQueue) {
    const seen = unseenAt === undefined ? [] : [event('queue_shows', { there: true })];
    return act([...seen, hold('merge_queued', 'it is in the merge queue')]);
  }
  const why = givenBack(task, facts);
  // A time that is still to come is of a clock that was set back: it is waited for from now on.
  if (why === null && (unseenAt === undefined || unseenAt > now)) {
    const detail = 'left the merge queue; waiting for the forge to say why';
    return act([event('queue_shows', { there: false }), hold('merge_queued', detail, now + QUEUE_LAG_MS)]);
  }
  if (why === null && now < (unseenAt ?? 0) + QUEUE_LAG_MS)
    return act([
      hold(
        'merge_queued',
        'waiting for the forge to report the result of the merge queue',
        (unseenAt ?? 0) + QUEUE_LAG_MS,
      ),
    ]);
  const said = why === null ? 'see the pull request' : oneLine(why);
  return act([event('queue_left', {}), hold('merge_refused', `the merge queue rejected it: ${said}`)]);
}

/** Somebody has to agree to the new text; they are told once for each text. */
export function holdEdited(task: Task, { issue }: Facts, policy: Policy, before: NewEvent[] = []): Decision {
  const marker = `${task.id}:edited:${issue?.textHash.slice(0, 12)}`;
  const body = editedComment(task, policy.labels.ready);
  return act(
    [
      ...before,
      ...(task.inMergeQueue ? [event('queue_left', {})] : []),
      hold('body_edited', 'the issue was edited after it was made ready'),
    ],
    [
      ...outOfQueue(task),
      ...(task.issue === null ? [] : [{ kind: 'comment' as const, issue: task.issue, marker, body }]),
    ],
  );
}

export function merge(task: Task, facts: Facts, policy: Policy, now: number): Decision {
  const back = (why: string, ...events: NewEvent[]): Decision => stepAside(task, why, ...events);
  const head = required(task, 'head');
  if (facts.branch?.sha !== head.sha) return back('the head moved');
  const unproved = facts.issue?.unproved;
  if (unproved) return back(unproved.why, hold('retry_backoff', unproved.why, unproved.until));
  if (isEdited(task, facts)) return holdEdited(task, facts, policy, putAside(task, 'the issue was edited'));
  if (facts.mergeBlocker)
    return back('the checkout is not clean', hold('dirty_checkout', facts.mergeBlocker));
  const { landProblem } = task;
  if (landProblem?.by === 'forge')
    return back('the forge refused it', refusedLanding(task, landProblem.detail, facts, policy, now));
  // What blocked it can't be seen from here, so only time tells whether it is gone.
  if (landProblem) {
    const until = now + backoffMs(task.streaks.blocked, facts.jitter, policy.maxBackoffMs);
    return back(
      'the checkout could not be fast-forwarded',
      hold('dirty_checkout', landProblem.detail, until),
    );
  }
  if (task.superseded) return finish(task, abandon('superseded'), facts, policy, now);
  const heard = hear(task, facts.feedback, policy);
  if (heard.length > 0) return act(heard);
  if (task.feedback.length > 0 || task.mergeInto !== null) {
    if (!facts.slot || turnsHere(task) >= policy.maxTurns)
      return back('the merged tree needs changes; waiting for a slot');
    return backToWork(task, [event('candidate_dropped', { why: 'it needs changes' })], 'conflict', policy);
  }
  if (isGateEmpty(policy)) return back('no gate is configured', gateEmpty());
  const { landing } = task;
  if (task.misfit && isSettled(task.misfit)) return awaitPartners(task, task.misfit, facts);
  if (task.misfit && !landing) return buildBeside(task, head, task.misfit, facts);
  const below = task.misfit ? [] : facts.ahead;
  const last = below.at(-1);
  if (last?.candidate === null)
    return awaitGrant('merge', `waiting for the candidate of ${nameOf(last)}, which is ahead`);
  const base = last?.candidate?.sha ?? facts.trunk;
  if (!landing) {
    const onto = last?.candidate && { sha: last.candidate.sha, ahead: below.map(asAhead) };
    return act([], [buildCandidate(head, onto)]);
  }
  // Beside the line it is tested on what trunk was, which it still passes or fails alone.
  if (landing.candidate.trunk !== base && !task.misfit)
    return act([event('candidate_dropped', { why: staleText(landing, facts) })]);
  const untested = facts.batch
    ? testTogether(task, landing, facts.batch, facts, policy)
    : testByItself(task, landing, facts, policy);
  if (untested) return untested;

  const said = saidOf(task, facts, policy);
  const waiting = said?.checks.filter(({ state }) => state !== 'green') ?? [];
  if (waiting.length > 0) return back(`not green: ${waiting.map(({ name }) => name).join(', ')}`);
  const wants = said?.wants ?? [];
  if (wants.length > 0) return back('the rules of the branch are not met', rulesUnmet(wants));

  // The rules had the coder take it back once; what is there now is a person's matter.
  const delicate = [...touchedBy(facts.change, policy), ...facts.change.secrets];
  if (delicate.length > 0 && !isByPerson(task.verdict))
    return (
      byPerson(task, head, facts, now) ??
      back('a person has to agree to it', hold('protected_paths', delicate.slice(0, 5).join(', ')))
    );
  if (below.length > 0) return awaitGrant('merge', `tested; ${namesOf(below)} first`);
  const decision = mergeGate(
    task,
    {
      issueOpen: facts.issue?.state === 'open' || task.issue === null,
      // A plan without an issue is its own contract, pinned when it was started.
      textHash: task.issue === null ? agreedHash(task.contract) : (facts.issue?.textHash ?? null),
      branchSha: facts.branch?.sha ?? null,
      openFindings: facts.openFindings,
      left: leftAsIs(facts.ledger),
      change: facts.change,
      said,
    },
    policy,
  );
  const recorded = event('merge_decided', {
    permitted: decision.permit !== null,
    conditions: decision.conditions,
  });
  if (decision.permit) return act([recorded], [{ kind: 'land', permit: decision.permit }]);
  const unmet = decision.conditions.filter((one) => !one.met).map((one) => `${one.name} (${one.value})`);
  return back('the merge gate refused', recorded, hold('merge_refused', `not met: ${unmet.join('; ')}`));
}

/** On top of those ahead, or alone when it stands beside the line. Null when it is green and in line. */
function testByItself(task: Task, landing: Landing, facts: Facts, policy: Policy): Decision | null {
  const { candidate, gate, within } = landing;
  const { misfit } = task;
  const digests = [gateDigest(policy.gate, task.contract)];
  if (within || !proves(gate, candidate.tree, digests))
    return testCandidate(task, candidate, { digests, base: candidate.trunk });
  if (gate.outcome === 'could_not_run') return couldNotTest(task, gate);
  if (gate.outcome === 'fail') {
    const text = gateFailureText(gate);
    if (misfit?.on) return narrow(misfit, { red: text }, facts);
    if (misfit && hasPartners(landing, facts)) return settle(task, misfit, facts);
    if (misfit) return sendBack(landing, redAloneText(text));
    if (facts.ahead.length > 0) return act([event('line_left', { with: facts.ahead.map(asAhead), text })]);
    const { ahead: landed = [] } = landing;
    if (landed.length > 1) return act([event('line_narrowed', narrowed({ with: landed, text }, 'green'))]);
    return sendBack(landing, redOnTop(landing, text));
  }
  if (!misfit) return null;
  if (!misfit.on && hasPartners(landing, facts)) return rejoin(facts);
  return settle(task, misfit, facts);
}

/** They landed before it was built: what was tested then is not it alone. */
const hasPartners = ({ candidate }: Landing, { partners, trunk }: Facts): boolean =>
  partners === 'landed' && candidate.trunk === trunk;

/** It passes without them: which of them it is is found out, and what becomes of that one waited for. */
const settle = (task: Task, misfit: Misfit, facts: Facts): Decision =>
  misfit.with.length > 1 ? narrow(misfit, 'green', facts) : awaitPartners(task, misfit, facts);

/** What was found beside the line holds for these partners only. */
function narrow(misfit: Misfit, found: { red: string } | 'green', facts: Facts): Decision {
  if (facts.partners === 'gone') return rejoin(facts);
  return act([event('line_narrowed', narrowed(misfit, found))]);
}

/** Alone, or on top of some of those it does not go together with, to tell which of them it is. */
function buildBeside(task: Task, head: Checkpoint, misfit: Misfit, facts: Facts): Decision {
  const { on } = misfit;
  // On trunk by now, there is no testing without them: its branch alone has passed, or it would not be here.
  if (!on && facts.partners === 'landed') return settle(task, misfit, facts);
  if (!on) return act([], [buildCandidate(head)]);
  if (facts.partners === 'gone') return rejoin(facts);
  if (facts.onto === null) return awaitGrant('merge', `waiting for the candidate of ${nameOf(on.at(-1)!)}`);
  return act([], [buildCandidate(head, { sha: facts.onto, ahead: on })]);
}

const rejoin = ({ lineLength }: Facts): Decision => ({
  ...act([event('line_rejoined', {})]),
  limits: { merging: lineLength },
});

/** As one of a batch. Null when it is green, by its own gate or by that of one that contains it. */
function testTogether(
  task: Task,
  landing: Landing,
  batch: readonly InBatch[],
  { ahead }: Facts,
  policy: Policy,
): Decision | null {
  const { candidate, gate, within } = landing;
  const digest = gateDigest(policy.gate, task.contract);
  // Built anew under it, with the same tree: what was found on that still counts, wherever it stands now.
  const known =
    gate === null ? reusable(task, candidate.tree, testOf(batch, task.id, policy.gate), true) : null;
  if (known) return known;
  const step = batchStep(batch, task.id, policy.gate);
  switch (step.kind) {
    case 'wait':
      return awaitGrant('merge', step.why);
    case 'test':
      return testCandidate(task, candidate, step);
    case 'red': {
      if (step.gate.outcome === 'could_not_run') return couldNotTest(task, step.gate);
      // They are green without it, and land before anything else does.
      if (ahead.length > 0)
        return awaitGrant('merge', `fails together with ${namesOf(ahead)}; waiting until that has landed`);
      const text = gateFailureText(step.gate);
      return sendBack(landing, landing.ahead ? redOnTop(landing, text) : redAloneText(text));
    }
    case 'proven': {
      const { task: by, issue, candidate: tested, gate: evidence, ahead: others } = step.by;
      if (by === task.id || within?.sha === tested.sha) return null;
      const all = [...others.filter((one) => one.task !== task.id), { task: by, issue }];
      return act([
        event('gate_completed', {
          scope: 'candidate',
          evidence: { ...evidence, digest },
          within: { sha: tested.sha, tree: tested.tree, with: all },
        }),
      ]);
    }
    default:
      return step satisfies never;
  }
}

type Landing = NonNullable<Task['landing']>;

function couldNotTest(task: Task, gate: Evidence): Decision {
  const broken = gateBroken(task, gate);
  return { ...broken, events: [...putAside(task, 'the gate could not run'), ...broken.events] };
}

/** The coder mends it, with what it was tested on in its work. */
const sendBack = ({ candidate }: Landing, text: string): Decision =>
  act([
    event('feedback_added', { feedback: { kind: 'gate', text } }),
    event('update_needed', { mergeInto: candidate.trunk }),
  ]);

const buildCandidate = (
  { sha: headSha }: Checkpoint,
  onto?: Extract<Action, { kind: 'build_candidate' }>['onto'] | null,
): Action => ({ kind: 'build_candidate', headSha, ...(onto && { onto }) });

/** Those it was tested on top of have landed since; its branch alone has passed, or it would not be here. */
const redOnTop = ({ ahead = [] }: Landing, text: string): string =>
  ahead.length === 0 ? text : redTogetherText(namesOf(ahead), text);

/** What it was found to fail with decides: landed, they are what the coder has to work with; gone, it was their fault too. */
function awaitPartners(task: Task, misfit: Misfit, facts: Facts): Decision {
  const names = namesOf(misfit.with);
  switch (facts.partners) {
    case 'landed': {
      const feedback = { kind: 'gate' as const, text: redTogetherText(names, misfit.text ?? '') };
      return act([
        ...(misfit.text === null ? [] : [event('feedback_added', { feedback })]),
        event('update_needed', { mergeInto: trunkOf(task, facts) }),
      ]);
    }
    case 'gone':
      return rejoin(facts);
    default:
      return awaitGrant(
        'merge',
        misfit.text === null
          ? `conflicts with ${names}; waiting until that has landed`
          : `passes alone, fails together with ${names}; waiting until that has landed`,
      );
  }
}

/** It is read for every task that is merging. */
function trunkOf({ id }: Task, { trunk }: Facts): string {
  if (trunk === null) throw new Error(`bug: task ${id} is merging and nobody asked where trunk is`);
  return trunk;
}

function staleText({ ahead = [] }: Landing, facts: Facts): string {
  const gone = ahead.filter(({ task }) => !facts.ahead.some((one) => one.task === task));
  if (gone.length === 0) return 'trunk or the line moved';
  return `${namesOf(gone)} ${gone.length === 1 ? 'is' : 'are'} not ahead any more`;
}

/** Most of what a forge refuses it takes a moment later; only what it refuses again and again is a person's matter. */
function refusedLanding(
  { streaks }: Task,
  said: string,
  { jitter }: Facts,
  { maxBackoffMs }: Policy,
  now: number,
): NewEvent {
  const tries = streaks.refused;
  if (tries >= MAX_LANDING_REFUSALS) return hold('merge_refused', `refused ${tries} times: ${said}`);
  return hold('retry_backoff', said, now + backoffMs(tries, jitter, maxBackoffMs));
}

/** What a gate under way was to prove is not what would land any more; null while it is. */
export function whyVoid(
  { landing, misfit }: Task,
  { scope, commit }: { scope: string; commit: string },
  facts: Facts,
): string | null {
  if (scope !== 'candidate' || misfit || landing?.candidate.sha !== commit) return null;
  const { trunk, trunkTree } = landing.candidate;
  const last = facts.ahead.at(-1);
  const base = last ? last.candidate : { sha: facts.trunk, tree: facts.trunkTree };
  // Being built anew, it may well have the tree it had. A forge that makes its own commits lands that tree as another one.
  if (base === null || base.sha === trunk || (trunkTree !== undefined && base.tree === trunkTree))
    return null;
  return staleText(landing, facts);
}

/** Runs the gate on it, unless one with the same tree has passed these very commands against the same trunk. */
function testCandidate(
  task: Task,
  { tree, sha: commit }: Candidate,
  { digests, base, with: others }: { digests: readonly string[]; base: string; with?: Ahead[] },
): Decision {
  const known = reusable(task, tree, { digests, base }, others !== undefined);
  if (known) return known;
  return act(others ? [event('batch_gated', { sha: commit, with: others })] : [], [
    { kind: 'gate', scope: 'candidate', tree, commit, base, ...(others?.length && { with: others }) },
  ]);
}

/** What was found on the same tree, by these very commands; in a batch a red counts, too. */
function reusable(
  task: Task,
  tree: string,
  { digests, base }: { digests: readonly string[]; base: string },
  inBatch: boolean,
): Decision | null {
  const known = task.candidateEvidence;
  if (!proves(known, tree, digests)) return null;
  if (!hasPassedOn(known, base) && !(inBatch && isRedYet(task, known))) return null;
  return act([event('gate_completed', { scope: 'candidate', evidence: known, reused: true })]);
}

/** A red that was let pass because trunk was red says nothing about another trunk. */
const hasPassedOn = ({ outcome, results }: Evidence, trunk: string): boolean =>
  outcome === 'pass' && results.every(({ base }) => base === undefined || base.sha === trunk);

/** Found in a batch since it lined up: the commits below were made anew, and it is still being found out whose red it is. */
const isRedYet = ({ linedUpAt = 0 }: Task, { outcome, at }: Evidence): boolean =>
  outcome === 'fail' && at >= linedUpAt;
