/** What can't be had back, what `boot` shows and `recover` mends, and settings that change while a runner is at work. */
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect } from 'vitest';
import type { Halt } from '../support/e2e/halt.ts';
import { expectMergedOnce } from '../support/e2e/merged-once.ts';
import { isLiving } from '../support/e2e/proc.ts';
import { test, type World } from '../support/e2e/world.ts';

interface Boot {
  stale: { key: string; task: string | null }[];
  tasks: { issue: number; state: string; interrupted: boolean }[];
}

/** A turn that began, wrote something and was cut off with its runner. */
async function cutOff(world: World): Promise<{ issue: number; halt: Halt; pid: number }> {
  const halt = world.halt('turn');
  world.script({
    when: { role: 'coder' },
    steps: [
      { write: { 'begun.txt': 'begun\n' } },
      { shell: halt.shell },
      { shell: 'echo done > done-$FORGE_ISSUE.txt' },
    ],
  });
  const issue = await world.issue({});
  const runner = world.run();
  const [pid] = await halt.arrived();
  await runner.kill();
  return { issue, halt, pid: pid! };
}

const sessionDir = (world: World, task: string, session: string): string =>
  join(dirname(world.logs(task)), 'sessions', session);

describe('after a crash', () => {
  test('`boot` shows what is stale and changes nothing, `recover` mends it, `boot` is clean (dispatch 40)', async ({
    world,
  }) => {
    const { issue, halt, pid } = await cutOff(world);
    const { id, sessionId } = await world.task(issue);
    const before = await world.events();
    const shown = await world.json<Boot>('boot');
    expect(shown.tasks).toMatchObject([{ issue, state: 'running', interrupted: true }]);
    expect(shown.stale.map((lease) => lease.task)).toContain(id);
    expect(isLiving(pid), 'looking stops nothing').toBe(true);
    expect(await world.events()).toEqual(before);
    const seen = await world.json<{ checks: { name: string; level: string; fix: string }[] }>('doctor');
    const warned = seen.checks
      .filter((check) => check.fix === 'forge-loop recover')
      .map((check) => check.name);
    expect(warned).toEqual(['leases', 'processes']);

    expect(await world.json('recover')).toMatchObject({
      tasks: [{ task: id, issue, plan: 'resume_session' }],
    });
    expect(isLiving(pid)).toBe(false);
    expect(await world.json<Boot>('boot')).toMatchObject({ stale: [], tasks: [{ interrupted: false }] });
    expect(await world.json('recover'), 'there is nothing left to mend').toEqual({
      tasks: [],
      workspaces: [],
    });
    halt.lift();
    await world.settle();
    expect(await expectMergedOnce(world, issue)).toMatchObject({ turns: 1, sessionIds: [sessionId] });
  });

  test('the workspace is gone: abandoned, crash_recovery_failed, and what was saved is still there (dispatch 38)', async ({
    world,
  }) => {
    const { issue } = await cutOff(world);
    const { workspace, branch } = await world.task(issue);
    rmSync(workspace!, { recursive: true });
    await world.settle(4);
    expect(await world.task(issue)).toMatchObject({ state: 'abandoned', reason: 'crash_recovery_failed' });
    expect(world.git('rev-parse', '--verify', branch)).toBeTruthy();
    expect(await world.labels(issue)).toEqual(['loop:needs-review']);
  });

  /** Its first turn ended, its second was cut off, and then its conversation was deleted. */
  async function bereft(world: World): Promise<{ issue: number; halt: Halt; sessionId: string }> {
    const halt = world.halt('second turn');
    world.script(
      { when: { role: 'coder', turn: 1 }, steps: [{ write: { 'begun.txt': 'begun\n' } }] },
      {
        when: { role: 'coder' },
        steps: [
          { append: { 'begun.txt': 'more\n' } },
          { shell: halt.shell },
          { shell: 'echo done > done-$FORGE_ISSUE.txt' },
        ],
      },
    );
    const issue = await world.issue({ body: 'It must contain `done`. BODY-OF-THE-ISSUE' });
    const runner = world.run();
    await halt.arrived();
    await runner.kill();
    const { id, sessionId } = await world.task(issue);
    rmSync(sessionDir(world, id, sessionId!), { recursive: true });
    return { issue, halt, sessionId: sessionId! };
  }

  test('the session is gone: abandoned by default, its unsaved work on the branch (dispatch 38)', async ({
    world,
  }) => {
    const { issue } = await bereft(world);
    await world.settle(4);
    const task = await world.task(issue);
    expect(task).toMatchObject({ state: 'abandoned', reason: 'crash_recovery_failed', turns: 1 });
    expect(world.git('show', `${task.branch}:begun.txt`)).toBe('begun\nmore\n');
  });

  test('the session is gone and a fresh one may take over: it is told that it takes over (dispatch 38)', async ({
    world,
  }) => {
    world.settings({ recovery: { on_lost_session: 'fresh_session' } });
    const { issue, halt, sessionId } = await bereft(world);
    halt.lift();
    await world.settle();
    const task = await expectMergedOnce(world, issue);
    expect(task).toMatchObject({ turns: 2, sessionIds: [sessionId, expect.any(String)] });
    const [, cut, fresh] = await world.turns(issue);
    expect(cut).toMatchObject({ turn: 2, status: 'interrupted', sessionId });
    expect(fresh).toMatchObject({ turn: 2, status: 'finished', prompt: 'handover' });
    const log = join(world.logs(task.id), `coder-2-${fresh!.sessionId.slice(0, 8)}.prompt.md`);
    expect(readFileSync(log, 'utf8')).toMatch(/You take over .*BODY-OF-THE-ISSUE/s);
  });

  test('three interrupted turns in a row end the task, and none of them counted (dispatch 38)', async ({
    world,
  }) => {
    const { issue, halt } = await cutOff(world);
    for (const times of [2, 3]) {
      const runner = world.run();
      await halt.arrived(times);
      await runner.kill();
    }
    await world.settle(4);
    const task = await world.task(issue);
    expect(task).toMatchObject({ state: 'abandoned', reason: 'crash_recovery_failed', turns: 0 });
    expect((await world.turns(issue)).map((turn) => turn.status)).toEqual([
      'interrupted',
      'interrupted',
      'interrupted',
    ]);
    expect(existsSync(task.workspace!)).toBe(true);
    expect(world.git('show', `${task.branch}:begun.txt`), 'the dirty worktree was checkpointed').toBe(
      'begun\n',
    );
  });
});

