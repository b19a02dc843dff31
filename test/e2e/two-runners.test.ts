/** Two runners on one repository share the work; what one drops the other picks up, and a stale one can do no harm. */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import Database from 'libsql';
import { describe, expect } from 'vitest';
import { type Halt, onCandidate, quoted } from '../support/e2e/halt.ts';
import { expectMergedOnce } from '../support/e2e/merged-once.ts';
import { isLiving, isStopped, processesWith } from '../support/e2e/proc.ts';
import type { Program } from '../support/e2e/program.ts';
import { test, type World } from '../support/e2e/world.ts';

const SHORT_LEASE = fileURLToPath(new URL('../support/e2e/short-lease.js', import.meta.url));

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

test('status shows both, also the one that has nothing to do', async ({ world }) => {
  const first = world.run();
  await world.event('runner_started', (data) => data.pid === first.pid);
  const runners = [first, world.run()];
  const seen = await world.until('both to be seen', async () => {
    const alive = (await world.status()).runners.filter((one) => one.alive);
    return alive.length === 2 && alive.map(({ pid }) => pid);
  });
  expect(new Set(seen)).toEqual(new Set(runners.map(({ pid }) => pid)));
  expect((await world.cli('status')).stdout).toMatch(/^runners \d+, \d+ · /);
  for (const runner of runners) {
    runner.send('SIGINT');
    await world.finished(runner);
  }
  expect((await world.status()).runners).toEqual([]);
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
  const { id, roles } = await world.task(issue);
  const sessionId = roles.coder.session;
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

/** Real time: the first runner's leases last five seconds, the second's five minutes. */
const LEASE_MS = 5000;

describe('a runner that stands still past its lease can do no harm when it wakes (dispatch 39)', () => {
  test('in a turn', async ({ world }) => {
    const halt = world.halt('turn');
    world.script({
      when: { role: 'coder' },
      steps: [{ shell: halt.shell }, { shell: 'echo done > done-$FORGE_ISSUE.txt' }],
    });
    const { issue, id } = await overtaken(world, halt, 'running');
    const turns = (await world.turns(issue)).map(({ role, status }) => [role, status]);
    expect(turns).toEqual([
      ['coder', 'interrupted'],
      ['coder', 'finished'],
      ['critic', 'finished'],
    ]);
    expect(await world.task(issue)).toMatchObject({ id, turns: 1, criticRounds: 1 });
  });

  test('in the gate before its merge', async ({ world }) => {
    const halt = world.halt('gate');
    world.settings({ gate: { commands: [`${onCandidate(halt)}; ls done-*.txt`] } });
    const { issue } = await overtaken(world, halt, 'merging');
    const decided = (await world.events()).filter(({ type }) => type === 'merge_decided');
    expect(decided, 'one of them merged').toHaveLength(1);
    expect((await world.turns(issue)).map(({ status }) => status)).toEqual(['finished', 'finished']);
  });
});

/** Between two writes: a process that stands still inside a transaction keeps every other from writing, too. */
async function standStill(world: World, runner: Program): Promise<void> {
  const database = new Database(join(world.root, '.forge', 'forge.db'));
  database.exec('PRAGMA busy_timeout = 0');
  for (;;) {
    runner.send('SIGSTOP');
    await world.until('it to stand still', () => isStopped(runner.pid));
    try {
      database.exec('BEGIN IMMEDIATE');
      break;
    } catch {
      runner.send('SIGCONT');
    }
  }
  database.exec('ROLLBACK');
  database.close();
}

/** The first is stopped where it halts; the second takes over when the lease has lapsed; the first wakes beside it. */
async function overtaken(world: World, halt: Halt, state: string): Promise<{ issue: number; id: string }> {
  const issue = await world.issue({});
  const stale = world.start(SHORT_LEASE, `${LEASE_MS}`);
  const [pid] = await halt.arrived();
  const { id } = await world.state(issue, state);
  await standStill(world, stale);
  const lease = (await (await world.store()).leases()).find(({ key }) => key === `task:${id}`)!;

  const fresh = world.run('--until-idle');
  const [, again] = await halt.arrived(2);
  const recovered = await world.event('recovered');
  expect(recovered.at, 'nobody takes over from a runner that may still be alive').toBeGreaterThanOrEqual(
    lease.expiresAt,
  );
  expect(isLiving(pid!), 'its child is dead before another works').toBe(false);
  const trunk = world.git('rev-parse', 'main');
  const seen = (await world.events()).length;

  stale.send('SIGCONT');
  const said = await world.event('runner_overslept', ({ tasks }) => tasks.includes(id));
  expect(said.data.sleptMs).toBeGreaterThan(LEASE_MS);
  stale.send('SIGINT');
  await world.finished(stale);
  expect(isLiving(again!), 'what is not its own lives on').toBe(true);
  const wrote = (await world.events()).slice(seen).filter(({ task }) => task === id);
  expect(wrote, 'it wrote nothing about the task').toEqual([]);
  expect(world.git('rev-parse', 'main'), 'and moved nothing').toBe(trunk);

  halt.lift();
  await world.finished(fresh);
  await expectMergedOnce(world, issue);
  expect(processesWith(`FORGE_MARK=${id}`)).toEqual([]);
  return { issue, id };
}
