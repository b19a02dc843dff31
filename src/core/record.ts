/** What came of an action, as events, further actions and findings to be written with it. */

import { type Action, verifiesTrunk } from './action.ts';
import { updatePull } from './approval.ts';
import { afterRound, type Finding, leftByPerson, type NewFinding } from './change/findings.ts';
import { isGrave } from './change/rules.ts';
import { event, type Feedback, type NewEvent, opensSession } from './event.ts';
import type { Evidence } from './gate.ts';
import { withSettings } from './hold.ts';
import type { Ahead } from './line/line.ts';
import { loopHoldKey, untestedMerge } from './loop/loop-hold.ts';
import { accountOf, accountSettings, NEVER_ASKED } from './money/account.ts';
import { hasFallback } from './money/models.ts';
import {
  endsSession,
  isAccountUsedUp,
  isBlocking,
  type Outcome,
  REQUEST_REFUSED,
  WORKSPACE_LOST,
} from './outcome.ts';
import { audited, NO_NOTES, noReport, parseAudit } from './plan/audit.ts';
import { recordDraft } from './plan/draft.ts';
import { isAudit, type Phase } from './plan/phase.ts';
import { currentMilestone } from './plan/progress.ts';
import { captured } from './plan/stored.ts';
import type { Policy } from './policy.ts';
import { workspaceLost } from './recover.ts';
import { type Role, roleRow } from './role.ts';
import { recordSpec } from './specify.ts';
import type { RecordedVerdict, Task } from './task.ts';
import { blocking, effectiveVerdict, judgementsOf, parseReport } from './verdict.ts';
import { reviewBody, trunkRedComment } from './words/comments.ts';
import { fence } from './words/fence.ts';
import { auditText } from './words/plan-text.ts';
import { shortSha } from './words/short-sha.ts';
import { changesText, conflictText, lostWorkText, rewrittenText, takeBackText } from './words/words.ts';

interface Recorded {
  events: NewEvent[];
  actions: Action[];
  findings: Finding[];
  /** What was to be done after this action is void with it. */
  endsActions?: true;
}

type TurnAction = Extract<Action, { kind: 'turn' }>;
type TurnOutcome = Extract<Outcome, { kind: 'turn' }>;

export function record(
  task: Task,
  action: Action,
  outcome: Outcome,
  ledger: readonly Finding[],
  policy: Policy,
  now: number,
): Recorded {
  // Late, twice, or of another phase: it changes nothing.
  if (action.kind === 'turn' && !isAtHand(task, action)) return { events: [], actions: [], findings: [] };
  if (outcome.kind === 'turn' && action.kind === 'turn')
    return recordTurn({ task, action, outcome, ledger, policy, now });
  if (outcome.kind === 'prompt_broken' && action.kind === 'turn')
    return { events: promptBroken(action, outcome), actions: [], findings: [] };
  if (outcome.kind === 'gate' && verifiesTrunk(action))
    return {
      events: eventsOf(task, action, outcome),
      actions: afterTrunkGate(task, outcome.evidence),
      findings: [],
    };
  if (outcome.kind === 'inspected') return recordInspection(task, outcome, ledger, now);
  const events = eventsOf(task, action, outcome).map((one) => withSettings(one, policy));
  const isRefused = outcome.kind === 'publish_refused';
  return { events, actions: [], findings: [], ...(isRefused && { endsActions: true }) };
}

const isAtHand = ({ turn }: Task, { role, sessionId }: TurnAction): boolean =>
  turn?.role === role && turn.sessionId === sessionId;

