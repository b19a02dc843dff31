/** What is kept of an agent's doings: refusals as events, capped; the newest doing where others can read it. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { memoryStore } from '../../test/support/memory-store.ts';
import { claimed } from '../../test/support/store-steps.ts';
import { event } from '../core/event.ts';
import { BY_SHAPE } from '../core/redact.ts';
import type { Store } from '../store/store.ts';
import { activityOf, MOST_REFUSALS, watchActivity } from './activity.ts';

const TURN = { role: 'coder', turn: 2 } as const;
let dir = '';
let store: Store;
let now = 0;
let timers: { at: number; wake(): void }[] = [];
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'forge-activity-'));
  store = memoryStore();
  await claimed(store, 'a', 1);
  now = 0;
  timers = [];
});
afterEach(() => rm(dir, { recursive: true, force: true }));

const places = {
  home: () => dir,
  session: () => dir,
  remove: async () => false,
  removeLogs: async () => [],
  log: (_task: string, name: string) => join(dir, name),
};
const watch = (writeText = writeFile as (path: string, text: string) => Promise<void>) =>
  watchActivity(
    {
      store,
      places,
      writeText,
      log: () => {},
      redact: BY_SHAPE,
      clock: {
        now: () => now,
        monotonic: () => now,
        day: () => ({ startsAt: 0, endsAt: 1, name: '' }),
        after: (ms, wake) => {
          const timer = { at: now + ms, wake };
          timers.push(timer);
          return () => {
            timers = timers.filter((one) => one !== timer);
          };
        },
      },
    },
    'a',
    TURN,
  );
const call = { code: 'publish', tool: 'Bash', detail: 'git push', why: 'do not push' } as const;
const refused = { kind: 'refused', ...call } as const;

test('each refused call is an event; of many, the first ones and a number (loops 70)', async () => {
  const activity = watch();
  for (let times = 0; times < MOST_REFUSALS + 7; times += 1) activity.see(refused);
  await activity.over();
  const events = await store.events({ task: 'a', type: 'tool_refused' });
  expect(events).toHaveLength(MOST_REFUSALS + 1);
  expect(events[0]?.data).toEqual({ ...TURN, ...call });
  expect(events.at(-1)?.data).toMatchObject({ further: 7 });
});

test('so it is with refusals of the loop’s own tools: a stubborn agent does not fill the log', async () => {
  const activity = watch();
  for (let times = 0; times < MOST_REFUSALS + 7; times += 1)
    expect(await activity.note(event('tool_refused', { ...TURN, ...call }))).toBe(true);
  await activity.over();
  const events = await store.events({ task: 'a', type: 'tool_refused' });
  expect(events).toHaveLength(MOST_REFUSALS + 1);
  expect(events.at(-1)?.data).toMatchObject({ further: 7 });
});

test('the newest doing is readable, for this turn only, and not written more often than once a second', async () => {
  let written = 0;
  const activity = watch((path, text) => {
    written += 1;
    return writeFile(path, text);
  });
  activity.see({ kind: 'said', text: 'I run\nthe tests' });
  activity.see({ kind: 'tool', tool: 'Bash', detail: 'npm test' });
  activity.see({ kind: 'tool', tool: 'Bash', detail: 'npm run lint' });
  now = 1000;
  for (const { wake } of timers) wake();
  await activity.over();
  expect(written).toBe(2);
  expect(await activityOf(places, 'a', TURN)).toEqual({ doing: 'Bash: npm run lint', at: 1000 });
  expect(await activityOf(places, 'a', { ...TURN, turn: 3 })).toBeNull();
});

test('a disk that is full costs nothing but the showing', async () => {
  const activity = watch(() => Promise.reject(new Error('no space left')));
  activity.see({ kind: 'tool', tool: 'Bash', detail: 'npm test' });
  activity.see(refused);
  await activity.over();
  expect(await store.events({ task: 'a', type: 'tool_refused' })).toHaveLength(1);
});
