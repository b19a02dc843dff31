/** The one ladder of retries: what counts together, what ends a row of mishaps, and what a person's word is worth. */
import { describe, expect, test } from 'vitest';
import { APPROVE, awaiting, changes, Play, remark } from '../../test/support/play.ts';

const unusable = (play: Play): Play => play.turn('finished', { text: 'looks good to me' });
const asked = (play: Play, role: string) => play.actionsOf('turn').filter((one) => one.role === role);

/** Lets turns go wrong, waiting where it has to, until a hold without an end or the end of the task. */
function wrong(play: Play, turn: (play: Play, nth: number) => Play): { play: Play; waits: number } {
  let waits = 0;
  for (let steps = 0; steps < 80 && (play.run() || play.task.hold?.until); steps += 1) {
    if (play.run()) turn(play, steps);
    else {
      waits += 1;
      play.wait(400_000);
    }
  }
  return { play, waits };
}

const thin = (): Play => {
  const play = new Play();
  Object.assign(play.world.issue!, { title: 'Token revocation', body: 'Customers ask for it.' });
  return play.claim();
};

describe('a critic', () => {
  test.each<[string, (play: Play, nth: number) => Play]>([
    [
      'answers that are unusable in one way and another',
      (play) =>
        play.task.roles.critic.unusable % 2 === 0
          ? unusable(play)
          : play.turn('finished', { structured: { verdict: 'FINE' } }),
    ],
    ['failures', (play) => play.turn('failed', { message: 'x' })],
    ['time-outs', (play) => play.turn('timed_out')],
    ['both in turn', (play, nth) => (nth % 2 === 0 ? unusable(play) : play.turn('failed', { message: 'x' }))],
  ])('is held for a person after seven: %s', (_what, turn) => {
    const { play, waits } = wrong(awaiting(), turn);
    expect(play.task).toMatchObject({ state: 'awaiting_critic', hold: { reason: 'critic_unusable' } });
    expect(asked(play, 'critic')).toHaveLength(7);
    expect(waits).toBeGreaterThanOrEqual(5);
  });

  const held = (): Play => wrong(awaiting(), unusable).play;

  test.each<[string, (play: Play) => Play]>([
    ['is stopped with its runner', (play) => play.turn('interrupted', { code: 'runner_stopped' })],
    ['dies with its runner', (play) => play.crash()],
  ])('whose granted try %s is not given up for it', (_what, turn) => {
    expect(turn(held().ask('resume')).task).toMatchObject({
      state: 'awaiting_critic',
      hold: { reason: 'critic_unusable' },
    });
  });

  test('whose account is used up in its granted try is not given up for it', () => {
    const play = held().ask('resume');
    play.turn('failed', { code: 'usage_limit', retryAt: play.now + 3_600_000, message: 'limit' });
    expect(play.task.state).toBe('awaiting_critic');
  });

  test('is asked about a new head, however often it failed on the one before', () => {
    const play = held().hears(remark('rename it')).worked('c2');
    expect(play.task.state).toBe('awaiting_critic');
  });

  test('that gave a good answer since has all its chances again', () => {
    const play = wrong(held().ask('resume').critic(changes('x')).worked('c2'), unusable).play;
    expect(play.task).toMatchObject({ state: 'awaiting_critic', hold: { reason: 'critic_unusable' } });
    expect(play.ask('resume').critic(APPROVE).task.state).toBe('merging');
  });
});

describe('a specifier', () => {
  test.each(['stalled', 'timed_out', 'failed'] as const)(
    'that %s three times has had its chances',
    (status) => {
      const { play, waits } = wrong(thin(), (one) => one.turn(status, { message: 'no' }));
      expect(play.task).toMatchObject({
        reason: 'error_max_retries',
        why: 'the specifier failed 3 times: no',
      });
      expect(asked(play, 'specifier').map(({ turn }) => turn)).toEqual([1, 2, 3]);
      expect(waits).toBe(2);
    },
  );

  test.each(['overload', 'auth'])(
    'in trouble with its provider (%s) keeps that patience when it is stopped',
    (code) => {
      const play = thin();
      for (let n = 0; n < 4; n += 1) play.turn('failed', { code, message: 'busy' }).wait(400_000);
      play.turn('interrupted', { code: 'runner_stopped' });
      expect(play.task.state).not.toBe('abandoned');
    },
  );
});
