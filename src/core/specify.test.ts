/** Before the first coder turn: who is asked, what follows from each answer, and what never does. */

import { describe, expect, test } from 'vitest';
import { APPROVE, EXPAND, Play } from '../../test/support/play.ts';
import type { PolicyChange } from '../../test/support/policy.ts';
import { PROVIDER_PATIENCE } from './role.ts';

const READY = { title: 'Add a revoke button', body: 'Clicking Revoke POSTs /tokens/1/revoke.' };
const THIN = { title: 'Add a revoke button', body: 'We need `revoke` for tokens.' };
const UNSURE = { title: 'Token revocation', body: 'Customers ask for it.' };
const TASTE = { title: 'Make the revoke flow nicer', body: '' };

function claimed(issue: typeof READY, change: PolicyChange = {}): Play {
  const play = new Play(change);
  Object.assign(play.world.issue!, issue);
  return play.claim();
}

const roles = (play: Play): string[] => play.actionsOf('turn').map(({ role }) => role);
const DECLINE = { decision: 'decline', questions: ['Who may revoke?'] };

describe('who is asked first', () => {
  test.each([
    ['ready', READY, 'auto', 'coder'],
    ['ready', READY, 'propose', 'coder'],
    ['thin', THIN, 'auto', 'specifier'],
    ['thin', THIN, 'propose', 'specifier'],
    ['thin', THIN, 'off', 'coder'],
    ['unsure', UNSURE, 'auto', 'specifier'],
    ['unsure', UNSURE, 'propose', 'specifier'],
    ['unsure', UNSURE, 'off', 'specifier'],
  ] as const)('%s, spec.expand %#', (_what, issue, expand, role) => {
    expect(roles(claimed(issue, { spec: { expand } }))).toEqual([role]);
  });

  test('nobody, when the text was turned into taste between its claim and its slot', () => {
    const play = new Play();
    play.world.slotsFull = true;
    play.claim();
    play.issue({ ...TASTE, textHash: 'new', readyHash: 'new' });
    play.change({ slotsFull: false });
    expect(play.task).toMatchObject({ state: 'abandoned', reason: 'spec_rejected', workspace: null });
    expect(roles(play)).toEqual([]);
  });

  test('nobody twice: once a coder has begun, the contract is settled', () => {
    const play = claimed(READY).turn().checkpoint('c1').ask('cancel').restart();
    play.issue({ ...UNSURE, textHash: 'new', readyHash: 'new' });
    expect(roles(play).filter((role) => role === 'specifier')).toEqual([]);
  });
});

describe('the specifier’s turn', () => {
  test('is no turn of the coder’s, has a session of its own, and its time counts', () => {
    const play = claimed(THIN).specifier(EXPAND);
    expect(play.task).toMatchObject({
      turns: 1,
      roles: { coder: { session: 's2' } },
      sessionIds: ['s2'],
      workedMs: 1000,
    });
    expect(play.of('turn_started')).toMatchObject([
      { role: 'specifier', turn: 1, sessionId: 's1', prompt: 'spec' },
      { role: 'coder', turn: 1, sessionId: 's2', prompt: 'task' },
    ]);
  });

  test('takes the slot the task has, and no work tree is made before its answer', () => {
    const play = claimed(UNSURE);
    expect(play.task).toMatchObject({ state: 'dispatched', hold: null });
    expect(play.actionsOf('prepare_workspace')).toEqual([]);
    play.specifier({ decision: 'ready' });
    expect(play.actionsOf('prepare_workspace')).toHaveLength(1);
  });

  test('is stopped by a spent budget, and the task ends with it', () => {
    const play = claimed(UNSURE, { budget: { usd: 1 } }).change({ spend: { costUsd: 2, tokens: 0 } });
    expect(play.task).toMatchObject({ state: 'abandoned', reason: 'budget_exhausted', turns: 0 });
  });

  test('is stopped when the issue is closed', () => {
    expect(claimed(UNSURE).issue({ state: 'closed' }).task).toMatchObject({ reason: 'issue_closed' });
  });

  test('is supervised like any other', () => {
    const play = claimed(UNSURE).wait(300_000);
    expect(play.of('turn_completed')).toMatchObject([{ role: 'specifier', status: 'stalled' }]);
    expect(play.task).toMatchObject({ state: 'queued', hold: { reason: 'retry_backoff' } });
  });
});

