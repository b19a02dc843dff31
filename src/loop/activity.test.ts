/** What is kept of an agent's doings: refusals as events, capped; the newest doing where others can read it. */
import { appendFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { memoryStore } from '../../test/support/memory-store.ts';
import { claimed } from '../../test/support/store-steps.ts';
import { BY_SHAPE } from '../core/access/redact.ts';
import { event } from '../core/event.ts';
import type { Store } from '../store/store.ts';
import { activityOf, MOST_REFUSALS, watchActivity } from './activity.ts';
import { transcriptPathOf } from './turn-files.ts';

const TURN = { role: 'coder', turn: 2 } as const;
const NAMED = { ...TURN, sessionId: '5e551011-0000' };
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
      appendText: appendFile as (path: string, text: string) => Promise<void>,
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
    NAMED,
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

test('symphony 12: the agent’s own thread and turn are kept, and its last word on the limits of its account', async () => {
  const activity = watch();
  activity.see({ kind: 'session', thread: 'th1', turn: 'tu1' });
  for (const usedPercent of [40, 41])
    activity.see({ kind: 'limits', windows: [{ name: 'primary', usedPercent, resetsAt: null }] });
  await activity.over();
  const [started] = await store.events({ task: 'a', type: 'session_started' });
  expect(started?.data).toEqual({ ...TURN, thread: 'th1', agentTurn: 'tu1' });
  const limits = await store.events({ task: 'a', type: 'rate_limits_seen' });
  expect(limits.map(({ data }) => data)).toEqual([
    { ...TURN, windows: [{ name: 'primary', usedPercent: 41, resetsAt: null }] },
  ]);
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

test('what it says and does, and what came of its calls, is a line each, without secrets', async () => {
  const key = `ghp_${'a1B2'.repeat(9)}`;
  const activity = watch();
  activity.see({ kind: 'said', text: `the key is ${key}` });
  activity.see({ kind: 'tool', tool: 'Bash', detail: 'npm test', call: 'c1', same: 'x' });
  now = 5;
  activity.see({ kind: 'tool_over', call: 'c1', result: 'r', output: '3 passed' });
  activity.see({ kind: 'tool_over', call: 'c2', result: null });
  activity.see({ kind: 'session', thread: 'th1', turn: 'tu1' });
  await activity.over();
  const lines = (await readFile(transcriptPathOf(places, 'a', NAMED), 'utf8')).trim().split('\n');
  expect(lines.map((line) => JSON.parse(line))).toEqual([
    { at: 0, kind: 'said', text: 'the key is [redacted]' },
    { at: 0, kind: 'tool', tool: 'Bash', detail: 'npm test', call: 'c1', same: 'x' },
    { at: 5, kind: 'tool_over', call: 'c1', result: 'r', output: '3 passed' },
  ]);
});

test('a transcript ends before it fills the disk, and says so', async () => {
  const activity = watch();
  for (let times = 0; times < 12; times += 1) activity.see({ kind: 'said', text: 'x'.repeat(1024 * 1024) });
  await activity.over();
  const lines = (await readFile(transcriptPathOf(places, 'a', NAMED), 'utf8')).trim().split('\n');
  expect(lines).toHaveLength(8);
  expect(JSON.parse(lines.at(-1)!)).toEqual({ kind: 'cut' });
});
