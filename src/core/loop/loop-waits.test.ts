import { describe, expect, test } from 'vitest';
import { testPolicy } from '../../../test/support/policy.ts';
import type { Deploy } from '../deploy.ts';
import type { AccountLimit } from '../money/account.ts';
import type { LoopLimit } from '../money/budget.ts';
import { trialDigest } from '../trial.ts';
import { type LoopHold, trunkChanged, untestedMerge } from './loop-hold.ts';
import { type LOOP_WAITS, type LoopWait, loopWaits } from './loop-waits.ts';

type Loop = Parameters<typeof loopWaits>[0];

const NOON = new Date(2026, 10, 17, 12).getTime();
const MINUTE = 60_000;
const policy = {
  ...testPolicy(),
  deploy: { ...testPolicy().deploy, command: './deploy', haltOnFailure: true },
};
const QUIET: Loop = {
  pausedBy: null,
  holds: [],
  trials: [],
  deploy: null,
  deployAgain: null,
  accountLimits: [],
};
const waitsOf = (loop: Partial<Loop>, limit: LoopLimit | null = null, under = policy): LoopWait[] =>
  loopWaits({ ...QUIET, ...loop }, under, limit, NOON);
const held = (hold: LoopHold): Partial<Loop> => ({ holds: [hold] });
const limited = (more: Partial<AccountLimit> = {}): Partial<Loop> => ({
  accountLimits: [{ account: 'claude', why: 'no\nmore', until: NOON + MINUTE, ...more }],
});
const out = (waitMs: number): Partial<Loop> =>
  limited({ why: '503', outage: { since: NOON - MINUTE, failures: 3, waitMs } });
const last: Deploy = {
  id: 'd',
  sha: 'abcdef0123456',
  status: 'failed',
  problem: 'exit 7',
  startedAt: 1,
  endedAt: 2,
};
const failedDeploy: Partial<Loop> = { deploy: { considered: 1, last, deployedSha: null } };
const brokenGate: Partial<Loop> = {
  trials: [
    {
      tree: 't',
      digest: trialDigest(policy.gate),
      outcome: 'could_not_run',
      detail: '`npm test` command not found',
    },
  ],
};
const withoutGate = { ...policy, gate: { ...policy.gate, commands: [] } };

/** Each reason with the one line a person reads. */
const EVERY: Record<keyof typeof LOOP_WAITS, [LoopWait[], text: string]> = {
  operator_pause: [waitsOf({ pausedBy: 'Eva' }), 'the loop is paused by Eva — `forge-loop resume`'],
  untested_merge: [
    waitsOf(held(untestedMerge('7-a', { why: 'abc landed\nwith another tree' }))),
    'the loop is held (untested_merge): abc landed with another tree — continues when trunk passes the gate, or with `forge-loop resume`',
  ],
  trunk_changed: [
    waitsOf(held(trunkChanged('main', 'develop'))),
    'the loop is held (trunk_changed): tracker.trunk changed from main to develop; nothing starts until you confirm — `forge-loop resume` accepts the new one; to keep the old one, set it back and restart the runner',
  ],
  credential_refused: [
    waitsOf(limited({ blocked: { code: 'auth', settings: '' } })),
    'claude refuses its credential: no more — sign in again or fix the key, then `forge-loop resume`',
  ],
  account_empty: [
    waitsOf(limited({ blocked: { code: 'billing', settings: '' } })),
    'claude has a billing problem: no more — add credit or raise its limit, then `forge-loop resume`',
  ],
  setting_refused: [
    waitsOf(limited({ blocked: { code: 'setting_refused', settings: '' } })),
    'claude does not accept the settings of `agent` (see `effort`): no more — correct it in WORKFLOW.md and the loop continues; `forge-loop resume` tries again as it is',
  ],
  gate_could_not_run: [
    waitsOf(brokenGate),
    'the gate could not run on trunk: `npm test` command not found — fix it and the loop continues; `forge-loop resume` tries now',
  ],
  gate_empty: [
    waitsOf({}, null, withoutGate),
    'gate.commands is empty, so nothing can be verified — set it, or write `gate: none`',
  ],
  deploy_failed: [
    waitsOf(failedDeploy),
    'the deploy of abcdef0123 failed: exit 7 — fix it, then `forge-loop resume` tries again',
  ],
  day_budget: [
    waitsOf({}, { scope: 'day', why: 'the budget of the day is spent', until: NOON }),
    'the budget of the day is spent — continues at midnight, or when budget.day is raised',
  ],
  loop_budget: [
    waitsOf({}, { scope: 'loop', why: 'the budget of the loop is spent', until: null }),
    'the budget of the loop is spent — raise budget.loop in WORKFLOW.md',
  ],
  provider_limit: [
    waitsOf(limited()),
    'claude is used up until 12:01:00 (no more). Its tasks continue then — `forge-loop resume` tries now',
  ],
  outage: [
    waitsOf(out(0)),
    'claude has failed for every task since 11:59:00 (503). Next try 12:01:00 — `forge-loop resume` tries now',
  ],
};

test.each(Object.entries(EVERY))('%s is one line, with what to do', (reason, [waits, text]) => {
  expect(waits).toMatchObject([{ reason, text }]);
});

test('several stand at once, what stops most first', () => {
  const all = waitsOf({
    ...{ pausedBy: 'Eva', ...held(trunkChanged('main', 'develop')) },
    ...{ ...brokenGate, ...failedDeploy, ...limited() },
  });
  expect(all.map(({ reason, stops }) => [reason, stops])).toEqual([
    ['operator_pause', 'everything'],
    ['trunk_changed', 'everything'],
    ['deploy_failed', 'runs'],
    ['gate_could_not_run', 'turns'],
    ['provider_limit', 'account'],
  ]);
});

describe('nothing waits', () => {
  test.each<[string, Partial<Loop>]>([
    ['in a quiet loop', {}],
    ['for an account whose time has come', limited({ until: NOON })],
    ['for a deploy that a person wants tried again', { ...failedDeploy, deployAgain: 'Eva' }],
  ])('%s', (_what, loop) => {
    expect(waitsOf(loop)).toEqual([]);
  });
});

test('an account names whose tasks wait; out for hours, it waits for a person', () => {
  expect(waitsOf(out(0))).toMatchObject([{ account: { account: 'claude' }, endsBy: 'time' }]);
  expect(waitsOf(out(6 * 60 * MINUTE))).toMatchObject([{ endsBy: 'person', until: NOON + MINUTE }]);
});
