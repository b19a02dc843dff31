/** What a merge waits for: checks that the forge requires or `merge.required_checks` names, and the forge's own rules. */
import type { Policy } from './policy.ts';
import type { Check, PullFeedback } from './remark.ts';

export interface RequiredCheck {
  name: string;
  state: Check['state'];
}

/** A named check that CI has not reported for this head is pending, never green. Null when nobody could be asked. */
export function requiredChecks(
  said: PullFeedback | null,
  head: string | null,
  policy: Policy,
): RequiredCheck[] | null {
  if (said === null) return null;
  const here = said.checks.filter(({ headSha }) => headSha === head);
  const silent = policy.merge.requiredChecks.filter((name) => !here.some((check) => check.name === name));
  return [
    ...here.filter((check) => isRequired(check, policy)).map(({ name, state }) => ({ name, state })),
    ...silent.map((name) => ({ name, state: 'pending' as const })),
  ];
}

export const isRequired = ({ name, required }: Check, policy: Policy): boolean =>
  required || policy.merge.requiredChecks.includes(name);

/** What the forge's own rules still want of people. */
export const wantsOf = (said: PullFeedback): readonly string[] => said.wants ?? [];

/** `build, lint`, of those in this state; null when there is none. */
export function namesOf(checks: readonly RequiredCheck[], state: Check['state']): string | null {
  const names = checks.filter((check) => check.state === state).map(({ name }) => name);
  return names.length > 0 ? names.join(', ') : null;
}
