/** Two runners on one repository share the work; what one drops the other picks up, and a stale one can do no harm. */
import { join } from 'node:path';
import Database from 'libsql';
import { expect } from 'vitest';
import { quoted } from '../support/e2e/halt.ts';
import { expectMergedOnce } from '../support/e2e/merged-once.ts';
import { isLiving, processesWith } from '../support/e2e/proc.ts';
import { test } from '../support/e2e/world.ts';

const SLOT_STATES = ['dispatched', 'running', 'revising'];

test('six issues, three slots, two runners: each issue once, slots never exceeded (dispatch 13)', async ({
  world,
}) => {
  world.settings({ agent: { max_concurrent: 3 } });
  const starts = join(world.folder, 'starts');
  world.script({
    when: { role: 'coder' },
    steps: [{ shell: `echo "$FORGE_ISSUE" >> ${quoted(starts)}; echo done > done-$FORGE_ISSUE.txt` }],
  });
  const issues: number[] = [];
  for (let n = 1; n <= 6; n++) issues.push(await world.issue({ title: `Number ${n}` }));
  const runners = [world.run('--until-idle'), world.run('--until-idle')];
  for (const runner of runners) await world.finished(runner);

  for (const issue of issues) {
    expect(await expectMergedOnce(world, issue)).toMatchObject({ turns: 1, criticRounds: 1, attempt: 1 });
  }
  const taken = new Set<string>();
  let most = 0;
  for (const { type, task, data } of await world.events()) {
    if (type !== 'worker_state_transition') continue;
    if (SLOT_STATES.includes(data.to)) taken.add(task!);
    else taken.delete(task!);
    most = Math.max(most, taken.size);
  }
  expect(most).toBeLessThanOrEqual(3);
  expect(most, 'and they were used').toBeGreaterThan(1);
  expect(new Set((await world.events()).filter(({ type }) => type === 'runner_started')).size).toBe(2);
});

test('one is killed: the other, already running, takes over at once, on the same session (dispatch 36, 37, 39)', async ({
  world,
}) => {
  const halt = world.halt('turn');
  world.script({
    when: { role: 'coder' },
    steps: [{ shell: halt.shell }, { shell: 'echo done > done-$FORGE_ISSUE.txt' }],
  });
  const issue = await world.issue({});
  const first = world.run();
  const [pid] = await halt.arrived();
  const { id, sessionId } = await world.task(issue);
  const second = world.run('--until-idle');
  await world.event('runner_started', (data) => data.pid === second.pid);
  await first.kill();
  const [, again] = await halt.arrived(2);
  expect(isLiving(pid!), 'the first agent is dead before the second works').toBe(false);
  expect(isLiving(again!)).toBe(true);
  halt.lift();
  await world.finished(second);
  expect(await expectMergedOnce(world, issue)).toMatchObject({ id, turns: 1, sessionIds: [sessionId] });
});

test('a runner that was stopped past its lease: its commits are refused, and it does nothing twice (dispatch 39)', async ({
  world,
}) => {
  const halt = world.halt('turn');
  world.script({
    when: { role: 'coder' },
    steps: [{ shell: halt.shell }, { shell: 'echo done > done-$FORGE_ISSUE.txt' }],
  });
  const issue = await world.issue({});
  const stale = world.run();
  const [pid] = await halt.arrived();
  const { id } = await world.task(issue);
  stale.send('SIGSTOP');
  // Five minutes pass.
  const database = new Database(join(world.root, '.forge', 'forge.db'));
  database.exec('UPDATE leases SET expires_at = 0');
  database.close();

  const fresh = world.run('--until-idle');
  await halt.arrived(2);
  expect(isLiving(pid!), 'its agent is dead before another works').toBe(false);
  stale.send('SIGCONT');
  halt.lift();
  await world.finished(fresh);
  expect(await expectMergedOnce(world, issue)).toMatchObject({ id, turns: 1, criticRounds: 1 });
  const turns = await world.turns(issue);
  expect(turns.map(({ role, status }) => [role, status])).toEqual([
    ['coder', 'interrupted'],
    ['coder', 'finished'],
    ['critic', 'finished'],
  ]);
  stale.send('SIGINT');
  await world.finished(stale);
  expect(processesWith(`FORGE_MARK=${id}`)).toEqual([]);
  await expectMergedOnce(world, issue);
});
