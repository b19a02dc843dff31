import { createHash } from 'node:crypto';
import { describe, expect, it, test } from 'vitest';
import { APPROVE, awaiting } from '../../../test/support/play.ts';
import { contractOf } from './criteria.ts';
import { agreedHash, textHash } from './text-hash.ts';

const TEXT = { title: 'Add a revoke button', body: 'It revokes.' };

test.each([
  ['the same text', TEXT, true],
  ['another title', { ...TEXT, title: 'Remove the button' }, false],
  ['another body', { ...TEXT, body: 'It beeps.' }, false],
  ['words moved from body to title', { title: 'Add a revoke button It', body: 'revokes.' }, false],
])('%s: %s', (_what, text, isSame) => {
  expect(textHash(text) === textHash(TEXT)).toBe(isSame);
});

describe('a contract of before titles were pinned', () => {
  const old = { ...contractOf({ ...TEXT, textHash: '' }), hash: sha256(TEXT.body) };

  it('holds for its own title and body, and for no other', () => {
    expect(agreedHash(old)).toBe(textHash(TEXT));
    expect(agreedHash(contractOf({ ...TEXT, textHash: textHash(TEXT) }))).toBe(textHash(TEXT));
  });

  it('is not taken for an edited one when its task goes on, until the title is edited', () => {
    const play = awaiting();
    const hash = textHash(TEXT);
    play.task = { ...play.task, contract: old };
    play.issue({ ...TEXT, textHash: hash, readyHash: hash });
    expect(play.task).toMatchObject({ state: 'awaiting_critic', contract: { hash: old.hash }, feedback: [] });
    const title = 'Add two buttons';
    play.issue({ title, textHash: textHash({ ...TEXT, title }) }).critic(APPROVE);
    expect(play.task).toMatchObject({ state: 'awaiting_critic', hold: { reason: 'body_edited' } });
    expect(play.issue({ title: TEXT.title, textHash: hash }).task.state).toBe('merging');
  });
});

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