describe('an adopted specification', () => {
  const play = claimed(THIN).specifier(EXPAND);

  test('stands beside the contract, whose text and hash stay what they were', () => {
    expect(play.task.contract).toMatchObject({ ...THIN, hash: 'body-1' });
    const { problem, outOfScope } = EXPAND;
    const specification = { problem, outOfScope };
    expect(play.task.spec).toMatchObject({ status: 'adopted', by: null, specification });
    expect(play.task.contract.criteria.map(({ id, verify }) => [id, verify])).toEqual([
      ['s1', null],
      ['s2', null],
    ]);
  });

  test('is posted once, with the original word for word', () => {
    const posted = play.actionsOf('comment').filter(({ marker }) => marker.includes(':spec:'));
    expect(posted).toHaveLength(1);
    expect(posted[0]!.body).toContain('- Revoke opens a dialog');
    expect(posted[0]!.body).toContain('> We need `revoke` for tokens.');
  });

  test('survives a restart, and is gone with the text it was about', () => {
    const later = claimed(THIN).specifier(EXPAND).turn().checkpoint('c1').ask('cancel').restart();
    expect(later.task.spec).toMatchObject({ status: 'adopted' });
    later.issue({ ...READY, textHash: 'new', readyHash: 'new' });
    later.turn();
    expect(later.task.spec).toBeNull();
    expect(later.task.contract.criteria).toEqual([]);
  });
});

describe('a proposed specification', () => {
  const proposed = (): Play => claimed(THIN, { spec: { expand: 'propose' } }).specifier(EXPAND);

  test('waits for a person without a slot; nobody works before, whatever else happens', () => {
    const play = proposed().wait(1e9).ask('resume').ask('pause').ask('resume').crash().wait(1e9);
    expect(play.task).toMatchObject({ state: 'queued', hold: { reason: 'spec_proposed', until: null } });
    expect(roles(play)).toEqual(['specifier']);
  });

  test('is agreed to by name; then its commands count too', () => {
    const play = proposed().ask('approve', 'eva');
    expect(play.task.spec).toMatchObject({ status: 'adopted', by: 'eva' });
    expect(play.task.contract.criteria[0]).toMatchObject({ id: 's1', verify: 'npm test -- revoke' });
    expect(roles(play)).toEqual(['specifier', 'coder']);
  });

  test('is agreed to also under a pause, which then still holds', () => {
    const play = proposed().ask('pause').ask('approve');
    expect(play.task).toMatchObject({ spec: { status: 'adopted' }, hold: { reason: 'operator_pause' } });
    expect(roles(play)).toEqual(['specifier']);
  });

  test('an approval of it approves no head', () => {
    const play = proposed().ask('approve').worked('c1');
    expect(play.task.verdict).toBeNull();
    expect(play.critic(APPROVE).task.state).toBe('merging');
  });
});

describe('declined', () => {
  test('ends the task with the questions and the label, and an edit makes it eligible at once', () => {
    const play = claimed(UNSURE).specifier(DECLINE);
    expect(play.task).toMatchObject({ state: 'abandoned', reason: 'spec_rejected', turns: 0 });
    expect(play.world.issue?.labels).toEqual(['loop:needs-spec']);
    expect(play.actionsOf('comment').at(-1)?.body).toContain('- Who may revoke?');
    expect(play.actionsOf('preserve_workspace')).toEqual([]);
  });

  test('restarted unchanged, it is judged again', () => {
    const play = claimed(UNSURE).specifier(DECLINE).restart();
    expect(roles(play)).toEqual(['specifier', 'specifier']);
    expect(play.specifier({ decision: 'ready' }).task.state).toBe('running');
  });
});

