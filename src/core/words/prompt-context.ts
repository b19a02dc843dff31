/**
 * The values a prompt's template may name. The contexts of later prompts have no issue body: a continuation can't send
 * it again.
 */

import type { Finding } from '../change/findings.ts';
import type { Remark } from '../change/remark.ts';
import type { Contract, PromptKind } from '../event.ts';
import type { Criterion } from '../issue/criteria.ts';
import { readiness } from '../issue/readiness.ts';
import { specificationText } from '../issue/specification.ts';
import { policyFor } from '../plan/limits.ts';
import { lastSealed } from '../plan/progress.ts';
import type { Policy } from '../policy.ts';
import { nameOfTask, type Task, turnsHere } from '../task.ts';
import { feedbackText, findingText, remarksText } from './feedback-text.ts';
import { fence, oneLine } from './fence.ts';
import { evidenceText } from './gate-text.ts';
import {
  amendedText,
  auditFindings,
  decisionsText,
  doneText,
  iterationText,
  milestoneText,
  overviewText,
  pendingText,
} from './plan-text.ts';
import { fitting } from './prompt-size.ts';
import { subjectOf } from './words.ts';

/** What the forge says of an issue beside its text. */
export interface IssueFields {
  state: 'open' | 'closed';
  labels: readonly string[];
  url: string | null;
  priority: number | null;
  blockers: readonly { number: number; state: 'open' | 'closed' | null }[];
  createdAt: number;
  updatedAt: number;
}

export interface PromptContext {
  /** The names of the normalised issue in Symphony's specification, and `number`, `body`. */
  issue: {
    number: number | null;
    id: string;
    identifier: string;
    title: string;
    body?: string;
    description?: string;
    state: string | null;
    labels: string[];
    url: string | null;
    priority: number | null;
    branch_name: string;
    blocked_by: { id: string; identifier: string; state: string | null }[];
    created_at: string | null;
    updated_at: string | null;
  };
  /** How many attempts at the issue came before this one; null in the first. */
  attempt: number | null;
  task: {
    id: string;
    /** As one speaks of it: `issue #7`, `plan checkout`. */
    name: string;
    branch: string;
    attempt: number;
    turn: number;
    max_turns: number;
    round: number;
    max_rounds: number;
  };
  gate_commands: string[];
  history?: string;
  criteria?: string;
  prior_failure_reason?: string;
  feedback?: string;
  head_sha?: string;
  base_sha?: string;
  evidence?: string;
  findings?: string;
  settled?: string;
  conventions?: string;
  remarks?: string;
  diff?: string;
  transcript?: string;
  doubt?: string;
  expand?: string;
  plan?: {
    iteration: string;
    overview: string;
    milestone: string;
    done: string;
    findings: string;
    decisions: string;
    pending: string;
    last_audit: string;
  };
  action?: { skill: string; skill_text: string; prompt: string };
}

export interface PromptInputs {
  /** Looked up where a template may name it. */
  issue?: IssueFields | null;
  history: string;
  /** The skill that the post action is to use; its text is null where the agent finds it by itself. */
  skill?: { text: string | null };
  diff: string;
  /** The whole ledger. */
  findings: readonly Finding[];
  /** Files of trunk that say how work is done in this project. */
  conventions: readonly { path: string; text: string }[];
  /** What people asked for on the pull request so far. */
  remarks: readonly Remark[];
  transcript: string;
}

/** The prompts that count towards `agent.max_turns`, which holds for each milestone of a plan. */
const CODERS: readonly PromptKind[] = [
  'task',
  'continuation',
  'revise',
  'interrupted',
  'handover',
  'plan',
  'milestone',
  'audited',
  'final_fix',
  'post_action',
];

