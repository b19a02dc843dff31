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
