/**
 * The merge gate, fail-closed: every condition must hold at exactly this head. The result lists each condition with
 * its value, so a person can read why a merge was or was not permitted; the permit is the proof `land` asks for.
 */
import type { MergePermit } from './action.ts';
import type { Said } from './change/checks.ts';
import { protectedAmong } from './change/danger.ts';
import type { Finding } from './change/findings.ts';
import { approvedAtHead, type TouchedChange, verdictAtHead } from './decision.ts';
import { type Evidence, gateDigest, holdsFor } from './gate.ts';
import { agreedHash } from './issue/text-hash.ts';
import type { Policy } from './policy.ts';
import { isByPerson, type Task, testedTree } from './task.ts';
import { blocking } from './verdict.ts';
import { oneLine } from './words/fence.ts';
import { resultText } from './words/gate-text.ts';
import { shortSha } from './words/short-sha.ts';
import { togetherText } from './words/words.ts';

export interface MergeFacts {
  issueOpen: boolean;
  textHash: string | null;
  branchSha: string | null;
  openFindings: readonly Finding[];
  /** What a person decided to leave as it is. */
  left: readonly Finding[];
  change: TouchedChange;
  /** Of this head; null when nobody could be asked. */
  said: Said | null;
}

export interface Condition {
  name: string;
  met: boolean;
  value: string;
  /** What it rests on, where that can be named. */
  evidence?: string;
}

type MergeDecision = { conditions: Condition[]; permit: MergePermit | null };

export function mergeGate(task: Task, facts: MergeFacts, policy: Policy): MergeDecision {
  const { verdict, landing, pull } = task;
  const candidate = landing?.candidate ?? null;
  const gate = landing?.gate ?? null;
  const within = landing?.within;
  const head = task.head?.sha ?? null;
  const blockers = blockersAt(task, facts, policy);
  const seen = blocking(facts.openFindings, policy.critic.blockOn).filter((one) => !blockers.includes(one));
  const touched = touchedBy(facts.change, policy);
  const conditions: Condition[] = [
    condition(
      'merging is enabled',
      policy.merge.enabled,
      policy.merge.enabled ? policy.merge.method : 'disabled',
    ),
    condition('the issue is open', facts.issueOpen, facts.issueOpen ? 'open' : 'closed'),
    condition(
      'the issue is unchanged since it was made ready',
      facts.textHash === agreedHash(task.contract),
      shortSha(facts.textHash),
    ),
    condition(
      'the published branch is at the judged head',
      head !== null && facts.branchSha === head,
      shortSha(facts.branchSha),
    ),
    condition(
      'approved at this head',
      approvedAtHead(task),
      verdict ? `${verdict.verdict} by ${verdict.by} at ${shortSha(verdict.headSha)}` : 'no verdict',
      verdict ? `round ${verdict.round}` : '',
    ),
    criteriaCondition(task),
    condition(
      'no blocking finding is open',
      blockers.length === 0,
      [
        `${blockers.length} open`,
        ...(seen.length > 0 ? [`${seen.length} by rule that ${verdict?.by} has approved`] : []),
        ...(facts.left.length > 0 ? [`${facts.left.length} left by a person`] : []),
      ].join(', '),
      [...blockers, ...seen, ...facts.left].map(({ id, message }) => `${id}: ${oneLine(message)}`).join('; '),
    ),
    condition(
      'the candidate is this head on trunk',
      candidate !== null && candidate.headSha === head,
      candidate ? `${shortSha(candidate.sha)} on ${shortSha(candidate.trunk)}` : 'none built',
    ),
    condition(
      within ? 'the gate passed on a commit that contains the candidate' : 'the gate passed on the candidate',
      landing !== null &&
        holdsFor(gate, testedTree(landing), gateDigest(policy.gate, task.contract)) &&
        hasPassed(gate, policy),
      gate
        ? `${gate.outcome} on ${shortSha(gate.tree)}${within ? `, ${togetherText(within.with, within.sha)}` : ''}`
        : 'not run',
      (gate?.results ?? []).map((result) => `\`${result.command}\` ${resultText(result)}`).join('; '),
    ),
    condition(
      'the change is not empty',
      facts.change.files.length > 0,
      `${facts.change.files.length} file${facts.change.files.length === 1 ? '' : 's'}`,
      facts.change.files.join(', '),
    ),
    condition(
      'no secret is in the change, or a person approved it',
      facts.change.secrets.length === 0 || isByPerson(verdict),
      facts.change.secrets.slice(0, 5).join(', ') || 'none',
    ),
    condition(
      'no protected path is touched, or a person approved it',
      touched.length === 0 || isByPerson(verdict),
      touched.slice(0, 5).join(', ') || 'none',
    ),
    condition(
      'required checks are green',
      facts.said?.checks.every(({ state }) => state === 'green') ?? false,
      listed(facts.said?.checks.map(({ name, state }) => `${name} ${state}`)),
    ),
    condition("the forge's own rules are met", facts.said?.wants.length === 0, listed(facts.said?.wants)),
    condition(
      'no person asks for changes at this head',
      facts.said?.objections.length === 0,
      listed(facts.said?.objections.map(({ author }) => author)),
    ),
    condition('a pull request exists', pull !== null, pull === null ? 'none' : `#${pull}`),
  ];
  const permitted = conditions.every((one) => one.met);
  if (!permitted || pull === null || candidate === null || head === null) return { conditions, permit: null };
  return { conditions, permit: { permit: 'merge', pull, headSha: head, candidate } };
}

