import { expect, onTestFinished, test } from 'vitest';
import { painter, type Terminal } from './terminal.ts';
import { TEXT } from './text.ts';

test('times are those of the clock on the wall', () => {
  const { TZ } = process.env;
  process.env.TZ = 'Asia/Tokyo';
  onTestFinished(() => {
    if (TZ === undefined) delete process.env.TZ;
    else process.env.TZ = TZ;
  });
  const line = {
    name: '#7',
    issue: 7,
    task: null,
    title: 'T',
    why: 'held',
    until: '2026-11-16T20:00:00.000Z',
  };
  expect(TEXT.why({ loop: [], issues: [line] } as never, { paint: painter(false) } as Terminal)).toContain(
    '(until 2026-11-17 05:00:00)',
  );
});

test('resume says what it ended, and where work lands now', () => {
  const goesOn = { paused: null, deployAgain: false, stopRequested: null, atWork: [], runnerAlive: true };
  const said = (more: { ended: string[]; trunk: { was: string; is: string } | null }) =>
    TEXT.resume({ ...goesOn, ...more } as never, { paint: painter(false) } as Terminal);
  expect(said({ ended: [], trunk: null })).toBe('The loop continues.');
  expect(
    said({ ended: ['credential_refused', 'trunk_changed'], trunk: { was: 'main', is: 'develop' } }),
  ).toBe(
    'The loop continues.\nReleased: credential_refused, trunk_changed. Work now lands on develop (was main).',
  );
});

test('init says where issues are, and that the local forge never fetches or pushes', () => {
  const made = {
    workflow: 'W',
    written: true,
    gate: { setup: [], commands: [], from: [], leftOut: [] },
    trunk: 'main',
  };
  const said = (tracker: 'local' | 'github') =>
    TEXT.init(
      { ...made, tracker, labels: [], mcp: [], problems: [], next: [] } as never,
      { paint: painter(false) } as Terminal,
    );
  expect(said('local')).toContain('Nothing is ever fetched or pushed');
  expect(said('github')).not.toContain('pushed');
});

test('task show says what runs now, with its command and its last line', () => {
  const task = {
    ...{
      name: '#7',
      title: 'T',
      id: 'a',
      attempt: 1,
      state: 'running',
      reason: null,
      endedAt: null,
      turn: null,
    },
    ...{
      why: 'its workspace is ready',
      rests: 'running: the gate (`npm test`, for 3 min): 12 passed',
      hold: null,
    },
    ...{ spec: null, turnsTaken: [], rounds: [], criteria: [], findings: [], network: null, merge: null },
    ...{ pending: [{ action: 'gate' }], requests: [], turns: 1, maxTurns: 20, criticRounds: 0 },
    ...{ costUsd: null, tokens: null, branch: 'loop/7-t', pull: null },
  };
  const shown = (more = {}) =>
    TEXT['task.show']({ ...task, ...more } as never, { paint: painter(false), columns: null } as Terminal);
  expect(shown()).toMatch(/state +running: the gate \(`npm test`, for 3 min\): 12 passed\n/);
  const held = { hold: { text: 'held (spend_unknown): x' }, rests: 'held (spend_unknown): x' };
  expect(shown(held), 'said once').toMatch(/state +running, held\n/);
  expect(shown({ state: 'merged', endedAt: 'x', why: 'seen on trunk' })).toMatch(
    /state +merged: seen on trunk/,
  );
});