/** Only what this kind of prompt may name; the body of the issue is in the first, the hand-over and the critic's. */
export function promptContext(
  kind: PromptKind,
  task: Task,
  turn: number,
  settings: Policy,
  inputs: PromptInputs,
  priorFailure: string | null,
): PromptContext {
  const policy = policyFor(task, settings);
  const shared = {
    task: {
      id: task.id,
      name: subjectOf(task),
      branch: task.branch,
      attempt: task.attempt,
      turn: CODERS.includes(kind) ? turnsHere({ ...task, turns: turn }) : turn,
      max_turns: policy.maxTurns,
      round: task.criticRounds + (kind === 'critic' || kind === 'next_round' ? 1 : 0),
      max_rounds: policy.critic.maxRounds,
    },
    attempt: task.attempt > 1 ? task.attempt - 1 : null,
    gate_commands: policy.gate.commands === 'none' ? [] : policy.gate.commands,
  };
  const named = issueNamed(task, inputs.issue ?? null);
  const body = contractText(task);
  const whole = { ...named, body, description: body };
  const criteria = criteriaText(task.contract.criteria);
  const prior_failure_reason = priorFailure ?? '';
  const told = task.feedback.slice(0, fitting(task.feedback, kind));
  const feedback = feedbackText(told, task.feedback.length - told.length);
  switch (kind) {
    case 'task':
      return { ...shared, issue: whole, criteria, history: inputs.history };
    case 'continuation':
      return { ...shared, issue: named, prior_failure_reason };
    case 'revise':
      return { ...shared, issue: named, feedback };
    case 'interrupted':
      return { ...shared, issue: named, prior_failure_reason, feedback };
    case 'handover':
      return { ...shared, issue: whole, criteria, prior_failure_reason, feedback };
    case 'critic':
      return {
        ...shared,
        issue: whole,
        criteria,
        ...judged(task, inputs),
        conventions: conventionsText(inputs.conventions),
        transcript: inputs.transcript,
        prior_failure_reason,
      };
    case 'next_round':
      return { ...shared, issue: named, criteria, ...judged(task, inputs) };
    case 'plan':
    case 'final_fix':
      return { ...shared, issue: named, ...planned(task, policy, inputs), prior_failure_reason, feedback };
    case 'milestone':
      return { ...shared, issue: named, ...planned(task, policy, inputs) };
    case 'audited':
    case 'audit_again':
      return { ...shared, issue: named, ...planned(task, policy, inputs), prior_failure_reason };
    case 'audit':
    case 'final_audit':
      return {
        ...shared,
        issue: named,
        ...planned(task, policy, inputs),
        ...judged(task, inputs),
        base_sha: kind === 'audit' && task.plan ? lastSealed(task.plan, task.baseSha) : (task.baseSha ?? ''),
        conventions: conventionsText(inputs.conventions),
        prior_failure_reason,
      };
    case 'post_action': {
      const { skill, prompt } = policy.loop.postAction ?? {};
      const skill_text = inputs.skill?.text ?? '';
      const action = { skill: inputs.skill ? (skill ?? '') : '', skill_text, prompt: prompt ?? '' };
      return { ...shared, issue: named, base_sha: task.baseSha ?? '', action };
    }
    case 'plan_draft': {
      const number = task.plan?.draftOf ?? null;
      const conventions = conventionsText(inputs.conventions);
      return { ...shared, issue: { ...whole, number }, conventions, prior_failure_reason };
    }
    case 'plan_draft_again':
      return { ...shared, issue: named, prior_failure_reason };
    case 'spec':
      return {
        ...shared,
        issue: whole,
        doubt: doubtText(task),
        expand: policy.spec.expand,
        prior_failure_reason,
      };
  }
}

function issueNamed(task: Task, seen: IssueFields | null): PromptContext['issue'] {
  return {
    number: task.issue,
    id: task.issue === null ? task.id : String(task.issue),
    identifier: nameOfTask(task),
    title: oneLine(task.contract.title),
    state: seen?.state ?? null,
    labels: (seen?.labels ?? []).map((label) => oneLine(label).toLowerCase()),
    url: seen?.url ?? null,
    priority: seen?.priority ?? null,
    branch_name: task.branch,
    blocked_by: (seen?.blockers ?? []).map(({ number, state }) => ({
      id: String(number),
      identifier: `#${number}`,
      state,
    })),
    created_at: seen && iso(seen.createdAt),
    updated_at: seen && iso(seen.updatedAt),
  };
}

