import { describe, expect, test } from 'vitest';
import { testPolicy } from '../../test/support/policy.ts';
import { type DeployFacts, type DeployState, type DeployStatus, deployHold, nextDeploy } from './deploy.ts';

const tried = (sha: string, status: DeployStatus): DeployState['last'] => ({
  id: 'd1',
  sha,
  status,
  problem: status === 'failed' ? 'exit 1' : null,
  startedAt: 0,
  endedAt: 1,
});
const state = (last: DeployState['last'] = null, change: Partial<DeployState> = {}): DeployState => ({
  considered: 5,
  last,
  deployedSha: last?.status === 'succeeded' ? last.sha : null,
  ...change,
});
const facts = (change: Partial<DeployFacts> = {}): DeployFacts => ({
  newestMerge: 5,
  trunk: 't2',
  again: false,
  ...change,
});

describe('what to deploy', () => {
  const DEPLOY = (considered: number) => ({ kind: 'deploy', sha: 't2', considered });
  const TABLE: [string, DeployState, DeployFacts, unknown][] = [
    ['no merge, nothing', state(), facts(), { kind: 'nothing' }],
    ['a merge', state(), facts({ newestMerge: 6 }), DEPLOY(6)],
    ['several merges: one deploy, of trunk as it is', state(), facts({ newestMerge: 60 }), DEPLOY(60)],
    ['a merge after a success', state(tried('t1', 'succeeded')), facts({ newestMerge: 6 }), DEPLOY(6)],
    ['a merge after a failure', state(tried('t1', 'failed')), facts({ newestMerge: 6 }), DEPLOY(6)],
    [
      'a merge whose trunk was deployed already',
      state(tried('t2', 'succeeded')),
      facts({ newestMerge: 6 }),
      { kind: 'consider', considered: 6 },
    ],
    [
      'a merge whose trunk was tried already',
      state(tried('t2', 'failed')),
      facts({ newestMerge: 6 }),
      { kind: 'consider', considered: 6 },
    ],
    [
      'a trunk that went back to what was deployed before the last try',
      state(tried('t3', 'failed'), { deployedSha: 't2' }),
      facts({ newestMerge: 6 }),
      { kind: 'consider', considered: 6 },
    ],
    ['a failure alone', state(tried('t2', 'failed')), facts(), { kind: 'nothing' }],
    ['a failure and a person’s word', state(tried('t2', 'failed')), facts({ again: true }), DEPLOY(5)],
    [
      'an interruption and a person’s word',
      state(tried('t2', 'interrupted')),
      facts({ again: true }),
      DEPLOY(5),
    ],
    [
      'a success and a person’s word',
      state(tried('t2', 'succeeded')),
      facts({ again: true }),
      { kind: 'nothing' },
    ],
    ['nothing ever and a person’s word', state(), facts({ again: true }), { kind: 'nothing' }],
  ];
  test.each(TABLE)('%s', (_what, before, seen, step) => {
    expect(nextDeploy(before, seen)).toEqual(step);
  });
});

describe('the loop waits', () => {
  const { deploy } = testPolicy();
  const halting = { ...deploy, command: './deploy.sh', haltOnFailure: true };
  const TABLE: [string, DeployState | null, boolean, typeof deploy, string | null][] = [
    ['after a failure', state(tried('t2', 'failed')), false, halting, 'the deploy of t2 failed: exit 1'],
    [
      'after an interruption',
      state({ ...tried('t2', 'interrupted')!, problem: 'its runner died' }),
      false,
      halting,
      'the deploy of t2 interrupted: its runner died',
    ],
    ['not after a success', state(tried('t2', 'succeeded')), false, halting, null],
    ['not while one runs', state(tried('t2', 'running')), false, halting, null],
    ['not when a person asked for another try', state(tried('t2', 'failed')), true, halting, null],
    [
      'not without halt_on_failure',
      state(tried('t2', 'failed')),
      false,
      { ...halting, haltOnFailure: false },
      null,
    ],
    [
      'not when nothing is to be deployed any more',
      state(tried('t2', 'failed')),
      false,
      { ...halting, command: null },
      null,
    ],
    ['not before the first', null, false, halting, null],
  ];
  test.each(TABLE)('%s', (_what, before, again, policy, says) => {
    expect(deployHold(before, again, policy)).toBe(says);
  });
});