function eventsOf(task: Task, action: Action, outcome: Outcome): NewEvent[] {
  switch (outcome.kind) {
    case 'done':
    case 'turn':
    case 'prompt_broken':
    case 'inspected':
      return [];
    case 'workspace':
      return [event('workspace_ready', { path: outcome.path, baseSha: outcome.baseSha })];
    case 'workspace_failed':
      return [
        event('workspace_failed', {
          problem: outcome.problem,
          ...(outcome.unfetched && { unfetched: outcome.unfetched }),
        }),
      ];
    case 'workspace_lost':
      return lostWorkspace(task, action, outcome.saved);
    case 'checkpoint': {
      const { head, baseSha, empty } = outcome;
      const before = task.headSha ?? task.baseSha;
      return [event('checkpointed', { head, baseSha, empty, changed: head.sha !== before })];
    }
    case 'sealed':
      return sealed(task, outcome);
    case 'refused':
      return [event('checkpoint_refused', { problem: outcome.problem })];
    case 'pushed':
      return action.kind === 'push' ? [event('branch_pushed', { sha: action.sha })] : [];
    case 'moved':
      return [event('push_rejected', { sha: outcome.sha })];
    case 'publish_refused':
      return [event('hold_set', { reason: 'publish_refused', detail: outcome.detail, until: null })];
    case 'pull':
      return [event('pull_ensured', { pull: outcome.pull, headSha: task.headSha ?? '' })];
    case 'merged_in': {
      const mergedIn = action.kind === 'merge_in' ? action.sha : '';
      return [
        event('work_updated', { mergedIn, conflicts: outcome.conflicts }),
        ...toldOfMerge(task, outcome.conflicts, outcome.landed),
      ];
    }
    case 'gate':
      return [
        ...outcome.bases.map((base) => event('gate_base_completed', base)),
        event('gate_completed', {
          scope: action.kind === 'gate' ? action.scope : 'work',
          evidence: outcome.evidence,
        }),
      ];
    case 'hook':
      return [event('hook_completed', { name: 'after_merge', problem: outcome.problem })];
    case 'void':
      if (action.kind !== 'gate') return [];
      return [
        event('gate_cut_off', { scope: action.scope }),
        ...(action.scope === 'candidate' ? [event('candidate_dropped', { why: outcome.why })] : []),
      ];
    case 'candidate': {
      const ahead = aheadIn(action);
      return [event('candidate_built', { candidate: outcome.candidate, ...(ahead && { ahead }) })];
    }
    case 'conflict': {
      const ahead = aheadIn(action);
      if (ahead) return [event('line_left', { with: ahead, text: null })];
      return [event('update_needed', { mergeInto: outcome.trunk })];
    }
    case 'empty': {
      const ahead = aheadIn(action);
      if (ahead) return [event('line_left', { with: ahead, text: null })];
      return [event('candidate_empty', { trunk: outcome.trunk })];
    }
    case 'rewritten': {
      const detail = rewrittenText(outcome.baseSha, outcome.trunk);
      return [event('hold_set', { reason: 'trunk_rewritten', detail, until: null })];
    }
    case 'landed': {
      const { sha, untested } = outcome;
      return [
        event('merge_observed', { sha, by: 'loop' }),
        ...(untested ? [event('trunk_unverified', { sha, ...untested })] : []),
      ];
    }
    case 'merge_queued': {
      const { tree, detail } = outcome;
      return [
        event('merge_queued', { tree }),
        event('candidate_dropped', { why: detail }),
        event('hold_set', { reason: 'merge_queued', detail, until: null }),
      ];
    }
    case 'trunk_moved':
      return [event('candidate_dropped', { why: 'trunk moved' })];
    case 'dirty_checkout': {
      const { detail } = outcome;
      return [event('candidate_dropped', { why: detail }), event('landing_blocked', { detail })];
    }
    case 'landing_refused': {
      const { detail } = outcome;
      return [event('candidate_dropped', { why: detail }), event('landing_refused', { detail })];
    }
    case 'merge_refused':
      return [
        event('candidate_dropped', { why: outcome.detail }),
        event('hold_set', { reason: 'merge_refused', detail: outcome.detail, until: null }),
      ];
    case 'switched':
      return [event('checkout_switched', { problem: outcome.problem })];
    case 'reaped':
      return [event('worktree_reaped', { path: outcome.path })];
    case 'preserved':
      return [event('worktree_preserved', { path: outcome.path })];
    default:
      return outcome satisfies never;
  }
}

/** Those a candidate was to be built on top of; nothing about them is known to be on trunk. */
const aheadIn = (action: Action): Ahead[] | undefined =>
  action.kind === 'build_candidate' ? action.onto?.ahead : undefined;

/** Whoever was about to work in it begins anew when it is there again; whoever has worked in it is told what was lost. */
function lostWorkspace(task: Task, action: Action, saved: string): NewEvent[] {
  const lost = workspaceLost(saved);
  const why = lostWorkText(saved);
  if (action.kind === 'turn') {
    const { turn, role, sessionId } = action;
    const ended = { status: 'interrupted', retryAt: null, durationMs: 0, usage: 'known' } as const;
    return [
      event('turn_completed', { turn, role, sessionId, code: WORKSPACE_LOST, message: why, ...ended }),
      ...(neverBegan(action, WORKSPACE_LOST) ? [event('session_lost', { sessionId, why })] : []),
      lost,
    ];
  }
  const hasWorked = action.kind === 'checkpoint' && task.roles.coder.last !== null;
  return hasWorked ? [event('checkpoint_refused', { problem: why }), lost] : [lost];
}