/** Files that a person has to agree to: protected by the settings, or what the gate itself rests on. */
export const touchedBy = ({ files, guarded }: TouchedChange, policy: Policy): string[] => [
  ...new Set([...protectedAmong(files, policy.protectedPaths), ...guarded]),
];

/** A person who approves this head has seen what the rules say about it; what others found is decided by itself. */
function blockersAt(task: Task, { openFindings }: MergeFacts, policy: Policy): Finding[] {
  const isSeen = isByPerson(verdictAtHead(task));
  const open = isSeen ? openFindings.filter(({ source }) => source !== 'rule') : openFindings;
  return blocking(open, policy.critic.blockOn);
}

/** What the critic found about each criterion of the contract; a person's approval stands for all of them. */
function criteriaCondition({ contract, verdict }: Task): Condition {
  const name = 'every criterion is met';
  const { criteria } = contract;
  if (criteria.length === 0) return condition(name, true, 'none is listed');
  if (verdict && isByPerson(verdict))
    return condition(name, true, `${verdict.by}'s approval counts for all ${criteria.length}`);
  const isMet = (id: string) => verdict?.criteria.find((one) => one.id === id)?.met === 'met';
  const open = criteria.filter(({ id }) => !isMet(id)).map(({ id }) => id);
  const value = open.length === 0 ? `all ${criteria.length} met` : `not met: ${open.join(', ')}`;
  const evidence = (verdict?.criteria ?? []).map((one) => `${one.id}: ${oneLine(one.evidence)}`);
  return condition(name, open.length === 0, value, evidence.join('; '));
}

/** A pass of nothing is a pass only where `gate: none` was said. */
const hasPassed = (gate: Evidence, policy: Policy): boolean =>
  gate.outcome === 'pass' && (policy.gate.commands === 'none' || gate.results.length > 0);

const condition = (name: string, met: boolean, value: string, evidence = ''): Condition => ({
  name,
  met,
  value,
  ...(evidence === '' ? {} : { evidence: evidence.slice(0, MAX_EVIDENCE) }),
});
const MAX_EVIDENCE = 1000;
const listed = (names: readonly string[] | undefined): string =>
  names === undefined ? 'unknown' : names.join(', ') || 'none';
