import { mkdtempSync, renameSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ConfigError, UserError } from '../errors.ts';
import type { Settings } from './load.ts';
import { watchSettings } from './reload.ts';

let folder: string;
let file: string;
let clock = 1_700_000_000;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'reload-'));
  file = join(folder, 'WORKFLOW.md');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Each write has a time of its own, so that a test never depends on the resolution of the file system's clock. */
function write(turns: unknown): void {
  writeFileSync(file, `---\nagent:\n  max_turns: ${turns}\n---\n`);
  clock += 10;
  utimesSync(file, clock, clock);
}

test('a changed file is picked up without restart, once (dispatch 4)', async () => {
  write(5);
  const watch = watchSettings(file, {});
  expect(await watch.check()).toBe('same');
  write(6);
  expect(watch.current().policy.maxTurns).toBe(5);
  expect(await watch.check()).toBe('reloaded');
  expect(watch.current().policy.maxTurns).toBe(6);
  expect(await watch.check()).toBe('same');
});

test('a file replaced by another of the same size and time is picked up (dispatch 4)', async () => {
  write(5);
  const watch = watchSettings(file, {});
  const other = join(folder, 'other');
  writeFileSync(other, '---\nagent:\n  max_turns: 8\n---\n');
  utimesSync(other, clock, clock);
  renameSync(other, file);
  expect(await watch.check()).toBe('reloaded');
  expect(watch.current().policy.maxTurns).toBe(8);
});

test('a broken file keeps the last good and is reported until mended (dispatch 4)', async () => {
  write(5);
  const watch = watchSettings(file, {});
  expect(watch.problem()).toBeNull();
  write('many');
  expect(await watch.check()).toBe('broken');
  expect(watch.current().policy.maxTurns).toBe(5);
  expect(watch.problem()).toBe(`${file}:3: agent.max_turns: expected whole number ≥ 1, found "many"`);
  expect(await watch.check()).toBe('same');
  expect(watch.problem()).toContain('agent.max_turns');
  write(7);
  expect(await watch.check()).toBe('reloaded');
  expect(watch.problem()).toBeNull();
  expect(watch.current().policy.maxTurns).toBe(7);
});

test('a deleted or emptied file keeps the last good (dispatch 4)', async () => {
  write(5);
  const watch = watchSettings(file, {});
  rmSync(file);
  expect(await watch.check()).toBe('broken');
  expect(watch.problem()).toContain('does not exist');
  expect(await watch.check()).toBe('same');
  writeFileSync(file, '');
  expect(await watch.check()).toBe('broken');
  expect(watch.problem()).toContain('is empty');
  expect(watch.current().policy.maxTurns).toBe(5);
  write(5);
  expect(await watch.check()).toBe('reloaded');
  expect(watch.problem()).toBeNull();
});

test('a first load that fails has nothing to fall back on', () => {
  expect(() => watchSettings(file, {})).toThrow(ConfigError);
});

describe('what a start would refuse', () => {
  let refusal: string | null = null;
  const requireAcceptable = async (next: Settings, inForce: Settings): Promise<void> => {
    if (next.policy.maxTurns === inForce.policy.maxTurns || refusal === null) return;
    throw new UserError(refusal, 'Install it.');
  };
  beforeEach(() => {
    refusal = 'There is no agent.';
  });

  test('keeps the last good and is reported until the file is mended', async () => {
    write(5);
    const watch = watchSettings(file, {}, { requireAcceptable });
    write(6);
    expect(await watch.check()).toBe('broken');
    expect(watch.current().policy.maxTurns).toBe(5);
    expect(watch.problem()).toBe('There is no agent. Install it.');
    expect(await watch.check()).toBe('same');
    write(5);
    expect(await watch.check()).toBe('reloaded');
    expect(watch.problem()).toBeNull();
  });

  test('is taken up when what was missing is there, and another problem is said', async () => {
    write(5);
    const watch = watchSettings(file, {}, { requireAcceptable });
    write(6);
    expect(await watch.check()).toBe('broken');
    refusal = 'It has no credential.';
    expect(await watch.check()).toBe('broken');
    expect(watch.problem()).toContain('no credential');
    refusal = null;
    expect(await watch.check()).toBe('reloaded');
    expect(watch.current().policy.maxTurns).toBe(6);
    expect(await watch.check()).toBe('same');
  });
});
