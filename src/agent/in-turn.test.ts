/** Our own program inside a turn, however it was found. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { accessOf } from '../core/role.ts';
import type { Progress } from './agent.ts';
import { refuseInTurn } from './in-turn.ts';
import { openStandIns } from './stand-ins.ts';

let dir = '';
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'forge-in-turn-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

test('outside a turn nothing is refused', () => {
  expect(() => refuseInTurn('run', {})).not.toThrow();
});

test('inside one it is refused, and the turn hears of it (loops 70)', () => {
  const told: Progress[] = [];
  const [cwd, home, sessionDir] = ['work', 'home', 'session'].map((name) => join(dir, name)) as [
    string,
    string,
    string,
  ];
  const access = accessOf('coder', { cwd, home, session: sessionDir });
  const standIns = openStandIns({ cwd, home, sessionDir, access }, { TMPDIR: dir }, (progress) => {
    if (progress) told.push(progress);
  });
  const env = { FORGE_ROLE: 'coder', FORGE_SESSION_DIR: sessionDir };
  expect(() => refuseInTurn('loop start', env)).toThrow('a loop is already running you');
  standIns.close();
  expect(told).toMatchObject([{ kind: 'refused', code: 'loop', detail: 'forge-loop loop start' }]);
});

test('a turn that has no place for notes is refused all the same', () => {
  const env = { FORGE_ROLE: 'coder', FORGE_SESSION_DIR: join(dir, 'gone') };
  expect(() => refuseInTurn('run', env)).toThrow('a loop is already running you');
});
