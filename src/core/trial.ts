/**
 * The gate is tried on trunk before anybody is paid to work for it: one that can't run there would hold every issue
 * after a paid turn. What it came to is kept in the loop's row, by tree and commands; a candidate that passed counts
 * for the trunk it became.
 */

import type { NewEvent } from './event.ts';
import type { GateOutcome } from './gate.ts';
import type { Policy } from './policy.ts';
import { digestOfValue } from './text/digest.ts';

export interface Trial {
  tree: string;
  /** Of the setup and the operator's own commands, and what they get of the operator's. */
  digest: string;
  outcome: GateOutcome;
  /** What failed, or could not run; empty when it passed. */
  detail: string;
}

export const trialDigest = ({ setup, commands, env, timeoutMs }: Policy['gate']): string =>
  digestOfValue([setup, commands, env, timeoutMs]);

const KEPT = 20;

const asksForRetry = (type: NewEvent['type']): boolean =>
  type === 'gate_retry_requested' || type === 'gate_trials_forgotten';

/** The trials after these events, the newest last; the same list when none of them is about one. */
export function afterTrials(trials: readonly Trial[], events: readonly NewEvent[]): readonly Trial[] {
  return events.reduce(afterEvent, trials);
}

function afterEvent(trials: readonly Trial[], happened: NewEvent): readonly Trial[] {
  if (asksForRetry(happened.type)) return trials.filter(({ outcome }) => outcome !== 'could_not_run');
  const made = trialIn(happened);
  if (!made) return trials;
  const others = trials.filter(({ tree, digest }) => tree !== made.tree || digest !== made.digest);
  return [...others, made].slice(-KEPT);
}

function trialIn(happened: NewEvent): Trial | null {
  if (happened.type === 'gate_tried') {
    const { tree, digest, outcome, detail } = happened.data;
    return { tree, digest, outcome, detail };
  }
  if (happened.type !== 'gate_completed' || happened.data.scope === 'work') return null;
  const { tree, outcome, trial } = happened.data.evidence;
  return trial !== undefined && outcome === 'pass' ? { tree, digest: trial, outcome, detail: '' } : null;
}

/** Is there a gate to try that did not run on this tree yet? One that could not run may be able to by now. */
export function isTrialDue(trials: readonly Trial[], tree: string, { gate }: Policy): boolean {
  if (gate.commands === 'none' || gate.commands.length === 0) return false;
  const digest = trialDigest(gate);
  const same = trials.find((one) => one.tree === tree && one.digest === digest);
  return !same || same.outcome === 'could_not_run';
}

/**
 * Why no turn may start; null when one may. Work begins on a trunk on which the gate was tried. Work that has begun goes
 * on when trunk moves under it, as long as these very commands were able to run when they were last tried.
 */
export function whyUntried(
  trials: readonly Trial[],
  { gate }: Policy,
  trunkTree: string | null = null,
): string | null {
  if (gate.commands === 'none') return null;
  if (gate.commands.length === 0)
    return gate.mayBeEmpty ? null : 'gate.commands is empty, so nothing can be verified';
  const last = lastTrial(trials, gate, trunkTree);
  if (!last) return 'running the gate on trunk before the first turn';
  return last.outcome === 'could_not_run' ? COULD_NOT_RUN : null;
}

function lastTrial(
  trials: readonly Trial[],
  gate: Policy['gate'],
  trunkTree: string | null,
): Trial | undefined {
  const wanted = trialDigest(gate);
  const same = trials.filter(({ digest }) => digest === wanted);
  return trunkTree === null ? same.at(-1) : same.find(({ tree }) => tree === trunkTree);
}

const COULD_NOT_RUN = 'the gate could not run on trunk';

/** What of the gate waits for a person. */
export function gateHold(
  trials: readonly Trial[],
  policy: Policy,
): { reason: 'gate_empty' | 'gate_could_not_run'; detail: string } | null {
  const { gate } = policy;
  const why = whyUntried(trials, policy);
  if (why === null) return null;
  if (gate.commands.length === 0) return { reason: 'gate_empty', detail: why };
  if (why !== COULD_NOT_RUN) return null;
  return { reason: 'gate_could_not_run', detail: `${why}: ${lastTrial(trials, gate, null)?.detail}` };
}