/** Trunk that passes lets the loop go on; anything else is told, and the loop stays held. */
function afterTrunkGate({ unverified, issue, id }: Task, evidence: Evidence): Action[] {
  if (!unverified) return [];
  if (evidence.outcome === 'pass') {
    const why = `trunk passes the gate at ${shortSha(unverified.sha)}`;
    return [{ kind: 'release_loop', key: loopHoldKey(untestedMerge(id, unverified)), why }];
  }
  const body = trunkRedComment(unverified, evidence);
  return issue === null ? [] : [{ kind: 'comment', issue, marker: `${id}:trunk-unverified`, body }];
}

/** A merge that went by itself is worth a word only when the coder has to work on anyway. */
function toldOfMerge(task: Task, conflicts: readonly string[], landed: readonly string[]): NewEvent[] {
  if (conflicts.length === 0 && task.feedback.length === 0) return [];
  const feedback: Feedback[] = [];
  if (conflicts.length > 0) feedback.push({ kind: 'conflict', text: conflictText(conflicts) });
  if (landed.length > 0) feedback.push({ kind: 'landed', text: fence('commits', landed.join('\n')) });
  return feedback.map((one) => event('feedback_added', { feedback: one }));
}

/** A turn that has ended, and what its answer is read with. */
interface Ended {
  task: Task;
  action: TurnAction;
  outcome: TurnOutcome;
  ledger: readonly Finding[];
  policy: Policy;
  now: number;
}

function recordTurn(ended: Ended): Recorded {
  const { action, outcome, policy, now } = ended;
  const { role, turn, sessionId } = action;
  const { status, message, durationMs } = outcome;
  const code = codeOf(action, outcome);
  const retryAt = outcome.retryAt === null ? null : Math.min(outcome.retryAt, now + LONGEST_LIMIT_MS);
  const usage = outcome.usageKnown ? 'known' : 'unknown';
  const completed = event('turn_completed', {
    turn,
    role,
    sessionId,
    status,
    code,
    message,
    retryAt,
    durationMs,
    usage,
    account: accountOf(policy.agents[role]),
    ...(outcome.workless && { workless: true }),
    ...(outcome.worked && { worked: true }),
    ...(outcome.shortened && { shortened: true }),
    ...(blocks(ended) && { blocks: accountSettings(policy, accountOf(policy.agents[role])) }),
    ...(outcome.summary && { summary: outcome.summary }),
  });
  const limited = accountLimited(action, { ...outcome, retryAt }, ended.task.roles[role].failed, policy, now);
  const answered: Recorded =
    status === 'finished' ? ANSWERS[role](ended) : { events: [], actions: [], findings: [] };
  const lost = isOver(action, { ...outcome, code })
    ? [event('session_lost', { sessionId, why: message })]
    : [];
  const plan = status === 'finished' ? captured(ended.task, action, outcome) : [];
  return { ...answered, events: [completed, ...answered.events, ...plan, ...lost, ...limited] };
}

function codeOf({ prompt }: TurnAction, { code }: TurnOutcome): string | null {
  return code === 'invalid_request' && opensSession(prompt) ? REQUEST_REFUSED : code;
}

/** A limit that ends by itself blocks nobody, and neither does a model while there is another one to ask. */
function blocks({ task, action: { role }, outcome, policy }: Ended): boolean {
  const { status, code, retryAt } = outcome;
  if (status !== 'failed' || !isBlocking(code) || retryAt !== null) return false;
  return code !== 'model_unavailable' || task.roles[role].failed >= policy.agents[role].fallbackModels.length;
}

/** What the answer of each role means. */
const ANSWERS: Record<Role, (ended: Ended) => Recorded> = {
  coder: ({ task, action, outcome }) => ({
    events: [...acknowledged(task), ...afterAction(action, outcome)],
    actions: [],
    findings: [],
  }),
  auditor: recordAudit,
  planner: ({ task, outcome }) => ({ events: recordDraft(task, outcome), actions: [], findings: [] }),
  specifier: ({ task, action, outcome, policy }) => ({
    ...recordSpec(task, action.sessionId, outcome, policy),
    findings: [],
  }),
  critic: recordVerdict,
};

