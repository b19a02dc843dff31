/** What a whole runner asks of GitHub when there is nothing to do: the real loop and the real forge, on virtual time. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Forge } from '../src/forge/forge.ts';
import { TIMING } from '../src/loop/ports.ts';
import { WILLING } from './simulation/agent.ts';
import { seeded } from './simulation/random.ts';
import { startRunner } from './simulation/runner.ts';
import { NO_FAULTS } from './simulation/story.ts';
import { createTimeline } from './simulation/time.ts';
import { createWorld } from './simulation/world.ts';
import { type GitHubScratch, githubScratch } from './support/github/scratch.ts';
import { testPolicy } from './support/policy.ts';

const HOUR_MS = 3_600_000;

let s: GitHubScratch;
beforeEach(async () => {
  s = await githubScratch({ freshMs: 5000 });
});
afterEach(() => s.dispose());

it('an idle hour with fifty open issues and a comment costs a request a minute, of which the limit counts none', async () => {
  const first = await s.people.createIssue({ title: 'Not ready', body: 'B' });
  for (let number = 2; number <= 45; number++) await s.people.createIssue({ title: `${number}`, body: 'B' });
  for (let number = 46; number <= 50; number++) {
    const blocked = await s.people.createIssue({ title: `${number}`, body: 'B', blockedBy: [first] });
    await s.people.makeReady(blocked);
  }
  await s.people.comment(first, 'Any news?');
  const time = createTimeline(s.clock.at);
  Object.defineProperty(s.clock, 'at', { get: time.now });
  const world = createWorld(time, seeded(1));
  const { forge, settled, isBusy } = watched(s.forge);
  const { runner, done } = startRunner(
    world,
    testPolicy({ pollIntervalMs: 60_000 }),
    WILLING,
    NO_FAULTS,
    'one',
    'forever',
    undefined,
    (ports) => ({ ...ports, forge, timing: TIMING }),
  );
  const pass = async (ms: number): Promise<number> => {
    const end = time.now() + ms;
    while (time.now() < end) {
      await time.play(() => isBusy() || time.now() >= end, end);
      await settled();
    }
    return end;
  };
  await pass(5 * 60_000);
  const before = s.github.requests.length;
  const end = await pass(HOUR_MS);
  const asked = s.github.requests.slice(before);
  runner.drain('an hour is over');
  let isOver = false;
  void done.then(() => {
    isOver = true;
  });
  await time.play(() => isOver, end + HOUR_MS);

  expect((await world.store.tasks()).length).toBe(0);
  expect(asked.filter(({ path }) => path.includes('/issues?')).length).toBeGreaterThan(50);
  expect(asked.length).toBeLessThanOrEqual(61);
  expect(asked.filter(({ status }) => status !== 304)).toEqual([]);
  expect(world.violations).toEqual([]);
}, 60_000);

/** Requests take real time: virtual time waits for them. */
function watched(forge: Forge): { forge: Forge; settled(): Promise<void>; isBusy(): boolean } {
  const asked = new Set<Promise<unknown>>();
  return {
    isBusy: () => asked.size > 0,
    settled: async () => {
      while (asked.size > 0) await Promise.allSettled([...asked]);
    },
    forge: new Proxy(forge, {
      get(target, key) {
        const verb = Reflect.get(target, key);
        if (typeof verb !== 'function') return verb;
        return (...args: unknown[]) => {
          const answer = verb.apply(target, args);
          if (!(answer instanceof Promise)) return answer;
          asked.add(answer);
          void answer.catch(() => {}).finally(() => asked.delete(answer));
          return answer;
        };
      },
    }),
  };
}
