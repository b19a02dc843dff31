import { describe, expect, test } from 'vitest';
import { awaiting, EXPAND, Play, queued, remark, running } from '../../../test/support/play.ts';
import type { Remark } from '../change/remark.ts';
import { COMMANDS, type CommandName } from '../words/command-text.ts';
import { answerCommand, markerOf } from './command.ts';

const ended = () => running().ask('cancel');
const held = () => awaiting({ critic: { enabled: false } });

function asked(play: Play, word: string, more: Partial<Remark> = {}) {
  const said = remark(`/loop ${word}`, 'comment', { at: play.now, ...more });
  const { issue, requests: pending } = play.world;
  const heard = { remark: said, word, task: play.task, issue, pending, explanation: 'EXPLAINED' };
  return answerCommand(heard, play.policy);
}

describe('a command', () => {
  test.each<[string, () => Play, CommandName, string | null, RegExp]>([
    [
      'pause',
      running,
      'pause',
      'pause',
      /^Paused; the current turn finishes first\. `\/loop resume` continues\.$/,
    ],
    ['pause of one that rests', queued, 'pause', 'pause', /^Paused\. /],
    ['pause of an ended one', ended, 'pause', null, /has ended: abandoned.*task restart/],
    ['resume', held, 'resume', 'resume', /^Continuing \(was held: waiting for your approval of c1\)/],
    ['resume of one that is not held', running, 'resume', null, /is not held: it is running/],
    [
      'resume of one whose pause is not taken yet',
      () => running().ask('pause'),
      'resume',
      'resume',
      /^Continuing\./,
    ],
    ['abandon', awaiting, 'abandon', 'abandon', /^Abandoned\. The work stays on `loop\/7-revoke`/],
    ['approve', held, 'approve', 'approve', /^Approved at `c1`, in place of the critic/],
    ['approve of nothing', running, 'approve', null, /nothing to approve: it is running/],
    ['retry', ended, 'retry', 'retry', /^Attempt 2 starts when a slot is free/],
    ['retry of one at work', running, 'retry', null, /is being worked on/],
    ['explain', running, 'explain', null, /^EXPLAINED$/],
  ])('%s', (_what, play, word, request, says) => {
    const answer = asked(play(), word);
    expect(answer.request).toBe(request);
    expect(answer.says).toMatch(says);
    expect(answer.accepted).toBe(request !== null || word === 'explain');
  });

  test.each([running, queued, ended])('hold is the old spelling of pause', (play) => {
    expect(asked(play(), 'hold')).toEqual(asked(play(), 'pause'));
    expect(COMMANDS).not.toHaveProperty('hold');
  });

  test.each([...Object.keys(COMMANDS), 'fly'])('%s of somebody without write access does nothing', (word) => {
    const answer = asked(held(), word, { mayWrite: false, author: '@Mallory <script>' });
    expect(answer).toMatchObject({ accepted: false, request: null, actions: [] });
    expect(answer.says).toBe(
      'Sorry, Mallory script: only people with write access to this repository can do that.',
    );
  });

  test('that nobody knows is answered with those there are, and repeats nothing harmful', () => {
    const { says, request } = asked(running(), '`@all`');
    expect(request).toBeNull();
    expect(says).toContain('Unknown command `all`.');
    for (const command of Object.keys(COMMANDS)) expect(says).toContain(`- \`/loop ${command}\`: `);
    expect(asked(running(), '').says).toMatch(/^No command given\.\n/);
  });

  test('about nothing of ours is answered', () => {
    const about = { task: null, issue: null, pending: [], explanation: '' };
    const heard = { remark: remark('/loop pause'), word: 'pause', ...about };
    expect(answerCommand(heard, running().policy)).toMatchObject({ accepted: false, request: null });
  });

  test.each<[string, Partial<Remark>, boolean]>([
    ['of the head its author names', { headSha: 'c1' }, true],
    ['of another head', { headSha: 'c0' }, false],
    ['made after the head was published', { at: 5000 }, true],
    ['made before', { at: 4999 }, false],
  ])('an approval %s', (_what, more, counts) => {
    const play = held();
    play.task = { ...play.task, published: { sha: 'c1', at: 5000 } };
    expect(asked(play, 'approve', more).accepted).toBe(counts);
  });

  test('an approval of a proposed specification agrees to it, whatever the head', () => {
    const play = new Play({ spec: { expand: 'propose' } });
    play.world.issue!.body = 'We need `revoke`.';
    play.claim().specifier(EXPAND);
    expect(asked(play, 'approve')).toMatchObject({
      accepted: true,
      request: 'approve',
      says: expect.stringContaining('Agreed'),
    });
  });

  test('an approval that was said before there was a specification agrees to none', () => {
    const play = new Play({ spec: { expand: 'propose' } });
    play.world.issue!.body = 'We need `revoke`.';
    play.claim().wait(1_000).specifier(EXPAND);
    expect(asked(play, 'approve', { at: 999 })).toMatchObject({
      accepted: false,
      request: null,
      says: 'That was written before the specification was proposed. Read it, then approve again.',
    });
    expect(asked(play, 'approve', { at: 1_000 })).toMatchObject({ accepted: true });
  });

  test('a retry makes the issue ready, with the text that was agreed on and no other', () => {
    const play = ended();
    expect(asked(play, 'retry').actions).toEqual([
      {
        kind: 'label',
        issue: 7,
        add: ['loop:ready'],
        remove: ['loop:needs-review', 'loop:needs-spec', 'loop:abandon'],
      },
    ]);
    play.world.issue = { ...play.world.issue!, textHash: 'edited' };
    expect(asked(play, 'retry')).toMatchObject({ accepted: false, request: null, actions: [] });
    play.world.issue = { ...play.world.issue!, textHash: 'body-1', state: 'closed' };
    expect(asked(play, 'retry')).toMatchObject({ accepted: false, request: null, actions: [] });
  });

  test('each is answered, but a stranger once in each place', () => {
    const place = { kind: 'issue', number: 7 } as const;
    const of = (id: string, mayWrite: boolean, where: Remark['where'] = place) =>
      markerOf(remark('/loop pause', 'comment', { id, mayWrite, where, author: 'bob' }));
    expect(of('a', true)).not.toBe(of('b', true));
    expect(of('a', false)).toBe(of('b', false));
    expect(of('a', false)).not.toBe(of('a', false, { kind: 'pull', number: 7 }));
  });
});