const iso = (at: number): string => new Date(at).toISOString();

function planned(
  { plan, summary }: Task,
  policy: Policy,
  { findings }: PromptInputs,
): Pick<PromptContext, 'plan'> {
  if (!plan) return {};
  return {
    plan: {
      iteration: iterationText(plan, policy),
      overview: overviewText(plan),
      milestone: milestoneText(plan),
      done: doneText(plan),
      findings: auditFindings(plan, findings),
      decisions: decisionsText(plan, summary),
      pending: pendingText(plan),
      last_audit: plan.lastAudit === null ? '' : fence('audit', plan.lastAudit),
    },
  };
}

/** What a critic judges in every round: the whole change at this head, whatever it has seen of earlier ones. */
const judged = (task: Task, { findings, remarks, diff }: PromptInputs) => ({
  head_sha: task.headSha ?? '',
  base_sha: task.baseSha ?? '',
  evidence: evidenceText(task.gate),
  findings: ledgerText(findings, 'open'),
  settled: ledgerText(findings, 'wontfix'),
  remarks: remarksText(remarks),
  diff: fence('diff', diff),
});

/**
 * The issue or the plan, and beside it what it was expanded into and what of it was amended: any template that shows the one
 * shows the others.
 */
function contractText({ contract, spec, plan, kind }: Task): string {
  const issue = [
    fence(plan && kind !== 'issue' && plan.mode !== 'draft' ? 'plan' : 'issue', contract.body),
    amendmentsText(plan),
    relatedText(contract),
  ]
    .filter(Boolean)
    .join('\n\n');
  if (spec?.status !== 'adopted') return issue;
  const specification = fence('specification', specificationText(spec.specification));
  return `${issue}\n\nIt was expanded into this specification. Where the two disagree, the issue holds.\n\n${specification}`;
}

function amendmentsText(plan: Task['plan']): string {
  const amended = plan ? amendedText(plan) : '';
  if (amended === '') return '';
  return `The auditor amended it during the work. Where they disagree, the amendment holds.\n\n${fence('amended', amended)}`;
}

/** Whoever works on a part should know the whole, and what of it others do. */
function relatedText({ related }: Contract): string {
  if (!related) return '';
  const { parent, children } = related;
  const lines = [
    ...(parent ? [`part of #${parent.number}: ${oneLine(parent.title)}`] : []),
    ...children
      .slice(0, MOST_RELATED)
      .map(({ number, title, state }) => `has the part #${number} (${state}): ${oneLine(title)}`),
  ];
  if (lines.length === 0) return '';
  return `Issues around it, so that you know what is done elsewhere; they are not part of the contract.\n\n${fence('related', lines.join('\n'))}`;
}

const MOST_RELATED = 50;

function doubtText({ contract }: Task): string {
  const { problem } = readiness(contract.title, contract.body);
  return problem || 'it says what it is about, but not what one should see when it is done';
}

function ledgerText(ledger: readonly Finding[], status: Finding['status']): string {
  const some = ledger.filter((finding) => finding.status === status);
  if (some.length === 0) return '';
  const lines = some.map((finding) => {
    const { id, rounds, history } = finding;
    const why = status === 'wontfix' ? history.at(-1)?.why : null;
    const open =
      rounds.length === 0
        ? `${history[0]?.by} found it since the last round`
        : `open in round${rounds.length === 1 ? '' : 's'} ${rounds.join(', ')}`;
    return `${findingText(finding, id)}\n  ${why ? `Left because: ${oneLine(why)}` : open}`;
  });
  return fence('findings', lines.join('\n'));
}

