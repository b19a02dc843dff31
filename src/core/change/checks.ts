/** What a merge waits for: checks that the forge requires or `merge.required_checks` names, and the forge's own rules. */
import type { Policy } from '../policy.ts';
import type { Check, PullFeedback, Remark } from './remark.ts';

/** What people, CI and the forge's own rules say about one head. */
export interface Said {
  checks: RequiredCheck[];
  /** `build, lint`: the required checks in that state; null when there is none. */
  red: string | null;
  pending: string | null;
  /** ` (why)`, to say behind their names: what of CI could not be read; empty when all was. */
  unread: string;
  /** What the forge's own rules still want of people. */
  wants: readonly string[];
  objections: Remark[];
}

/** Null when nobody could be asked: no answer is never taken for a good one. */
export function saidAt(head: string | null, feedback: PullFeedback | null, policy: Policy): Said | null {
  if (feedback === null) return null;
  const checks = requiredChecks(feedback, head, policy);
  return {
    checks,
    red: namesOf(checks, 'red'),
    pending: namesOf(checks, 'pending'),
    unread: feedback.unread === undefined ? '' : ` (${feedback.unread})`,
    wants: feedback.wants ?? [],
    objections: objections(feedback.remarks, head),
  };
}

interface RequiredCheck {
  name: string;
  state: Check['state'];
}

/** A named check that CI has not reported for this head is pending, never green. */
export function requiredChecks(said: PullFeedback, head: string | null, policy: Policy): RequiredCheck[] {
  const here = said.checks.filter(({ headSha }) => headSha === head);
  const silent = policy.merge.requiredChecks.filter((name) => !here.some((check) => check.name === name));
  return [
    ...here.filter((check) => isRequired(check, policy)).map(({ name, state }) => ({ name, state })),
    ...silent.map((name) => ({ name, state: 'pending' as const })),
  ];
}

export const isRequired = ({ name, required }: Check, policy: Policy): boolean =>
  required || policy.merge.requiredChecks.includes(name);

function namesOf(checks: readonly RequiredCheck[], state: Check['state']): string | null {
  const names = checks.filter((check) => check.state === state).map(({ name }) => name);
  return names.length > 0 ? names.join(', ') : null;
}

/** Requests for changes at this head that their authors have not taken back by an approval. */
export function objections(remarks: readonly Remark[], head: string | null): Remark[] {
  const last = new Map<string, Remark>();
  for (const remark of remarks) {
    if (remark.mayWrite && remark.verdict !== 'comment') last.set(remark.author, remark);
  }
  return [...last.values()].filter(
    ({ verdict, headSha }) => verdict === 'request_changes' && (headSha === null || headSha === head),
  );
}
