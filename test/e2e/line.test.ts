/** Approved tasks are tested on top of each other and land in order, each commit as it was tested. */
import { describe, expect } from 'vitest';
import type { LoopEvent } from '../../src/core/event.ts';
import { onCandidate } from '../support/e2e/halt.ts';
import { expectMergedOnce } from '../support/e2e/merged-once.ts';
import { until } from '../support/e2e/until.ts';
import { test, type World } from '../support/e2e/world.ts';

/** The commits of trunk since the beginning, oldest first, and what the gate found on the tree of each. */
async function landed(world: World): Promise<{ sha: string; tested: string[] }[]> {
  const events = await world.events();
  const gates = events.flatMap((one) => (one.type === 'gate_completed' ? [one.data] : []));
  const shas = events.flatMap((one) => (one.type === 'merge_observed' ? [one.data.sha] : []));
  return shas.map((sha) => {
    const tree = world.git('rev-parse', `${sha}^{tree}`).trim();
    const tested = gates.filter(({ scope, evidence }) => scope === 'candidate' && evidence.tree === tree);
    return { sha, tested: tested.map(({ evidence }) => evidence.outcome) };
  });
}

const stacked = (events: readonly LoopEvent[]): number[][] =>
  events.flatMap((one) =>
    one.type === 'candidate_built' ? [(one.data.ahead ?? []).map(({ issue }) => issue ?? 0)] : [],
  );

describe('three tasks in line', () => {
  async function threeInLine(world: World) {
    const halt = world.halt('candidate');
    world.settings({ gate: { commands: [onCandidate(halt)] }, critic: { parallel: 3 } });
    const issues = [await world.issue({}), await world.issue({}), await world.issue({})];
    const runner = world.run('--until-idle');
    await halt.arrived(3);
    return { halt, issues, runner };
  }

  test('are tested at the same time, each on top of those before it, and land in order', async ({
    world,
  }) => {
    const { halt, issues, runner } = await threeInLine(world);
    const before = world.git('rev-parse', 'main').trim();
    halt.lift();
    await world.finished(runner);
    for (const issue of issues) await expectMergedOnce(world, issue);

    const commits = await landed(world);
    expect(commits.map(({ tested }) => tested)).toEqual([['pass'], ['pass'], ['pass']]);
    expect(world.git('log', '--format=%H', '--reverse', `${before}..main`).trim().split('\n')).toEqual(
      commits.map(({ sha }) => sha),
    );
    expect(Math.max(...stacked(await world.events()).map(({ length }) => length))).toBe(2);
  });

  test('are lined up again after kill -9, and nothing lands untested or twice', async ({ world }) => {
    const { halt, issues, runner } = await threeInLine(world);
    await runner.kill();
    halt.lift();
    await world.settle();
    for (const issue of issues) await expectMergedOnce(world, issue);
    for (const { tested } of await landed(world)) expect(tested).toContain('pass');
  });

  test('a commit of a person on trunk makes all of them be tested anew on top of it', async ({ world }) => {
    const { halt, issues, runner } = await threeInLine(world);
    world.write('theirs.txt', 'by hand\n');
    const theirs = world.commit('By hand');
    halt.lift();
    await world.finished(runner);
    for (const issue of issues) await expectMergedOnce(world, issue);
    const commits = await landed(world);
    for (const { sha, tested } of commits) {
      expect(tested).toContain('pass');
      expect(world.git('merge-base', sha, theirs).trim()).toBe(theirs);
    }
  });
});

test('red only together: the second is told with whom, mends it, and both land', async ({ world }) => {
  const halt = world.halt('candidate');
  // Green with one of them, red with both.
  const green = 'test "$(cat clash-* 2>/dev/null | grep -c loud)" -lt 2';
  world.settings({ gate: { commands: [onCandidate(halt, 'clash-*'), green] }, critic: { parallel: 2 } });
  world.script(
    { when: { role: 'coder', round: 1 }, steps: [{ shell: 'echo loud > "clash-$FORGE_ISSUE"' }] },
    {
      when: { role: 'coder' },
      steps: [
        { expectPrompt: { contains: ['Your branch passes by itself. Merged together with #'] } },
        { shell: 'echo quiet > "clash-$FORGE_ISSUE"' },
      ],
    },
  );
  const issues = [await world.issue({}), await world.issue({})];
  const runner = world.run('--until-idle');
  await halt.arrived(2);
  halt.lift();
  await world.finished(runner);
  const turns = [];
  for (const issue of issues) turns.push((await expectMergedOnce(world, issue)).turns);
  expect(turns.sort()).toEqual([1, 2]);
});

describe('tested by one gate', () => {
  /** The first is tested alone; the others line up while its gate runs, and are the next batch. */
  async function inBatches(world: World, issues: number) {
    const halt = world.halt('candidate');
    world.settings({
      gate: { commands: [onCandidate(halt)] },
      merge: { queue: { ahead: 4, batch: true } },
      critic: { parallel: 4 },
      agent: { max_concurrent: 4 },
    });
    const all = [];
    for (let count = 0; count < issues; count += 1) all.push(await world.issue({}));
    const runner = world.run('--until-idle');
    await halt.arrived();
    const lined = async () => (await world.events()).filter(({ type }) => type === 'candidate_built').length;
    await until('all to line up', async () => (await lined()) >= issues || null);
    expect(halt.arrivals()).toBe(1);
    return { halt, issues: all, runner };
  }

  const gatesOn = (events: readonly LoopEvent[]) =>
    events.flatMap((one) =>
      one.type === 'gate_completed' && one.data.scope === 'candidate' && !one.data.within
        ? [one.data.evidence]
        : [],
    );

  test('all land, in order, by a gate on the first and one on the last for the others', async ({ world }) => {
    const { halt, issues, runner } = await inBatches(world, 4);
    const before = world.git('rev-parse', 'main').trim();
    halt.lift();
    await world.finished(runner);
    for (const issue of issues) await expectMergedOnce(world, issue);
    expect(gatesOn(await world.events()).length).toBeLessThan(3);
    const commits = await landed(world);
    expect(commits.at(-1)?.tested).toContain('pass');
    expect(world.git('log', '--format=%H', '--reverse', `${before}..main`).trim().split('\n')).toEqual(
      commits.map(({ sha }) => sha),
    );
  });

  test('after kill -9 in the middle of it nothing lands untested or twice', async ({ world }) => {
    const { halt, issues, runner } = await inBatches(world, 3);
    await runner.kill();
    halt.lift();
    await world.settle();
    for (const issue of issues) await expectMergedOnce(world, issue);
    const last = (await landed(world)).at(-1);
    expect(last?.tested).toContain('pass');
  });
});