describe('what goes wrong with the specifier', () => {
  test('a credential that is refused blocks its account, and the issue waits', () => {
    const play = claimed(UNSURE);
    const refused = { code: 'auth', message: 'no key', workless: true } as const;
    for (let n = 1; n <= 3; n += 1) play.turn('failed', refused).wait(600_000);
    expect(play.world.accountLimits).toMatchObject([{ blocked: { code: 'auth' } }]);
    expect(play.task).toMatchObject({ hold: { reason: 'provider_limit' } });
  });

  const times = (play: Play, count: number, happens: (play: Play) => void): Play => {
    for (let n = 0; n < count; n += 1) happens(play);
    return play;
  };
  const unusable = (play: Play): void => void play.specifier({ decision: 'perhaps' });
  const tampers = (play: Play): void =>
    void play.turn('failed', { code: 'critic_wrote', message: 'it wrote' });
  const fails = (play: Play): void => {
    play.turn('failed', { code: 'crashed', message: 'it said nothing' });
    play.wait(600_000);
  };
  const outOfMoney = (play: Play): void => {
    play.turn('failed', { code: 'usage_limit', message: 'used up' });
    play.wait(600_000);
  };
  const dies = (play: Play): void => void play.crash();

  test.each([
    ['two unusable answers', THIN, 2, unusable, 'running', null],
    ['two unusable answers', UNSURE, 2, unusable, 'abandoned', 'spec_rejected'],
    ['an answer that tampered, twice', THIN, 2, tampers, 'running', null],
    ['an answer that tampered, twice', UNSURE, 2, tampers, 'abandoned', 'spec_rejected'],
    ['three failures', THIN, 3, fails, 'running', null],
    ['three failures', UNSURE, 3, fails, 'abandoned', 'error_max_retries'],
    ['eight refusals of the provider', UNSURE, PROVIDER_PATIENCE, outOfMoney, 'abandoned', 'provider_limit'],
  ] as const)('%s: the rules have the last word (%o)', (_what, issue, count, happens, state, reason) => {
    const play = claimed(issue);
    times(play, count - 1, happens);
    expect(play.task.state, 'one fewer is asked again').toBe('dispatched');
    expect(roles(play)).not.toContain('coder');
    happens(play);
    expect(play.task).toMatchObject({ state, reason });
    expect(roles(play).filter((role) => role === 'specifier')).toHaveLength(count);
  });

  test('deaths of its runner settle nothing: it waits, then a person looks, who gives it fresh chances', () => {
    const play = claimed(UNSURE);
    for (let n = 0; n < 8; n += 1) {
      dies(play);
      if (play.task.hold?.until) play.wait(play.task.hold.until - play.now);
    }
    expect(play.task).toMatchObject({ state: 'queued', hold: { reason: 'interrupted', until: null } });
    expect(play.ask('resume').run()).toMatchObject({ role: 'specifier' });
    expect(play.specifier({ decision: 'ready' }).task.state).toBe('running');
  });

  test('a runner that is stopped orderly does not count as a death', () => {
    const play = claimed(UNSURE);
    times(play, 5, (one) => one.turn('interrupted', { code: 'runner_stopped' }));
    expect(play.task.state).toBe('dispatched');
  });

  test('a sandbox that can’t confine it ends the task at once', () => {
    const play = claimed(THIN).turn('failed', { code: 'sandbox_failed', message: 'no bwrap' });
    expect(play.task).toMatchObject({ state: 'abandoned', reason: 'sandbox_failed' });
  });

  test('the time a provider named is kept', () => {
    const play = claimed(UNSURE).turn('failed', { code: 'rate_limit', message: 'later', retryAt: 5_000_000 });
    expect(play.task.hold).toMatchObject({ reason: 'provider_limit', until: 5_000_000 });
    expect(play.wait(4_999_999).task.state).toBe('queued');
    expect(play.wait(1).task.state).toBe('dispatched');
  });

  test('a good answer after a bad one counts', () => {
    const play = claimed(UNSURE);
    unusable(play);
    expect(play.specifier({ decision: 'ready' }).task).toMatchObject({
      state: 'running',
      spec: { status: 'taken' },
    });
  });
});
