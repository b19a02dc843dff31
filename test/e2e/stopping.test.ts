/** Stopping a runner, gently and at once, holding it, letting it go on: by signal and by command. */
import { expect } from 'vitest';
import { expectMergedOnce } from '../support/e2e/merged-once.ts';
import { isLiving, processesWith } from '../support/e2e/proc.ts';
import { test, type World } from '../support/e2e/world.ts';

/** A coder that waits at the halt, then does the issue. */
function waiting(world: World) {
  const halt = world.halt('turn');
  world.script({
    when: { role: 'coder' },
    steps: [{ shell: halt.shell }, { shell: 'echo done > done-$FORGE_ISSUE.txt' }],
  });
  return halt;
}

test('SIGINT mid-turn: the turn ends in peace, nothing new starts, exit 0; the next run goes on from there', async ({
  world,
}) => {
  world.settings({ agent: { max_concurrent: 1 } });
  const halt = waiting(world);
  const issue = await world.issue({});
  const other = await world.issue({ title: 'Another one' });
  const runner = world.run();
  await halt.arrived();
  runner.send('SIGINT');
  await world.until('it to say what it waits for', () =>
    /Finishing turn 1 of #1 .*Press Ctrl-C again/.test(runner.said()),
  );
  halt.lift();
  expect((await world.finished(runner)).stdout).toMatch(/turn 1 finished[\s\S]*Stopped\.\n$/);

  expect(await world.turns(issue)).toMatchObject([{ status: 'finished' }]);
  expect(await world.task(issue)).toMatchObject({ state: 'running', turns: 1, gate: null });
  await expect(world.task(other)).rejects.toThrow('no task');
  expect(await (await world.store()).leases(), 'it let go of everything').toEqual([]);

  await world.settle();
  expect(await expectMergedOnce(world, issue)).toMatchObject({ turns: 1 });
  expect(await expectMergedOnce(world, other)).toMatchObject({ turns: 1 });
});

test('a second SIGINT stops at once: children dead, the turn interrupted; the next run resumes that session', async ({
  world,
}) => {
  const halt = waiting(world);
  const issue = await world.issue({});
  const runner = world.run();
  const [pid] = await halt.arrived();
  const { id, roles } = await world.task(issue);
  const sessionId = roles.coder.session;
  runner.send('SIGINT');
  await world.until('it to say that it stops', () => runner.said().includes('Finishing turn 1'));
  runner.send('SIGINT');
  expect((await world.finished(runner)).stdout).toContain('turn 1 interrupted');
  expect(isLiving(pid!)).toBe(false);
  expect(processesWith(`FORGE_MARK=${id}`)).toEqual([]);
  expect(await world.turns(issue)).toMatchObject([{ turn: 1, status: 'interrupted', sessionId }]);
  expect(await world.task(issue)).toMatchObject({ state: 'running', turns: 0 });

  halt.lift();
  await world.settle();
  expect(await expectMergedOnce(world, issue)).toMatchObject({ turns: 1, sessionIds: [sessionId] });
  expect(await world.turns(issue)).toMatchObject([
    { prompt: 'task', status: 'interrupted', sessionId },
    { turn: 1, prompt: 'interrupted', status: 'finished', sessionId },
    { role: 'critic' },
  ]);
});

test('`stop` is a drain and `stop --now` is not; SIGTERM is like SIGINT', async ({ world }) => {
  const halt = waiting(world);
  const issue = await world.issue({});
  const first = world.run();
  await halt.arrived();
  expect(await world.json('stop')).toMatchObject({ stopRequested: 'drain', runnerAlive: true });
  expect(await world.json('stop', '--now')).toMatchObject({ stopRequested: 'now' });
  await world.finished(first);
  expect(await world.turns(issue)).toMatchObject([{ status: 'interrupted' }]);
  expect(await world.json('stop'), 'nothing is remembered against the next runner').toMatchObject({
    stopRequested: null,
    runnerAlive: false,
  });

  const second = world.run();
  await halt.arrived(2);
  second.send('SIGTERM');
  await world.until('it to drain', () => second.said().includes('Finishing turn 1'));
  halt.lift();
  await world.finished(second);
  expect(await world.turns(issue)).toMatchObject([{ status: 'interrupted' }, { status: 'finished' }]);

  await world.settle();
  await expectMergedOnce(world, issue);
});

