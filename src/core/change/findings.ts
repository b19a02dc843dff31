/** The findings ledger: one defect each, with a status and a history. Nothing deletes a finding. */
import { isBeside, isRepeated, likeness, mayBeOne } from './same-finding.ts';

export const SEVERITIES = ['sev1', 'sev2', 'sev3'] as const;
export type Severity = (typeof SEVERITIES)[number];

export interface NewFinding {
  severity: Severity;
  category: string;
  file: string | null;
  line: number | null;
  message: string;
  scenario: string | null;
  suggestion: string | null;
  /** The code around it when it was found, by which it is known again when lines move. */
  context?: string | null;
  /** Of a plan, the milestone it was found in, from 0; null where it is about the whole. */
  milestone?: number | null;
  /** The id of a finding that a person decided to leave, if whoever reports this says that it is the same one. */
  repeats?: string | null;
}

type FindingStatus = 'open' | 'resolved' | 'wontfix';

/** One change of status: who, when, at which head, and why if it was said. */
export interface FindingChange {
  status: FindingStatus;
  by: string;
  at: number;
  sha: string;
  why: string | null;
  /** Said by approving that head: of another one it says nothing. */
  headOnly?: true;
}

export interface Finding extends NewFinding {
  id: string;
  task: string;
  source: 'critic' | 'auditor' | 'gate' | 'ci' | 'person' | 'rule';
  status: FindingStatus;
  /** Rounds in which it was open, first to last. */
  rounds: number[];
  history: FindingChange[];
}

/** What a later round says about an earlier finding. */
export interface Answer {
  /** The finding's id, or the number after its last dot. */
  id: string;
  addressed: 'yes' | 'no' | 'partly';
  why: string;
}

interface Round {
  task: string;
  round: number;
  headSha: string;
  source: Finding['source'];
  by: string;
  at: number;
  /**
   * Whoever was shown the open findings has to answer for each: without an answer it stays open. Null for a source
   * that looks at everything anew, so that what it no longer reports is resolved.
   */
  answers: readonly Answer[] | null;
}

/**
 * The ledger after a round: what was reported again stays open or re-opens, what was answered for is resolved, what is
 * new is added. What a person decided to leave stays so, unless it comes back worse than they saw it. Told in other words
 * it is the same only when whoever reports it says so, and never when it is a sev1: otherwise it is a new finding, which
 * says what it stands beside.
 */
export function afterRound(
  ledger: readonly Finding[],
  reported: readonly NewFinding[],
  round: Round,
): Finding[] {
  const again = matches(
    ledger.filter(({ source }) => source === round.source),
    reported,
  );
  const kept = ledger.map((finding) =>
    finding.source === round.source ? next(finding, again.get(finding) ?? null, round) : finding,
  );
  const known = new Set(again.values());
  const added = reported.filter((finding) => !known.has(finding));
  const left = leftAsIs(ledger);
  return [...kept, ...added.map((finding, index) => opened(finding, ledger.length + index + 1, round, left))];
}

/** Of what was reported, that which a person decided to leave as it is. */
export function leftByPerson(ledger: readonly Finding[], reported: readonly NewFinding[]): NewFinding[] {
  return [...matches(leftAsIs(ledger), reported)]
    .filter(([one, again]) => !isWorse(again, one))
    .map(([, again]) => again);
}

/** What a person decided to leave as it is. */
export const leftAsIs = (ledger: readonly Finding[]): Finding[] =>
  ledger.filter(({ status }) => status === 'wontfix');

/** `resolved` is a person's word on what an auditor or a person found; what a critic found, the critic answers for. */
export type DecidedStatus = 'wontfix' | 'open' | 'resolved';

/** A person's word on a finding: leave it, take it up again, call it fixed. */
export function decided(
  finding: Finding,
  status: DecidedStatus,
  said: { by: string; at: number; sha: string; why: string | null },
): Finding {
  return { ...finding, status, history: [...finding.history, { status, ...said }] };
}

/**
 * Whoever approves a head has seen what the rules found there: that is decided with it, for this head. What people found counts as
 * fixed.
 */
export function approvedWith(
  ledger: readonly Finding[],
  { by, at, sha }: { by: string; at: number; sha: string },
): Finding[] {
  const why = 'approved with the change';
  const change = { status: 'wontfix', by, at, sha, why, headOnly: true } as const;
  return ledger.flatMap((finding): Finding[] => {
    const { source, status, history } = finding;
    if (status !== 'open') return [];
    if (source === 'person') return [decided(finding, 'resolved', { by, at, sha, why })];
    return source === 'rule' ? [{ ...finding, status: 'wontfix', history: [...history, change] }] : [];
  });
}

/** `rounds` grows and is numbered from 1 again after a restart; "running" means without a gap. */
export function isStuck(finding: Finding): boolean {
  const [first, , third] = finding.rounds.slice(-3);
  return first !== undefined && third !== undefined && third - first === 2;
}