/** There is no conversation to go on with. */
function isOver(action: TurnAction, { code, sessionEmpty }: TurnOutcome): boolean {
  if (roleRow(action.role).session !== 'continues') return false;
  return endsSession(code) || neverBegan(action, code) || Boolean(sessionEmpty);
}

/** Limits are of hours or of a week. One that is said to end later is asked about sooner: somebody's clock is wrong. */
const LONGEST_LIMIT_MS = 8 * 24 * 3_600_000;

function accountLimited(
  { role }: TurnAction,
  outcome: TurnOutcome,
  failures: number,
  policy: Policy,
  now: number,
): NewEvent[] {
  if (outcome.status !== 'failed' || !isAccountUsedUp(outcome) || outcome.retryAt <= now) return [];
  if (hasFallback(role, policy.agents[role], outcome.code, failures + 1)) return [];
  const { message: why, retryAt: until } = outcome;
  return [event('account_limited', { account: accountOf(policy.agents[role]), why, until })];
}

/** What people and CI said counts as told when the turn that carried it has finished, and not before. */
function acknowledged({ turn, feedback, headSha }: Task): NewEvent[] {
  const told = feedback.slice(0, turn?.carries ?? 0).filter(({ id }) => id !== undefined);
  if (!turn || told.length === 0) return [];
  return [
    event('feedback_acknowledged', {
      ids: told.flatMap(({ id }) => id ?? []),
      turn: turn.turn,
      headSha: headSha ?? '',
      remarks: told.flatMap(({ remark }) => remark ?? []),
    }),
  ];
}

/** The turn is taken back, and waits until a person has mended the template or says to go on. */
function promptBroken(
  action: TurnAction,
  { prompt, problem, digest }: Extract<Outcome, { kind: 'prompt_broken' }>,
): NewEvent[] {
  const { turn, role, sessionId } = action;
  const code = 'prompt_broken';
  const ended = { status: 'interrupted', retryAt: null, durationMs: 0, usage: 'known' } as const;
  const lost = roleRow(role).session === 'continues' && neverBegan(action, code);
  return [
    event('turn_completed', { turn, role, sessionId, code, message: problem, ...ended }),
    ...(lost ? [event('session_lost', { sessionId, why: problem })] : []),
    // Nothing that is done waits for what would only have followed it.
    ...(prompt === 'post_action'
      ? [event('post_action_ended', { summary: null, problem })]
      : [
          event('prompt_broken', { prompt, problem, digest }),
          event('hold_set', { reason: 'prompt_broken', detail: problem, until: null }),
        ]),
  ];
}

/** The turn that was to open the session failed before the agent was asked: there is no conversation to go on with. */
function neverBegan({ prompt }: TurnAction, code: string | null): boolean {
  return opensSession(prompt) && [...NEVER_ASKED, 'prompt_broken', WORKSPACE_LOST].includes(code ?? '');
}

/** The last message of a post action is kept as it was. */
const afterAction = ({ prompt }: TurnAction, { text }: TurnOutcome): NewEvent[] =>
  prompt === 'post_action' ? [event('post_action_ended', { summary: text, problem: null })] : [];

/** A result that is missing twice is a dirty one: never clean, and no reason to ask for ever. */
function recordAudit({ task, outcome, ledger, now }: Ended): Recorded {
  const { plan, head } = task;
  if (!plan || !head || !isAudit(plan.phase)) return { events: [], actions: [], findings: [] };
  const phase = plan.phase as Phase;
  const { milestone } = plan;
  const round = plan.audits + 1;
  const parsed = parseAudit(outcome.structured, outcome.text, plan);
  if (!parsed.ok && task.roles.auditor.unusable === 0)
    return {
      events: [event('answer_unusable', { role: 'auditor', problem: parsed.problem })],
      actions: [],
      findings: [],
    };
  const [report, notes] = parsed.ok
    ? [parsed.report, outcome.notes ?? NO_NOTES]
    : [noReport(), { ...NO_NOTES, findings: outcome.notes?.findings ?? [] }];
  const said = audited(report, notes, plan, ledger, { task: task.id, round, headSha: head.sha, at: now });
  const { isClean, open, summary, amendments, findings } = said;
  const missing = parsed.ok ? [] : [`The auditor gave no usable result: ${parsed.problem}.`];
  return {
    events: [
      event('audit_recorded', {
        audit: round,
        phase,
        milestone,
        head,
        isClean,
        ...(!parsed.ok && { isMissing: true as const }),
        open: open.map(({ id }) => id),
        says: [...missing, auditText(said)].join('\n'),
        summary: parsed.ok ? summary : null,
        amendments,
      }),
    ],
    actions: [],
    findings,
  };
}

