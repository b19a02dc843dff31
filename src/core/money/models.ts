/**
 * Which model is asked. A turn that failed because its model was overloaded or could not be had, of a coder or an auditor also
 * for no reason that is known, is tried again, in the same session, with the next of the role's fallback models; after a turn
 * that went well its own model is asked again.
 */
import type { AgentPolicy } from '../policy.ts';
import { type Role, roleRow } from '../role.ts';

/** The place of the fallback to ask, from 1; nothing for the role's own model. */
export function fallback(
  role: Role,
  { fallbackModels }: AgentPolicy,
  code: string | null,
  failures: number,
): { fallback?: number } {
  const place = Math.min(failures, fallbackModels.length);
  return place > 0 && roleRow(role).fallsBackOn.includes(code ?? '') ? { fallback: place } : {};
}

/** There is another model to ask than those that failed so far. */
export const hasFallback = (role: Role, agent: AgentPolicy, code: string | null, failures: number): boolean =>
  roleRow(role).fallsBackOn.includes(code ?? '') && failures <= agent.fallbackModels.length;

/** The policy as the agent gets it; `own` is what is asked without a fallback. A list that was shortened meanwhile leaves the role's own model. */
export function asking(agent: AgentPolicy, place = 0, own = agent.model): AgentPolicy {
  return { ...agent, model: agent.fallbackModels[place - 1] ?? own };
}
