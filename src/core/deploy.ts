/**
 * When to deploy, and what a deploy that did not succeed means for the loop.
 *
 * Level-triggered: a merge that was observed after the last look calls for a deploy of trunk as it is now, however many
 * merges there were. A commit is deployed at most once, unless a person asks for another try.
 */
import type { Policy } from './policy.ts';
import { shortSha } from './words/short-sha.ts';

export type DeployStatus = 'running' | 'succeeded' | 'failed' | 'interrupted';

export interface Deploy {
  /** Names its processes, so that they are found after a crash. */
  id: string;
  sha: string;
  status: DeployStatus;
  problem: string | null;
  startedAt: number;
  endedAt: number | null;
}

/** Kept in the loop's row; written only by the runner that has the intake lease. */
export interface DeployState {
  /** The sequence number of the last merge that was considered. */
  considered: number;
  last: Deploy | null;
  /** The last commit that was deployed with success. */
  deployedSha: string | null;
}

type DeployStep =
  | { kind: 'nothing' }
  /** The merges are considered, and there is nothing to deploy for them. */
  | { kind: 'consider'; considered: number }
  | { kind: 'deploy'; sha: string; considered: number };

export interface DeployFacts {
  /** The sequence number of the newest merge; 0 when there was none. */
  newestMerge: number;
  trunk: string;
  /** A person asked for another try. */
  again: boolean;
}

/** Is there a merge to deploy, or a person's word? Cheap, and asked before trunk is looked up. */
export const isDeployDue = (state: DeployState, newestMerge: number, again: boolean): boolean =>
  newestMerge > state.considered || (again && state.last !== null && !isGood(state.last));

export function nextDeploy(state: DeployState, { newestMerge, trunk, again }: DeployFacts): DeployStep {
  if (!isDeployDue(state, newestMerge, again)) return { kind: 'nothing' };
  const considered = Math.max(newestMerge, state.considered);
  const wasTried = state.last?.sha === trunk || state.deployedSha === trunk;
  if (wasTried && !again) return { kind: 'consider', considered };
  return { kind: 'deploy', sha: trunk, considered };
}

/** The words for a loop that goes no further until a deploy succeeds; null when it does not have to wait. */
export function deployHold(
  state: DeployState | null,
  again: boolean,
  deploy: Policy['deploy'],
): string | null {
  const last = state?.last;
  if (!last || isGood(last) || again || deploy.command === null || !deploy.haltOnFailure) return null;
  return `the deploy of ${shortSha(last.sha)} ${last.status}: ${last.problem}`;
}

const isGood = ({ status }: Deploy): boolean => status === 'succeeded' || status === 'running';
