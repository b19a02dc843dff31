/** Pull requests of the embedded forge. */
import { describe, expect, test } from 'vitest';
import { openedRepository } from '../../test/support/opened-repository.ts';
import { UserError } from '../errors.ts';
import { perform } from '../operations.ts';

const here = openedRepository();

describe('pull', () => {
  /** A pull request as a runner opens it, for a branch with one commit. */
  async function opened(): Promise<{ head: string }> {
    const head = here.git('commit-tree', 'HEAD^{tree}', '-p', 'HEAD', '-m', 'work');
    const forge = await here.context.forge();
    await here.context.writing();
    await forge.push('loop/1-s', head, null);
    await forge.ensurePull({
      issue: 1,
      branch: 'loop/1-s',
      title: 'Add it (#1)',
      body: 'Fixes #1\n\n### By hand',
      marker: 't',
    });
    return { head };
  }

  test('people’s words and CI’s results are kept under the operator’s name, at the head as it is', async () => {
    const { head } = await opened();
    await perform(here.context, 'pull.comment', { pull: 1, body: 'Use a map.', file: 'a b.ts', line: 3 });
    await perform(here.context, 'pull.review', { pull: 1, verdict: 'request_changes', body: 'ESC too.' });
    await perform(here.context, 'pull.check', {
      pull: 1,
      name: 'build',
      state: 'red',
      log: 'boom',
      step: 'test',
    });
    expect(await perform(here.context, 'pull.show', { pull: 1 })).toMatchObject({
      title: 'Add it (#1)',
      body: 'Fixes #1\n\n### By hand',
      headSha: head,
      checks: [{ name: 'build', state: 'red', logTail: 'boom', step: 'test', headSha: head }],
      remarks: [
        { author: 'Eva', verdict: 'comment', body: 'Use a map.', file: 'a b.ts', line: 3 },
        { author: 'Eva', verdict: 'request_changes', body: 'ESC too.', headSha: head },
      ],
    });
    const approved = await perform(here.context, 'pull.review', { pull: 1, verdict: 'approve' });
    expect(approved.approvals).toEqual([{ headSha: head, by: 'Eva' }]);
    expect(await perform(here.context, 'pull.list')).toMatchObject([{ number: 1, issue: 1, state: 'open' }]);
  });

  test.each([
    ['pull.show', { pull: 7 }, 'There is no pull request #7.'],
    ['pull.comment', { pull: 1, body: ' ' }, 'What should be different?'],
    ['pull.comment', { pull: 1, body: 'x', line: 3 }, '--line requires --file.'],
    ['pull.comment', { pull: 7, body: 'x' }, 'There is no pull request #7.'],
    ['pull.review', { pull: 1, verdict: 'request_changes' }, 'What should be different?'],
    ['pull.review', { pull: 1, verdict: 'maybe' }, 'verdict'],
    ['pull.check', { pull: 1, name: 'build', state: 'purple' }, 'state'],
    ['pull.check', { pull: 7, name: 'build', state: 'red' }, 'There is no pull request #7.'],
  ] as const)('%s %j: %s', async (name, input, says) => {
    await opened();
    const failed = perform(here.context, name, { ...input });
    await expect(failed).rejects.toThrow(UserError);
    await expect(failed).rejects.toThrow(says);
  });
});
