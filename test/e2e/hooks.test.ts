/** The operator's hooks around a workspace's life: when they run, and what follows when they fail. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { quoted } from '../support/e2e/halt.ts';
import { expectMergedOnce } from '../support/e2e/merged-once.ts';
import { isLiving } from '../support/e2e/proc.ts';
import { test, type World } from '../support/e2e/world.ts';

const trail = (world: World): string => join(world.folder, 'trail');
const note = (world: World, name: string): string => `echo "${name} $PWD" >> ${quoted(trail(world))}`;
const names = (world: World): string[] =>
  readFileSync(trail(world), 'utf8')
    .trim()
    .split('\n')
    .map((line) => line.split(' ')[0]!);

test('all four run in the workspace, in their order, around each turn (dispatch 17)', async ({ world }) => {
  const [after_create, before_run, after_run, before_remove] = ['created', 'before', 'after', 'removing'].map(
    (name) => note(world, name),
  );
  world.settings({
    hooks: { after_create, before_run, after_run, before_remove },
    gate: { commands: ['grep -q done done-1.txt'] },
  });
  world.script(
    {
      when: { role: 'coder', round: 1 },
      steps: [{ shell: note(world, 'turn') }, { write: { 'done-1.txt': 'no\n' } }],
    },
    {
      when: { role: 'coder' },
      steps: [{ shell: note(world, 'turn') }, { write: { 'done-1.txt': 'done\n' } }],
    },
  );
  const issue = await world.issue({});
  await world.settle();
  await expectMergedOnce(world, issue);
  expect(names(world)).toEqual(['created', 'before', 'turn', 'after', 'before', 'turn', 'after', 'removing']);
  const ready = await world.event('workspace_ready');
  const places = readFileSync(trail(world), 'utf8').trim().split('\n');
  expect(new Set(places.map((line) => line.slice(line.indexOf(' ') + 1)))).toEqual(
    new Set([ready.data.path]),
  );
});

test('after_run also runs after a cancelled turn, and its failure is only logged (dispatch 17)', async ({
  world,
}) => {
  const halt = world.halt('turn');
  world.settings({ hooks: { after_run: `${note(world, 'after')}; exit 1`, before_remove: 'exit 1' } });
  world.script({ when: { issue: 1, role: 'coder' }, steps: [{ shell: halt.shell }] });
  const [issue, other] = [await world.issue({}), await world.issue({ title: 'Another one' })];
  const runner = world.run('--until-idle');
  await halt.arrived();
  await world.json('task', 'cancel', String(issue));
  await world.finished(runner);
  expect(await world.task(issue)).toMatchObject({ state: 'abandoned', reason: 'cancelled' });
  expect(names(world)).toEqual(['after', 'after']);
  await expectMergedOnce(world, other);
});

test('before_run that fails: the agent is never asked; three times in a row end the attempt (dispatch 17)', async ({
  world,
}) => {
  world.settings({ hooks: { before_run: 'echo the database is down; exit 3' } });
  world.script({ when: { role: 'coder' }, steps: [{ shell: note(world, 'turn') }] });
  const issue = await world.issue({});
  const runner = world.run('--until-idle');
  for (let tries = 1, after = 0; tries <= 2; tries++) {
    const held = await world.event('hold_set', () => true, after);
    expect(held.data.detail).toContain('the database is down');
    after = held.seq;
    await world.json('resume', String(issue));
  }
  await world.finished(runner, 4);
  expect(await world.task(issue)).toMatchObject({ state: 'abandoned', reason: 'error_max_retries' });
  expect(existsSync(trail(world))).toBe(false);
});

test('a hook that hangs is killed with its whole group, and fails the attempt (dispatch 17)', async ({
  world,
}) => {
  const halt = world.halt('hook');
  world.settings({ hooks: { after_create: `{ ${halt.shell}; } & ${halt.shell}`, timeout_ms: 5000 } });
  const issue = await world.issue({});
  const runner = world.run();
  const failed = await world.event('workspace_failed');
  expect(failed.data.problem).toContain('timed out after 5 s');
  expect((await halt.arrived(2)).filter(isLiving)).toEqual([]);
  expect(await world.task(issue)).toMatchObject({ turns: 0, pull: null });
  halt.lift();
  await world.event('hold_set');
  await world.json('resume', String(issue));
  await world.state(issue, 'merged');
  runner.send('SIGINT');
  await world.finished(runner);
  expect(await expectMergedOnce(world, issue)).toMatchObject({ turns: 1 });
});
