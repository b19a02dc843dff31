/** Issues of the embedded forge. */
import { existsSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { openedRepository } from '../../test/support/opened-repository.ts';
import { painter, type Terminal } from '../cli/terminal.ts';
import { TEXT } from '../cli/text.ts';
import { perform } from '../operations.ts';

const here = openedRepository();
const terminal = { paint: painter(false), columns: null } as Terminal;

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

  test('of a plan says what the loop makes of it, and what it leaves out, with lines (loops 24)', async () => {
    const text = [
      '# Pay',
      'Make it nicer.',
      '<!-- forge-section -->',
      '',
      '<!-- forge-section -->',
      '## Schema',
      '### Acceptance Criteria',
      '- [ ] It is there.',
      '### Verification',
      'npm test',
    ];
    const lint = await perform(here.context, 'issue.lint', { text: text.join('\n') });
    expect(lint).toMatchObject({ decision: 'ready', questions: [], rules: [], plan: { milestones: 1 } });
    const skipped = { severity: 'warning', line: 2, problem: 'this milestone is empty, and is skipped' };
    expect(lint.plan!.problems).toContainEqual(expect.objectContaining(skipped));
    const said = TEXT['issue.lint'](lint, terminal);
    expect(said).toContain('It is a plan: 1 milestone.');
    expect(said).toContain('\nline 2: warning: this milestone is empty, and is skipped\n  → Write it');
    expect(said).toContain('\nerror: the plan has no `## Verification`');

    const broken = await perform(here.context, 'issue.lint', {
      text: `${text.join('\n')}\n<!-- forge-plan:end -->`,
    });
    expect(broken).toMatchObject({
      decision: 'declined',
      problem: expect.stringContaining("its plan can't be read"),
    });
    expect(TEXT['issue.lint'](broken, terminal)).toContain("Its plan can't be read (line 10: ");
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
