/**
 * The whole path on a GitHub that is seconds behind itself: lists, queries and mergeability each show what was written in
 * their own time. A seed decides how late each write is seen.
 */
import { describe, expect } from 'vitest';
import { type OnGitHub, testWithLag } from '../support/e2e/on-github.ts';
import type { World } from '../support/e2e/world.ts';

const MS = 4000;
const SEEDS = [1, 2, 3];
const FINDING = { severity: 'sev2', file: 'done-1.txt', line: 1, message: 'It lacks a second line.' };

describe.concurrent.each(SEEDS)('seed %i', (seed) => {
  const test = testWithLag({ seed, ms: MS });

  test('changes asked for, CI red, same session, merged and closed: each thing is done once', async ({
    world,
    on,
  }) => {
    const rules = { requiredChecks: ['ci'], strict: false, approvals: 0, mergeQueue: false };
    on.github.world.protections.set('main', { via: 'ruleset', ...rules });
    // Of the first head it is never known in time: the critic has spoken by then.
    on.ci('success', 'failure', 'success');
    world.script(
      {
        when: { role: 'critic', round: 1 },
        steps: [{ answer: { verdict: 'REQUEST_CHANGES', findings: [FINDING] } }],
      },
      { when: { role: 'coder' }, steps: [{ append: { 'done-1.txt': 'done\n' } }] },
    );
    const issue = await on.issue('Write the file');
    await merge(world, on, [issue]);

    const task = await world.task(issue);
    expect(task).toMatchObject({ turns: 3, attempt: 1 });
    expect(task.sessionIds).toHaveLength(1);
    const [pull, ...others] = on.pulls();
    expect(others).toEqual([]);
    expect(pull!.pull).toMatchObject({ merged: true, mergedBy: 'loop-bot' });
    expect(pull!.pull!.reviews).toHaveLength(task.criticRounds);
    expect(pull!.pull!.threads).toHaveLength(1);
    const told = on.github.world.statuses.map(({ sha, context, state }) => `${sha} ${context} ${state}`);
    expect(new Set(told).size).toBe(told.length);
  });

  test('the text is edited in the second of the label: no turn is taken with it', async ({ world, on }) => {
    // Later than any list.
    on.github.world.lag.editsMs = MS + 3000;
    const runner = world.run();
    await world.event('runner_started');
    const issue = await on.issue('Write the file');
    await on.ready(issue);
    await on.ada.patch(`/issues/${issue}`, { body: 'It must contain the secrets.' });
    await world.until('the label to be taken away', () => !on.row(issue).labels.includes('loop:ready'));
    await world.until('a comment', () => on.row(issue).comments.length > 0);
    runner.send('SIGTERM');
    await world.finished(runner);
    expect((await world.events()).filter(({ type }) => type === 'turn_started')).toEqual([]);
    expect(on.pulls()).toEqual([]);
  });

  test('where heads have to be up to date: both are merged, and nothing waits for a person', async ({
    world,
    on,
  }) => {
    const rules = { requiredChecks: ['ci'], strict: true, approvals: 0, mergeQueue: false };
    on.github.world.protections.set('main', { via: 'protection', ...rules });
    on.ci('success');
    const issues = [await on.issue('One'), await on.issue('Two')];
    await merge(world, on, issues);
    for (const issue of issues) expect(await world.task(issue)).toMatchObject({ turns: 1, attempt: 1 });
    expect(on.pulls()).toHaveLength(2);
  });
});

/** Not `--until-idle`: a list that does not show the label yet is idle. */
async function merge(world: World, on: OnGitHub, issues: readonly number[]): Promise<void> {
  for (const issue of issues) await on.ready(issue);
  const runner = world.run();
  for (const issue of issues) {
    await world.state(issue, 'merged');
    await world.until(`#${issue} to be closed and labelled`, () => {
      const { state, labels } = on.row(issue);
      return state === 'closed' && labels.join() === 'loop:merged';
    });
    expect(on.row(issue).comments).toHaveLength(1);
  }
  runner.send('SIGTERM');
  await world.finished(runner);
  // What GitHub refuses for now is tried again; nothing else is waited for.
  const waited = (await world.events()).flatMap((one) => (one.type === 'hold_set' ? [one.data] : []));
  expect(waited.filter(({ reason }) => reason !== 'retry_backoff')).toEqual([]);
}
