/** An operator whose git writes CRLF into the checkout, and a repository that asks for it in one kind of file. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { cloneOfTrunk, landedOn, paid } from '../support/e2e/trunk.ts';
import { test, type World } from '../support/e2e/world.ts';

// By a pattern: a file that the gate names is protected, and the coder has to change this one.
const GATE = 'test -z "$(git status --porcelain --untracked-files=no)" && grep -q hello notes*';

function withCarriageReturns(world: World): string {
  writeFileSync(join(world.env.HOME!, '.gitconfig'), '[core]\n\tautocrlf = true\n\tsafecrlf = false\n');
  world.write('.gitattributes', '*.bat text eol=crlf\n');
  world.write('start.bat', '@echo off\r\n');
  world.write('notes.txt', 'hello\r\nworld\r\n');
  world.settings({ gate: { commands: [GATE] } });
  expect(world.git('show', 'HEAD:notes.txt')).toBe('hello\nworld\n');
  return world.git('rev-parse', 'HEAD').trim();
}

test('only the lines of the issue change, and what lands has the line ends of the repository', async ({
  world,
}) => {
  const start = withCarriageReturns(world);
  world.script({
    when: { role: 'coder' },
    steps: [
      { append: { 'notes.txt': 'again\n' } },
      { write: { 'stop.bat': '@exit\r\n', 'new.txt': 'one\ntwo\n' } },
    ],
  });
  await world.issue({ title: 'Say it again' });
  await world.settle();
  expect(landedOn(world, start)).toEqual(['Say it again']);
  expect(world.git('show', 'main:notes.txt')).toBe('hello\nworld\nagain\n');
  expect(world.git('show', 'main:stop.bat')).toBe('@exit\n');
  expect(world.git('show', 'main:new.txt')).toBe('one\ntwo\n');
  expect(world.git('diff', '--numstat', start, 'main', '--', 'notes.txt')).toMatch(/^1\t0\t/);
  expect(world.git('status', '--porcelain'), 'the checkout is clean').toBe('');
  expect(world.read('notes.txt'), 'and has their line ends').toBe('hello\r\nworld\r\nagain\r\n');
  expect(cloneOfTrunk(world).red(GATE)).toEqual([]);
  expect(await paid(world)).toEqual({ coder: 1, critic: 1 });
});