/** A finding as an older version kept it, with what it lacks. */
export function revivedFinding(row: Finding): Finding {
  if (row.history) return row;
  const { openedAtSha = '', closedAtSha = null, closedBy = null, ...rest } = row as Finding & Old;
  const before = { status: 'open' as const, by: row.source, at: 0, sha: openedAtSha, why: null };
  const after = { status: row.status, by: closedBy ?? row.source, at: 0, sha: closedAtSha ?? '', why: null };
  return { ...rest, history: row.status === 'open' ? [before] : [before, after] };
}

interface Old {
  openedAtSha?: string;
  closedAtSha?: string | null;
  closedBy?: string | null;
}

function opened(
  { repeats: _, ...finding }: NewFinding,
  number: number,
  round: Round,
  left: readonly Finding[],
): Finding {
  const { task, source, by, at, headSha: sha } = round;
  const beside = left.find((one) => one.category === finding.category && isBeside(one, finding));
  const why = beside ? `next to finding ${beside.id}, which ${beside.history.at(-1)!.by} left as is` : null;
  return {
    ...finding,
    id: `${task}.${number}`,
    task,
    source,
    status: 'open',
    rounds: [round.round],
    history: [{ status: 'open', by, at, sha, why }],
  };
}

function next(finding: Finding, again: NewFinding | null, round: Round): Finding {
  const { by, at, headSha: sha } = round;
  const change = (status: FindingStatus, why: string | null): FindingChange[] =>
    status === finding.status ? finding.history : [...finding.history, { status, by, at, sha, why }];
  if (again) {
    const isOther = isOfOtherHead(finding, round);
    if (finding.status === 'wontfix' && !isOther && !isWorse(again, finding)) return finding;
    const rounds = withRound(finding, round);
    const undecided = isOther ? 'another head was approved' : 'it is not what was decided about';
    const why = finding.status === 'wontfix' ? undecided : 'it came back';
    const { repeats: _, ...anew } = again;
    return { ...finding, ...anew, rounds, status: 'open', history: change('open', why) };
  }
  if (finding.status !== 'open') return finding;
  const answer = round.answers?.find(({ id }) => isIdOf(id, finding));
  if (round.answers === null || answer?.addressed === 'yes')
    return { ...finding, status: 'resolved', history: change('resolved', answer?.why || null) };
  return { ...finding, rounds: withRound(finding, round) };
}

export const isIdOf = (said: string, finding: Finding): boolean =>
  finding.id === said || finding.id.endsWith(`.${said}`);

/** Several looks may belong to one round. */
const withRound = ({ rounds }: Finding, { round }: Round): number[] =>
  rounds.at(-1) === round ? rounds : [...rounds, round];

function isOfOtherHead({ history }: Finding, { headSha }: Round): boolean {
  const last = history.at(-1);
  return last?.headOnly === true && last.sha !== headSha;
}

/** More severe; or, where a rule found it, about other content than a person decided on. */
const isWorse = (again: NewFinding, before: Finding): boolean =>
  SEVERITIES.indexOf(again.severity) < SEVERITIES.indexOf(before.severity) ||
  (before.source === 'rule' && again.context !== before.context);

/**
 * How much alike they are for the ledger; 0 when they are two. What a rule found is known by its content: see `isWorse`. A
 * sev1 is taken for what a person left by its own words only, whatever is said of it: nobody's mistake may hide one.
 */
function alikeness(known: Finding, reported: NewFinding): number {
  if (isSamePlace(known, reported)) return SAME_PLACE;
  if (known.status !== 'wontfix' || known.source === 'rule') return likeness(known, reported);
  if (isRepeated(known, reported)) return likeness(known, reported);
  const isSaidToRepeat = reported.repeats != null && isIdOf(reported.repeats, known);
  return isSaidToRepeat && reported.severity !== 'sev1' && mayBeOne(known, reported) ? SAID_SO : 0;
}

/** An auditor names a defect by its place: one open finding for each, in each milestone. */
const isSamePlace = (known: Finding, { file, line, milestone = null }: NewFinding): boolean =>
  known.source === 'auditor' &&
  known.status === 'open' &&
  file !== null &&
  line !== null &&
  known.file === file &&
  known.line === line &&
  (known.milestone ?? null) === milestone;

/** Before what is alike by its words. */
const SAME_PLACE = 10;

/** Behind what is alike by its words. */
const SAID_SO = 0.1;

/** Pairs of what is known and what was reported, the most alike first; each is paired at most once. */
function matches(known: readonly Finding[], reported: readonly NewFinding[]): Map<Finding, NewFinding> {
  const alike = known
    .flatMap((one) => reported.map((other) => ({ one, other, score: alikeness(one, other) })))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score);
  const pairs = new Map<Finding, NewFinding>();
  const taken = new Set<NewFinding>();
  for (const { one, other } of alike) {
    if (pairs.has(one) || taken.has(other)) continue;
    pairs.set(one, other);
    taken.add(other);
  }
  return pairs;
}