test('`pause` starts nothing new and says so; `resume` goes on; one task can be held alone', async ({
  world,
}) => {
  const halt = waiting(world);
  const [issue, other] = [await world.issue({}), await world.issue({ title: 'Another one' })];
  const runner = world.run();
  await halt.arrived(2);
  await world.json('pause', String(other));
  await world.json('pause');
  const late = await world.issue({ title: 'A late one' });
  halt.lift();
  await world.event('turn_completed', (_, { task }) => task !== null);
  await world.until('both turns to end', async () =>
    (await Promise.all([world.turns(issue), world.turns(other)]))
      .flat()
      .every((turn) => turn.status === 'finished'),
  );
  await world.event('hold_set', (data) => data.reason === 'operator_pause');
  const { loop, issues } = await world.json<{ loop: string[]; issues: { issue: number; why: string }[] }>(
    'why',
  );
  expect(loop.join()).toContain('paused by Öperator O’Hara');
  expect(issues.find((line) => line.issue === other)?.why).toContain('operator_pause');
  expect(await world.task(issue)).toMatchObject({ state: 'running', gate: null });
  await expect(world.task(late)).rejects.toThrow('no task');

  await world.json('resume');
  await world.state(issue, 'merged');
  await world.state(late, 'merged');
  expect(await world.task(other)).toMatchObject({ state: 'running', hold: { reason: 'operator_pause' } });
  await world.json('resume', String(other));
  await world.state(other, 'merged');
  runner.send('SIGINT');
  await world.finished(runner);
  for (const each of [issue, other, late]) await expectMergedOnce(world, each);
});

test('`pause` and then `resume` while a turn runs: nobody stays paused, neither the task nor the loop', async ({
  world,
}) => {
  const halt = waiting(world);
  const issue = await world.issue({});
  const runner = world.run('--until-idle');
  await halt.arrived();
  for (const verb of ['pause', 'resume', 'pause', 'resume']) await world.json(verb, String(issue));
  for (const verb of ['pause', 'resume']) await world.json(verb);
  expect((await world.cli('resume', String(issue))).stderr).toContain('is not held: it is running');
  halt.lift();
  await world.finished(runner);
  await expectMergedOnce(world, issue);
  expect((await world.events()).filter(({ type }) => type === 'hold_set')).toEqual([]);
});

test('a stop during the gate says what it waits for; asked again it ends the gate, which then runs anew', async ({
  world,
}) => {
  const halt = world.halt('gate');
  // Trunk passes: it waits for the task's own work.
  world.settings({ gate: { commands: [`! ls done-*.txt || { echo 12 of 40 passed; ${halt.shell}; }`] } });
  const issue = await world.issue({});
  const runner = world.run();
  const [pid] = await halt.arrived();
  await world.until('it to name the gate', () => runner.said().includes('#1 gate: `! ls done-*.txt'));
  const [line] = (await world.json<{ issues: { why: string }[] }>('why')).issues;
  expect(line?.why).toMatch(/^running: the gate \(`! ls done.*`, for \d+ s\): 12 of 40 passed$/);
  expect((await world.cli('status')).stdout).toMatch(
    /the gate \(`! ls done.*`, for \d+ s\): 12 of 40 passed/,
  );
  const working = /the gate of #1 \(`.*`, for \d+ s\)/;
  expect((await world.cli('stop')).stdout).toMatch(working);
  const { tasks, atWork } = await world.status();
  expect(atWork.join()).toMatch(working);
  expect(tasks[0]?.atWork).toMatch(working);
  expect((await world.cli('status')).stdout).toMatch(/stopping, waits for the gate of #1/);
  runner.send('SIGINT');
  await world.until('it to answer', () => /Stopping now|Finishing/.test(runner.said()));
  // It may not have heard of the stop yet: then this was the first it was asked.
  if (!/Stopping now/.test(runner.said())) runner.send('SIGINT');
  await world.until('it to stop', () => /Stopping now/.test(runner.said()));
  await world.finished(runner);
  expect(isLiving(pid!)).toBe(false);
  expect(runner.said()).toContain('gate was interrupted');
  expect(await world.task(issue)).toMatchObject({ state: 'running', gate: null });

  halt.lift();
  await world.settle();
  expect(await expectMergedOnce(world, issue)).toMatchObject({ turns: 1 });
});

test('while the gate is tried on trunk, and between steps, status says what goes on', async ({ world }) => {
  const halt = world.halt('gate');
  world.settings({ gate: { commands: [`echo 3 of 9; ${halt.shell}`] } });
  await world.issue({});
  const runner = world.run('--until-idle');
  await halt.arrived();
  await world.until('it to name the gate', () => runner.said().includes('gate on trunk: `echo 3 of 9'));
  const { stdout } = await world.cli('status');
  expect(stdout).toMatch(/^the gate on trunk \(`echo 3 of 9.*`, for \d+ s\): 3 of 9$/m);
  expect(stdout).toMatch(/running the gate on trunk before the first turn$/m);
  halt.lift();
  await world.finished(runner);
});

test('the first Ctrl-C during a hook names its command, the second ends it; the hook runs again', async ({
  world,
}) => {
  const halt = world.halt('hook');
  world.settings({ hooks: { after_create: halt.shell } });
  const issue = await world.issue({});
  const runner = world.run();
  const [pid] = await halt.arrived();
  runner.send('SIGINT');
  await world.until('it to say what it waits for', () =>
    /Finishing the hook afterCreate of #1 \(`/.test(runner.said()),
  );
  runner.send('SIGINT');
  await world.finished(runner);
  expect(isLiving(pid!)).toBe(false);
  halt.lift();
  await world.settle();
  expect((await expectMergedOnce(world, issue)).streaks.workspace).toBe(0);
  expect((await world.events()).map(({ type }) => type)).not.toContain('workspace_failed');
});