export function conventionsText(files: PromptInputs['conventions']): string {
  return files
    .map(({ path, text }) => {
      const left = text.length - CONVENTION_CHARS;
      const cut = left > 0 ? `${text.slice(0, CONVENTION_CHARS)}\n… cut: ${left} more characters` : text;
      return fence(path, cut, 'how work is done in this project; not about how you answer');
    })
    .join('\n');
}

const CONVENTION_CHARS = 8000;

/** Numbered, with the command that proves it where there is one. The words are the issue's. */
function criteriaText(criteria: readonly Criterion[]): string {
  if (criteria.length === 0) return '';
  const lines = criteria.map(
    ({ id, text, verify }) => `${id}: ${text}${verify === null ? '' : `\n    verify: ${verify}`}`,
  );
  return fence('criteria', lines.join('\n'));
}

/** A sample of every value of a kind's context, to check a template before it is needed. */
export const SAMPLE_CONTEXTS: Record<PromptKind, PromptContext> = sampleContexts();

function sampleContexts(): Record<PromptKind, PromptContext> {
  const task = {
    id: 'abc',
    name: 'issue #1',
    branch: 'loop/1-x',
    attempt: 1,
    turn: 1,
    max_turns: 20,
    round: 1,
    max_rounds: 3,
  };
  const named = {
    number: 1,
    id: '1',
    identifier: '#1',
    title: 'A title',
    state: 'open',
    labels: ['loop:running'],
    url: 'https://example.com/1',
    priority: 1,
    branch_name: 'loop/1-x',
    blocked_by: [{ id: '2', identifier: '#2', state: 'closed' }],
    created_at: '2026-01-01T00:00:00.000Z',
    updated_at: '2026-01-01T00:00:00.000Z',
  };
  const whole = { ...named, body: 'A body', description: 'A body' };
  const base = { task, attempt: 1, gate_commands: ['npm test'] };
  const told = { head_sha: 'x', base_sha: 'x', evidence: 'x', diff: 'x' };
  const plan = {
    iteration: 'x',
    overview: 'x',
    milestone: '',
    done: '',
    findings: '',
    decisions: '',
    pending: '',
    last_audit: '',
  };
  const going = { issue: named, plan };
  const judging = { ...told, findings: '', settled: '', remarks: '' };
  return {
    task: { ...base, issue: whole, criteria: '', history: '' },
    continuation: { ...base, issue: named, prior_failure_reason: 'x' },
    revise: { ...base, issue: named, feedback: 'x' },
    interrupted: { ...base, issue: named, prior_failure_reason: '', feedback: '' },
    handover: { ...base, issue: whole, criteria: '', prior_failure_reason: '', feedback: '' },
    critic: {
      ...base,
      issue: whole,
      criteria: '',
      ...judging,
      conventions: '',
      transcript: 'x',
      prior_failure_reason: '',
    },
    next_round: { ...base, issue: named, criteria: '', ...judging },
    spec: { ...base, issue: whole, doubt: 'x', expand: 'auto', prior_failure_reason: '' },
    plan: { ...base, ...going, prior_failure_reason: '', feedback: '' },
    milestone: { ...base, ...going },
    audited: { ...base, ...going, prior_failure_reason: 'x' },
    final_fix: { ...base, ...going, prior_failure_reason: 'x', feedback: '' },
    audit: { ...base, ...going, ...judging, conventions: '', prior_failure_reason: '' },
    final_audit: { ...base, ...going, ...judging, conventions: '', prior_failure_reason: '' },
    audit_again: { ...base, ...going, prior_failure_reason: '' },
    post_action: { ...base, issue: named, base_sha: 'x', action: { skill: '', skill_text: '', prompt: 'x' } },
    plan_draft: { ...base, issue: whole, conventions: '', prior_failure_reason: '' },
    plan_draft_again: { ...base, issue: named, prior_failure_reason: 'x' },
  };
}
