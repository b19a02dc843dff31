/** What becomes of a stored plan, by what happens to it. */
import { describe, expect, test } from 'vitest';
import { filledPlan } from '../../../test/support/plan-play.ts';
import { Play } from '../../../test/support/play.ts';
import { event, type LoopEvent, type NewEvent } from '../event.ts';
import { type ParsedPlan, parsePlan } from './plan.ts';
import { afterPlanEvent, planId, type StoredPlan, storing } from './stored.ts';

const read = (text: string) => (parsePlan(text) as Extract<ParsedPlan, { ok: true }>).plan;
const TEXT = filledPlan('tokens');
const PLAN = read(TEXT);
const stored = (status: StoredPlan['status'], by = 'eva'): NewEvent =>
  event('plan_stored', storing(PLAN, { source: { kind: 'file', file: 'x.md' }, status, by }));
const approved = event('plan_approved', { plan: planId(PLAN), by: 'ann' });
const archived = event('plan_archived', { plan: planId(PLAN), by: 'ann' });

function after(...events: NewEvent[]): StoredPlan | null {
  const stamped = events.map((one, at): LoopEvent => ({ ...one, seq: at + 1, at: at + 1, task: null }));
  return stamped.reduce<StoredPlan | null>(afterPlanEvent, null);
}

test('it is a file again, and the same plan', () => {
  const { text, name, title } = storing(PLAN, {
    source: { kind: 'file', file: '' },
    status: 'draft',
    by: '',
  });
  expect(planId(read(text))).toBe(planId(PLAN));
  expect([name, title]).toEqual(['tokens', 'tokens']);
});

test('is known by its text, not by what stands around it', () => {
  expect(planId(read(`Well.\n${filledPlan('tokens')}\nSo.`))).toBe(planId(PLAN));
  expect(planId(read(filledPlan('keys')))).not.toBe(planId(PLAN));
});

const HAPPENS = {
  captured: stored('captured'),
  draft: stored('draft'),
  'from a file': stored('approved'),
  approve: approved,
  archive: archived,
};

test.each([
  ['captured', 'captured', 1],
  ['captured, captured', 'captured', 1],
  ['draft, captured', 'draft', 1],
  ['draft, approve', 'approved', 2],
  ['draft, from a file', 'approved', 2],
  ['draft, approve, draft', 'approved', 2],
  ['draft, approve, captured', 'approved', 2],
  ['draft, archive', 'archived', 2],
  ['draft, archive, captured', 'archived', 2],
  ['draft, archive, draft', 'draft', 3],
  ['draft, archive, from a file', 'approved', 3],
])('%s: it is %s, since %i', (story, status, changedAt) => {
  const events = story.split(', ').map((one) => HAPPENS[one as keyof typeof HAPPENS]);
  expect(after(...events)).toMatchObject({ status, createdAt: 1, changedAt });
});

test('what is said of a plan that nobody stored changes nothing', () => {
  expect(after(approved)).toBeNull();
  expect(after(archived)).toBeNull();
});

describe('another role’s answer', () => {
  test('is searched for a plan, which is captured', () => {
    const play = new Play().claim().turn('finished', { text: `Next I would do this:\n\n${TEXT}` });
    const source = { kind: 'captured', task: play.task.id, role: 'coder', turn: 1 };
    expect(play.of('plan_stored')).toMatchObject([{ name: 'tokens', status: 'captured', source }]);
    expect(play.task.plan, 'the task goes on as it was').toBeUndefined();
  });

  test.each([
    ['two plans', `${TEXT}\n${TEXT}`],
    ['a plan in a fence', `\`\`\`\n${TEXT}\n\`\`\``],
    ['a plan without an end', TEXT.replace('<!-- forge-plan:end -->', '')],
    ['milestone markers alone', '<!-- forge-section -->\n## One\n\nDo it.'],
    ['no plan', 'Done.'],
  ])('%s: nothing is captured', (_what, text) => {
    expect(new Play().claim().turn('finished', { text }).of('plan_stored')).toEqual([]);
  });

  test('of a turn that did not finish is nothing', () => {
    expect(new Play().claim().turn('failed', { text: TEXT }).of('plan_stored')).toEqual([]);
  });
});
