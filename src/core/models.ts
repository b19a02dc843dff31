/**
 * Which model is asked. A turn that failed because its model was overloaded or could not be had is tried again, in the
 * same session, with the next of the role's fallback models; after a turn that went well its own model is asked again.
 */
import type { AgentPolicy } from './policy.ts';

const OTHER_MODEL_MAY_HELP = ['overload', 'model_unavailable'];

/** The place of the fallback to ask, from 1; nothing for the role's own model. */
export function fallback(
  { fallbackModels }: AgentPolicy,
  code: string | null,
  failures: number,
): { fallback?: number } {
  const place = Math.min(failures, fallbackModels.length);
  return place > 0 && OTHER_MODEL_MAY_HELP.includes(code ?? '') ? { fallback: place } : {};
}

/** The policy as the agent gets it. A list that was shortened meanwhile leaves the role's own model. */
export function asking(agent: AgentPolicy, place = 0): AgentPolicy {
  return { ...agent, model: agent.fallbackModels[place - 1] ?? agent.model };
}