function sealed(task: Task, { head, commit }: Extract<Outcome, { kind: 'sealed' }>): NewEvent[] {
  const { plan } = task;
  const current = plan && currentMilestone(plan);
  if (!current || current.done || plan.phase !== 'auditing' || !plan.audit?.isClean) return [];
  const summary = plan.audit.summary ?? { done: '', deviations: [], followUps: [] };
  return [
    event('milestone_completed', {
      milestone: plan.milestone,
      title: current.title,
      summary,
      commit,
      head,
    }),
  ];
}

function recordVerdict({ task, action, outcome, ledger, policy, now }: Ended): Recorded {
  const { criteria } = task.contract;
  const parsed = parseReport(outcome.structured, outcome.text, criteria);
  if (!parsed.ok)
    return {
      events: [event('answer_unusable', { role: action.role, problem: parsed.problem })],
      actions: [],
      findings: [],
    };
  const { report } = parsed;
  const { blockOn } = policy.critic;
  const round = task.criticRounds + 1;
  const headSha = task.head?.sha ?? '';
  const reported = withContext(report.findings, outcome.contexts);
  const judging = { task: task.id, round, headSha, by: 'critic', at: now, answers: report.earlier };
  const judgedNow = afterRound(ledger, reported, { ...judging, source: 'critic' });
  // Neither is asked any more: whoever judges the change answers for what a person, and a plan's auditor, found.
  const findings = (['person', 'auditor'] as const).reduce(
    (ledger, source) => afterRound(ledger, [], { ...judging, source }),
    judgedNow,
  );
  const open = findings.filter((finding) => finding.status === 'open');
  const verdict = effectiveVerdict(report, open, leftByPerson(ledger, reported), blockOn);
  const judged: RecordedVerdict = {
    headSha,
    verdict,
    by: 'critic',
    round,
    criteria: judgementsOf(report, criteria),
  };
  const blockers = blocking(open, blockOn).map((finding) => finding.id);
  const feedback = { kind: 'critic' as const, text: changesText(report, judged.criteria, open) };
  return {
    events: [
      event('verdict_recorded', { ...judged, blocking: blockers }),
      ...(verdict === 'REQUEST_CHANGES' ? [event('feedback_added', { feedback })] : []),
    ],
    actions:
      task.pull === null
        ? []
        : [
            {
              kind: 'post_review',
              pull: task.pull,
              headSha,
              marker: `${task.id}:review:${action.sessionId}:${round}`,
              verdict,
              body: reviewBody(report, judged, task, open),
              comments: report.findings.map(({ file, line, severity, message }) => ({
                file,
                line,
                body: `[${severity}] ${message}`,
              })),
            },
            ...updatePull({ ...task, verdict: judged }),
          ],
    findings,
  };
}

/** The first time the coder takes it back; what is grave after that is a person's matter. */
function recordInspection(
  task: Task,
  { findings: found, chars, files }: Extract<Outcome, { kind: 'inspected' }>,
  ledger: readonly Finding[],
  now: number,
): Recorded {
  const headSha = task.head?.sha ?? '';
  const findings = afterRound(ledger, found, {
    task: task.id,
    round: task.criticRounds + 1,
    headSha,
    source: 'rule',
    by: 'rules',
    at: now,
    answers: null,
  });
  const open = findings.filter(({ source, status }) => source === 'rule' && status === 'open');
  const grave = open.filter(isGrave);
  const sentBack = grave.length > 0 && !task.sentBack;
  const feedback = { kind: 'rule' as const, text: takeBackText(grave) };
  const ids = (some: readonly Finding[]) => some.map(({ id }) => id);
  return {
    events: [
      event('change_inspected', { headSha, open: ids(open), grave: ids(grave), sentBack, chars, files }),
      ...(sentBack ? [event('feedback_added', { feedback })] : []),
    ],
    actions: [],
    findings,
  };
}

function withContext(findings: readonly NewFinding[], contexts: TurnOutcome['contexts']): NewFinding[] {
  return findings.map((finding) => {
    const found = contexts?.find(({ file, line }) => file === finding.file && line === finding.line);
    return { ...finding, context: found?.text ?? null };
  });
}
