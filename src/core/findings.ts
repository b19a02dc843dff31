/** The findings ledger: one defect each, with a status and a history. Nothing deletes a finding. */

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
}

/** `rounds` grows and is numbered from 1 again after a restart; "running" means without a gap. */
export function isStuck(finding: Finding): boolean {
  const [first, , third] = finding.rounds.slice(-3);
  return first !== undefined && third !== undefined && third - first === 2;
}

export interface Finding extends NewFinding {
  id: string;
  task: string;
  source: 'critic' | 'auditor' | 'gate' | 'ci' | 'person' | 'rule';
  status: 'open' | 'resolved' | 'wontfix';
  /** Rounds in which it was open, first to last. */
  rounds: number[];
  openedAtSha: string;
  closedAtSha: string | null;
  closedBy: string | null;
}

/**
 * The ledger after a round: findings that were reported again stay open (or re-open), those that were not are
 * resolved, new ones are added. Matched by file and wording, since lines move.
 */
export function afterRound(
  ledger: readonly Finding[],
  reported: readonly NewFinding[],
  round: { task: string; round: number; headSha: string; source: Finding['source']; by: string },
): Finding[] {
  const unmatched = [...reported];
  const kept = ledger.map((finding) => {
    if (finding.source !== round.source || finding.status === 'wontfix') return finding;
    const index = unmatched.findIndex((other) => signature(other) === signature(finding));
    if (index >= 0) {
      const [again] = unmatched.splice(index, 1);
      const rounds = [...finding.rounds, round.round];
      return { ...finding, ...again, rounds, status: 'open' as const, closedAtSha: null, closedBy: null };
    }
    if (finding.status !== 'open') return finding;
    return { ...finding, status: 'resolved' as const, closedAtSha: round.headSha, closedBy: round.by };
  });
  const added = unmatched.map((finding, index) => ({
    ...finding,
    id: `${round.task}.${ledger.length + index + 1}`,
    task: round.task,
    source: round.source,
    status: 'open' as const,
    rounds: [round.round],
    openedAtSha: round.headSha,
    closedAtSha: null,
    closedBy: null,
  }));
  return [...kept, ...added];
}

const signature = (finding: NewFinding): string =>
  `${finding.file ?? ''}\n${finding.message
    .toLowerCase()
    .replace(/[\d\W_]+/g, ' ')
    .trim()}`;
