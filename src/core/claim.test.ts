import { describe, expect, test } from 'vitest';
import { queued } from '../../test/support/play.ts';
import { testPolicy } from '../../test/support/policy.ts';
import { nextAttempt, RULES } from './claim.ts';
import { fold } from './fold.ts';
import type { Task } from './task.ts';
import { slugOf } from './text/slug.ts';
import { statusComment } from './words/comments.ts';

const policy = testPolicy();
const { claim, decline, withdraw } = RULES.issue;
const ISSUE = {
  kind: 'issue',
  number: 7,
  slug: 'revoke',
  title: 'Revoke',
  body: '- [ ] Clicking Revoke POSTs /revoke',
  textHash: '0123456789abcdef',
} as const;

const earlier = (change: Partial<Task> = {}): Task => ({
  ...queued().task,
  slug: 'old-name',
  state: 'abandoned',
  ...change,
});

describe('a claim', () => {
  test('makes a queued task that works to the text as it is now', () => {
    const { events } = claim(ISSUE, [], policy);
    const task = fold(
      't9',
      events.map((one, seq) => ({ ...one, seq, at: 5, task: 't9' })),
    );
    expect(task).toMatchObject({
      id: 't9',
      kind: 'issue',
      issue: 7,
      attempt: 1,
      branch: 'loop/7-revoke',
      state: 'queued',
      createdAt: 5,
      contract: { title: 'Revoke', hash: ISSUE.textHash, criteria: [{ id: 'c1' }] },
    });
  });

  test('swaps the labels, which says enough', () => {
    expect(claim(ISSUE, [], policy).actions).toEqual([
      {
        kind: 'label',
        issue: 7,
        add: ['loop:running'],
        remove: ['loop:ready', 'loop:needs-review', 'loop:needs-spec'],
      },
    ]);
  });

  test('of a later attempt keeps the name, takes a branch of its own, and first closes what was left open', () => {
    const before = [
      earlier({ attempt: 1, pull: 3 }),
      earlier({ attempt: 2, pull: 4, state: 'merged' }),
      earlier({ attempt: 3, pull: null }),
    ];
    expect(nextAttempt(ISSUE, before)).toMatchObject({
      attempt: 4,
      slug: 'old-name',
      branch: 'loop/7-old-name-a4',
    });
    const { actions } = claim(ISSUE, before, policy);
    expect(actions.map(({ kind }) => kind)).toEqual(['close_pull', 'label', 'tell_status']);
    expect(actions[0]).toMatchObject({ pull: 3 });
  });
});

describe('an issue whose text is a plan', () => {
  const lines = (...all: string[]) => all.join('\n');
  const claimed = (body: string): Task =>
    fold(
      't9',
      claim({ ...ISSUE, body }, [], policy).events.map((one, seq) => ({ ...one, seq, at: 5, task: 't9' })),
    );
  const SECTION = '<!-- forge-section -->';

  test('is called as its plan says; its branch has its number (loops 26)', () => {
    const { plan, branch } = claimed(lines('Loop Name: My Name', 'Why.', SECTION, '## A', 'Do it.'));
    expect(plan!.name).toBe('my-name');
    expect(branch).toBe('loop/7-revoke');
    expect(claimed(lines('Why.', SECTION, '## A', 'Do it.')).plan!.name).toBe('revoke');
  });

  test('says on its comment what of it is left out (loops 24)', () => {
    const task = claimed(lines('Why.', SECTION, '', SECTION, '## A', 'Do it.'));
    expect(task.plan!.milestones).toHaveLength(1);
    const SPENT = { spend: { costUsd: 0, tokens: 0 }, ledger: [] };
    expect(statusComment(task, SPENT, policy)).toContain(
      '\n- its plan, line 2: this milestone is empty, and is skipped',
    );
    expect(statusComment(claimed(lines(SECTION, '## A', 'Do it.')), SPENT, policy)).not.toContain('its plan');
  });
});

test('a decline asks its questions once per text, and takes the label back', () => {
  const { events, actions } = decline(ISSUE, { problem: 'a matter of taste', questions: ['Which?'] }, policy);
  expect(events).toEqual([
    {
      type: 'issue_declined',
      data: { issue: 7, textHash: ISSUE.textHash, problem: 'a matter of taste', questions: ['Which?'] },
    },
  ]);
  expect(actions).toEqual([
    { kind: 'comment', issue: 7, marker: 'declined:0123456789ab', body: expect.stringContaining('Which?') },
    { kind: 'label', issue: 7, add: ['loop:needs-spec'], remove: ['loop:ready'] },
  ]);
});

test('a withdrawal says that the text was edited, and takes the label back', () => {
  const { events, actions } = withdraw(ISSUE, policy);
  expect(events).toEqual([{ type: 'readiness_withdrawn', data: { issue: 7, textHash: ISSUE.textHash } }]);
  expect(actions).toEqual([
    {
      kind: 'comment',
      issue: 7,
      marker: 'edited:0123456789ab',
      body: expect.stringContaining('The text changed'),
    },
    { kind: 'label', issue: 7, add: [], remove: ['loop:ready'] },
  ]);
});

describe('a slug', () => {
  test.each([
    ['Add a revoke button', 'add-a-revoke-button'],
    ['  Fix: `a/../b`!  ', 'fix-a-b'],
    ['Größe', /^gro-?e-[0-9a-f]{6}$/],
    ['日本語', /^[0-9a-f]{6}$/],
    [`${'long '.repeat(20)}title`, /^(long-)+[a-z-]*[0-9a-f]{6}$/],
  ])('of %j is readable and safe', (title, slug) => {
    expect(slugOf(title)).toMatch(typeof slug === 'string' ? new RegExp(`^${slug}$`) : slug);
    expect(slugOf(title).length).toBeLessThanOrEqual(47);
  });

  test('keeps titles apart that reduce to the same', () => {
    expect(slugOf('日本')).not.toBe(slugOf('中国'));
    expect(slugOf('')).not.toBe('');
  });
});
