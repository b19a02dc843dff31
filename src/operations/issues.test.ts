/** Issues of the embedded forge. */
import { existsSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { openedRepository } from '../../test/support/opened-repository.ts';
import { perform } from '../operations.ts';

const here = openedRepository();

describe('issue lint', () => {
  test('says of an issue or a draft what readiness says, and reads nothing else', async () => {
    await perform(here.context, 'issue.new', { title: 'Make the revoke flow nicer', body: '' });
    expect(await perform(here.context, 'issue.lint', { issue: 1 })).toMatchObject({
      issue: 1,
      title: 'Make the revoke flow nicer',
      decision: 'declined',
      score: -3,
      rules: [{ rule: 'taste', points: -3, because: '"nicer"' }],
    });
    expect(await perform(here.context, 'issue.lint', { text: '# Add\nadd(2, 3) returns 5' })).toMatchObject({
      issue: null,
      title: 'Add',
      decision: 'ready',
      questions: [],
    });
    expect(existsSync(here.context.databasePath)).toBe(false);
  });

  test('needs exactly one thing to look at, and it must be there', async () => {
    await expect(perform(here.context, 'issue.lint', {})).rejects.toThrow('needs one thing to look at');
    await expect(perform(here.context, 'issue.lint', { issue: 1, text: 'x' })).rejects.toThrow(
      'needs one thing',
    );
    await expect(perform(here.context, 'issue.lint', { issue: 9 })).rejects.toThrow('There is no issue #9');
  });
});

test('an issue can only wait for one that is there', async () => {
  const waits = { title: 'Two', body: 'x must be y', blockedBy: [1] };
  await expect(perform(here.context, 'issue.new', waits)).rejects.toThrow(
    'There is no issue #1 that it could wait for',
  );
  expect(await perform(here.context, 'issue.list', { all: true })).toEqual([]);
  await here.ready('One');
  expect(await perform(here.context, 'issue.new', waits)).toMatchObject({ number: 2, blockedBy: [1] });
});
