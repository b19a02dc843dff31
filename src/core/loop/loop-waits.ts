/**
 * Why the whole loop waits, or all tasks of one account: one list, read by whoever starts something and by whoever
 * tells people. Each sentence is put together here: what it is, and what to do about it.
 */

import { type DeployState, deployHold } from '../deploy.ts';
import { type AccountLimit, isLasting, usedUp } from '../money/account.ts';
import type { LoopLimit } from '../money/budget.ts';
import type { Policy } from '../policy.ts';
import { gateHold, type Trial } from '../trial.ts';
import { accountText, loopHoldText } from '../words/words.ts';
import type { LoopHold } from './loop-hold.ts';

/**
 * What does not start meanwhile: `everything` is runs and deploys; `runs` are turns, gates and hooks; `turns` are all
 * agents' work; `account` is the work of agents who share one.
 */
type Stops = 'everything' | 'runs' | 'turns' | 'account';

interface Row {
  stops: Stops;
  /** A person's word; a fact that people put right and the loop sees by itself; or a time. */
  endsBy: 'person' | 'fact' | 'time';
  /** `forge-loop resume` ends it, or tries again at once what it waits for. */
  resumes: boolean;
  advice: string;
}

export const LOOP_WAITS = {
  operator_pause: { stops: 'everything', endsBy: 'person', resumes: true, advice: '`forge-loop resume`' },
  untested_merge: {
    stops: 'everything',
    endsBy: 'fact',
    resumes: true,
    advice: 'continues when trunk passes the gate, or with `forge-loop resume`',
  },
  trunk_changed: {
    stops: 'everything',
    endsBy: 'person',
    resumes: true,
    advice:
      '`forge-loop resume` accepts the new one; to keep the old one, set it back and restart the runner',
  },
  credential_refused: {
    stops: 'account',
    endsBy: 'person',
    resumes: true,
    advice: 'sign in again or fix the key, then `forge-loop resume`',
  },
  account_empty: {
    stops: 'account',
    endsBy: 'person',
    resumes: true,
    advice: 'add credit or raise its limit, then `forge-loop resume`',
  },
  setting_refused: {
    stops: 'account',
    endsBy: 'fact',
    resumes: true,
    advice: 'correct it in WORKFLOW.md and the loop continues; `forge-loop resume` tries again as it is',
  },
  deploy_failed: {
    stops: 'runs',
    endsBy: 'fact',
    resumes: true,
    advice: 'fix it, then `forge-loop resume` tries again',
  },
  gate_could_not_run: {
    stops: 'turns',
    endsBy: 'fact',
    resumes: true,
    advice: 'fix it and the loop continues; `forge-loop resume` tries now',
  },
  gate_empty: {
    stops: 'turns',
    endsBy: 'fact',
    resumes: false,
    advice: 'set it, or write `gate: none`',
  },
  day_budget: {
    stops: 'turns',
    endsBy: 'time',
    resumes: false,
    advice: 'continues at midnight, or when budget.day is raised',
  },
  loop_budget: {
    stops: 'turns',
    endsBy: 'fact',
    resumes: false,
    advice: 'raise budget.loop in WORKFLOW.md',
  },
  provider_limit: {
    stops: 'account',
    endsBy: 'time',
    resumes: true,
    advice: '`forge-loop resume` tries now',
  },
  outage: { stops: 'account', endsBy: 'time', resumes: true, advice: '`forge-loop resume` tries now' },
} as const satisfies Record<string, Row>;

export interface LoopWait extends Omit<Row, 'advice'> {
  reason: keyof typeof LOOP_WAITS;
  /** What it is, without the advice. */
  detail: string;
  text: string;
  until: number | null;
  /** Whose tasks wait; null when everybody's do. */
  account: AccountLimit | null;
}

/** What of the loop's row it rests on. */
interface Loop {
  pausedBy: string | null;
  holds: readonly LoopHold[];
  trials: readonly Trial[];
  deploy: DeployState | null;
  deployAgain: string | null;
  accountLimits: readonly AccountLimit[];
}

/** What stops most comes first. `limit`: the budget of all tasks together that is spent. */
export function loopWaits(loop: Loop, policy: Policy, limit: LoopLimit | null, now: number): LoopWait[] {
  const { pausedBy, deploy, deployAgain, accountLimits } = loop;
  const gate = gateHold(loop.trials, policy);
  const undeployed = deployHold(deploy, deployAgain !== null, policy.deploy);
  return [
    ...(pausedBy === null ? [] : [wait('operator_pause', `the loop is paused by ${pausedBy}`)]),
    ...loop.holds.map(heldWait),
    ...(undeployed === null ? [] : [wait('deploy_failed', undeployed)]),
    ...(gate ? [wait(gate.reason, gate.detail)] : []),
    ...(limit ? [wait(`${limit.scope}_budget`, limit.why, { until: limit.until })] : []),
    ...usedUp(accountLimits, now).map((account) => accountWait(account, now)),
  ];
}

/** One that the loop was held for, as it is told when it happens. */
export const heldWait = (hold: LoopHold): LoopWait => wait(hold.reason, loopHoldText(hold));

function accountWait(account: AccountLimit, now: number): LoopWait {
  const reason = accountReason(account);
  const until = account.blocked ? null : account.until;
  const waits = wait(reason, accountText(account, now), { until, account });
  // It has been tried for so long that a person should look.
  return isLasting(account) ? { ...waits, endsBy: 'person' } : waits;
}

function accountReason({ blocked, outage }: AccountLimit): LoopWait['reason'] {
  if (blocked) return BLOCKED[blocked.code];
  return outage ? 'outage' : 'provider_limit';
}

const BLOCKED = {
  auth: 'credential_refused',
  billing: 'account_empty',
  model_unavailable: 'setting_refused',
  setting_refused: 'setting_refused',
} as const;

function wait(
  reason: LoopWait['reason'],
  detail: string,
  { until = null, account = null }: { until?: number | null; account?: AccountLimit | null } = {},
): LoopWait {
  const { advice, ...row } = LOOP_WAITS[reason];
  return { reason, detail, text: `${detail} — ${advice}`, until, account, ...row };
}
