/** One issue, carried to its merge by a row of runners, each killed as soon as something new has happened. */
import { expect } from 'vitest';
import type { LoopEvent } from '../../src/core/event.ts';
import { expectMergedOnce } from '../support/e2e/merged-once.ts';
import { test } from '../support/e2e/world.ts';

const ASK_FOR_CHANGES = {
  answer: {
    verdict: 'REQUEST_CHANGES',
    findings: [{ severity: 'sev2', message: 'It lacks a second line.' }],
  },
};

test('at the first of each kind of event, again and again: still everything once (dispatch 36)', async ({
  world,
}) => {
  world.script(
    { when: { role: 'critic', turn: 1 }, steps: [ASK_FOR_CHANGES] },
    { when: { role: 'coder', turn: 2 }, steps: [{ write: { 'done-1.txt': 'done\nmore\n' } }] },
  );
  const issue = await world.issue({});
  const seen = new Set<string>(['runner_started', 'runner_stopped', 'process_stopped', 'recovered']);
  let kills = 0;
  for (let last = 0; ; kills++) {
    const runner = world.run('--until-idle');
    let ended = false;
    void runner.ended.then(() => {
      ended = true;
    });
    const fresh = await world.until('a new kind of event, or the end', async () => {
      const news = await world.store().then(
        (store) => store.events({ after: last }),
        () => [],
      );
      return news.find((one) => !seen.has(kindOf(one))) ?? (ended ? 'ended' : null);
    });
    await runner.kill();
    if (fresh === 'ended') break;
    for (const one of await world.events()) {
      if (one.seq <= fresh.seq) seen.add(kindOf(one));
    }
    last = fresh.seq;
  }
  expect(kills).toBeGreaterThan(10);
  const task = await expectMergedOnce(world, issue);
  expect(task).toMatchObject({ turns: 2, criticRounds: 2 });
  expect(task.sessionIds.length).toBeLessThanOrEqual(2);
  expect(world.read('done-1.txt')).toBe('done\nmore\n');
});

function kindOf({ type, data }: LoopEvent): string {
  const more = data as { to?: string; role?: string; scope?: string; verdict?: string };
  return [type, more.to, more.role, more.scope, more.verdict].filter(Boolean).join(' ');
}
