import { describe, expect, test } from 'vitest';
import { planOf, started } from '../../../test/support/plan-play.ts';
import { Play } from '../../../test/support/play.ts';
import { parsePlan } from './plan.ts';
import { contractOfPlan, freeName, planReadiness } from './start.ts';

const titles = (count: number) => Array.from({ length: count }, (_, index) => `Part ${index + 1}`);
const within = (...lines: string[]) =>
  ['<!-- forge-plan:start -->', ...lines, '<!-- forge-plan:end -->'].join('\n');

describe('a plan that is started', () => {
  test('is a task of its own: no issue, a name, a branch, its text as the contract', () => {
    const { task } = started(planOf('Schema'));
    expect(task).toMatchObject({ kind: 'plan', issue: null, branch: 'loop/checkout', slug: 'checkout' });
    expect(task.contract).toMatchObject({ title: 'Checkout', criteria: [] });
    expect(task.contract.body).toContain('Do Schema.');
    expect(task.plan).toMatchObject({
      recovery: 'manual',
      mode: 'loop',
      delivers: 'branch',
      startedBy: 'ann',
    });
  });

  test('24 milestones are worked through to the end (loops 25, 31)', () => {
    const play = started(planOf(...titles(24)), { maxTurns: 2, loop: { maxIterations: 1 } });
    for (let at = 1; at <= 24; at += 1) play.worked(`c${at}`).audit();
    play.audit();
    expect(play.task.state).toBe('completed');
    expect(play.task.plan!.milestones.every(({ done }) => done !== null)).toBe(true);
  });

  test('25 are an error that says so, never a silent cut (loops 25)', () => {
    expect(() => planOf(...titles(25))).toThrow('25');
  });

  test('markers in code are text (loops 21)', () => {
    const text = within(
      '<!-- forge-section -->',
      '## Docs',
      '~~~~',
      '<!-- forge-section -->',
      '~~~',
      '~~~~',
      'Write it down.',
      '<!-- forge-section -->',
      '## API',
      '```md',
      '<!-- forge-plan:end -->',
      '```',
    );
    const parsed = parsePlan(text);
    expect(parsed).toMatchObject({ ok: true, plan: { milestones: [{ title: 'Docs' }, { title: 'API' }] } });
    const play = started(parsed.ok ? parsed.plan : null);
    expect(play.task.plan!.milestones[0]!.text).toContain('~~~~\n<!-- forge-section -->');
  });

  test('the same text is the same contract; another goal is another (loops 64)', () => {
    const text = within('Pay.', '<!-- forge-section -->', '## Schema', 'Tables.');
    const hash = (file: string, goal: string | null = null) => {
      const parsed = parsePlan(file);
      return contractOfPlan({ plan: parsed.ok ? parsed.plan : null, goal }).hash;
    };
    const elsewhere = `Notes around it.\n\n${text}\nMore notes.\n`.replaceAll('\n', '\r\n');
    expect(hash(elsewhere), 'with other notes, saved by another editor').toBe(hash(text));
    expect(hash(text.replace('Tables.', 'Views.'))).not.toBe(hash(text));
    expect(hash(text, 'Faster.')).not.toBe(hash(text));
  });
});

test.each([
  ['Checkout', [], 'checkout'],
  ['Checkout', ['checkout'], 'checkout-2'],
  ['Checkout', ['checkout', 'checkout-2'], 'checkout-3'],
])('%s is called, beside %j, %s (loops 65)', (wanted, taken, name) => {
  expect(freeName(wanted, (one) => (taken as string[]).includes(one))).toBe(name);
});

describe('an issue’s body', () => {
  test('without a marker says nothing about plans', () => {
    expect(planReadiness('Add a button.')).toBeNull();
  });

  test('with milestones is ready', () => {
    expect(planReadiness('Do it.\n\n<!-- forge-section -->\n## Schema\n\nTables.\n')).toMatchObject({
      decision: 'ready',
    });
  });

  test('with a plan that can’t be read is declined with the line', () => {
    expect(planReadiness('<!-- forge-plan:start -->\nDo it.\n')).toMatchObject({
      decision: 'declined',
      problem: expect.stringMatching(/its plan can't be read \(line \d+: /),
    });
  });
});

describe('an issue whose plan was edited', () => {
  const body = (title: string) => `<!-- forge-section -->\n## ${title}\n\nDo it.`;
  const edited = (play: Play) =>
    play.change({
      issue: { ...play.world.issue!, body: body('Other'), textHash: 'body-2', readyHash: 'body-2' },
    });
  const claimed = (): Play => {
    const play = new Play();
    play.world.issue = { ...play.world.issue!, body: body('First') };
    return play;
  };

  test('and made ready again before any work is cut anew', () => {
    const play = claimed();
    play.world.slotsFull = true;
    edited(play.claim());
    expect(play.task.plan!.milestones.map(({ title }) => title)).toEqual(['Other']);
    expect(play.task).toMatchObject({ hold: null, contract: { hash: 'body-2', criteria: [] } });
  });

  test('in the middle of it keeps its milestones; the coder is told the new text', () => {
    const play = edited(claimed().claim());
    play.turn();
    expect(play.task.plan!.milestones.map(({ title }) => title)).toEqual(['First']);
    expect(play.task).toMatchObject({ hold: null, contract: { hash: 'body-2' } });
    expect(play.task.feedback.map(({ kind }) => kind)).toEqual(['contract']);
  });
});