describe('WORKFLOW.md changes while a runner is at work (dispatch 4)', () => {
  test('more slots are used at once; a broken edit keeps the last good and is shown until it is mended', async ({
    world,
  }) => {
    const halt = world.halt('turn');
    world.settings({ agent: { max_concurrent: 1 } });
    world.script({
      when: { role: 'coder' },
      steps: [{ shell: halt.shell }, { shell: 'echo done > done-$FORGE_ISSUE.txt' }],
    });
    const issues = [await world.issue({}), await world.issue({ title: 'Another one' })];
    const runner = world.run();
    await halt.arrived();
    expect(halt.arrivals()).toBe(1);
    world.settings({ agent: { max_concurrent: 2 } });
    await halt.arrived(2);
    expect(await world.status()).toMatchObject({ slots: { used: 2, max: 2 }, configProblem: null });

    const good = world.read('WORKFLOW.md');
    world.write('WORKFLOW.md', good.replace('"max_concurrent": 2', '"max_concurrent": "many"'));
    const invalid = await world.event('config_invalid');
    expect(invalid.data.problem).toContain('max_concurrent');
    expect((await world.status()).configProblem).toContain('max_concurrent');
    const { loop } = await world.json<{ loop: string[] }>('why');
    expect(loop.join()).toContain("WORKFLOW.md can't be used");
    expect((await world.cli('doctor')).code).toBe(1);
    expect(readFileSync(join(world.root, '.forge', 'logs', 'runner.log'), 'utf8')).toContain(
      'kept the last good',
    );

    world.write('WORKFLOW.md', good);
    await world.event('config_reloaded', () => true, invalid.seq);
    halt.lift();
    for (const issue of issues) await world.state(issue, 'merged');
    runner.send('SIGINT');
    await world.finished(runner);
    expect((await world.status()).configProblem).toBeNull();
    for (const issue of issues) await expectMergedOnce(world, issue);
  });
});
