/** What can't be had back, what `boot` shows and `recover` mends, and settings that change while a runner is at work. */
import { cpSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect } from 'vitest';
import type { Halt } from '../support/e2e/halt.ts';
import { expectMergedOnce } from '../support/e2e/merged-once.ts';
import { isLiving } from '../support/e2e/proc.ts';
import { type Program, startProgram } from '../support/e2e/program.ts';
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

/** A child that belongs to no task lives on when its runner is killed, until somebody recovers. */
async function expectStopped(world: World, runner: Program, pid: number): Promise<void> {
  const orphans = async () => {
    const { checks } = await world.json<{ checks: { name: string; what: string }[] }>('doctor');
    return checks.find(({ name }) => name === 'processes')?.what;
  };
  expect(await orphans(), 'somebody alive answers for it').toBe('no orphans');
  await runner.kill();
  expect(await orphans()).toMatch(/^left by dead runners, still alive: \d+$/);
  expect(isLiving(pid), 'looking stops nothing').toBe(true);
  const { processes } = await world.json<{ processes: number[] }>('recover');
  expect(processes).toContain(pid);
  expect(isLiving(pid)).toBe(false);
  expect(await orphans()).toBe('no orphans');
}

const sessionDir = (world: World, task: string, session: string): string =>
  join(dirname(world.logs(task)), 'sessions', session);

describe('after a crash', () => {
  test('`boot` shows what is stale and changes nothing, `recover` mends it, `boot` is clean (dispatch 40)', async ({
    world,
  }) => {
    const { issue, halt, pid } = await cutOff(world);
    const { id, roles } = await world.task(issue);
    const sessionId = roles.coder.session;
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
      processes: [],
      workspaces: [],
    });
    halt.lift();
    await world.settle();
    expect(await expectMergedOnce(world, issue)).toMatchObject({ turns: 1, sessionIds: [sessionId] });
  });

  test.for(['run', 'doctor --gate'])(
    'what %s had tried on trunk when it was killed: `doctor` tells of it, `recover` stops it',
    async (command, { world }) => {
      const halt = world.halt('gate');
      world.settings({ gate: { commands: [halt.shell] } });
      await world.issue({});
      const killed = startProgram(command.split(' '), { cwd: world.root, env: world.env });
      world.atEnd(() => void killed.kill());
      const [pid] = await halt.arrived();
      await expectStopped(world, killed, pid!);
    },
  );

  test('a deploy whose runner was killed: `doctor` tells of it, `recover` stops it', async ({ world }) => {
    const halt = world.halt('deploy');
    world.settings({ deploy: { command: halt.shell } });
    await world.issue({});
    const runner = world.run('--until-idle');
    const [pid] = await halt.arrived();
    await expectStopped(world, runner, pid!);
  });

  test('the workspace is gone: it is made anew from what was saved, and the coder is told what is lost (dispatch 38)', async ({
    world,
  }) => {
    const { issue, halt } = await cutOff(world);
    const { workspace } = await world.task(issue);
    rmSync(workspace!, { recursive: true });
    halt.lift();
    await world.settle();
    await expectMergedOnce(world, issue);
    const lost = (await world.events()).find(({ type }) => type === 'workspace_lost');
    expect(lost?.data).toMatchObject({ why: expect.stringContaining('What was not committed is lost') });
  });

  test.for(['clone', 'worktree'])(
    'its folder was renamed meanwhile: it goes on in the same session (%s)',
    async (kind, { world }) => {
      world.settings({ workspace: { kind } });
      const { issue, halt } = await cutOff(world);
      const { roles } = await world.task(issue);
      await world.lookAway();
      const renamed = join(world.folder, 'renamed');
      renameSync(world.root, renamed);
      halt.lift();
      const runner = startProgram(['run', '--until-idle'], { cwd: renamed, env: world.env });
      world.atEnd(() => void runner.kill());
      expect((await runner.ended).code, runner.said()).toBe(0);
      renameSync(renamed, world.root);
      const recovered = (await world.events()).filter(({ type }) => type === 'recovered');
      // Let go, the agent may come to its end before the runner finds it.
      const plan = expect.stringMatching(/^(resume_session|take_up)$/);
      expect(recovered.map(({ data }) => data)).toMatchObject([{ plan }]);
      const merged = await expectMergedOnce(world, issue);
      expect(merged).toMatchObject({ turns: 1, sessionIds: [roles.coder.session] });
      expect(world.git('show', 'main:begun.txt'), 'what was not saved yet').toBe('begun\n');
    },
  );

  test('a copy of its folder leaves its tasks alone, and says how to go on', async ({ world }) => {
    const { issue, halt, pid } = await cutOff(world);
    await world.lookAway();
    const copy = join(world.folder, 'copy');
    cpSync(world.root, copy, { recursive: true });
    const inCopy = async (...args: string[]) => {
      const program = startProgram(args, { cwd: copy, env: world.env });
      return { ...(await program.ended), said: program.said() };
    };
    for (const command of ['run', 'recover']) {
      const { code, said } = await inCopy(command);
      expect(code).toBe(1);
      expect(said).toContain(`This is a copy of ${world.root}, which still exists`);
      expect(said).toContain('forge-loop restore --empty');
    }
    expect((await inCopy('doctor')).said).toContain('This is a copy');
    expect(isLiving(pid), 'what the original started').toBe(true);

    halt.lift();
    await world.settle();
    await expectMergedOnce(world, issue);
    expect((await inCopy('restore', '--empty')).code).toBe(0);
    expect(await inCopy('run', '--until-idle')).toMatchObject({ code: 0 });
  });

  test('its workspace was deleted while nobody was at work: made anew from its branch, and it goes on', async ({
    world,
  }) => {
    const halt = world.halt('turn');
    world.script({
      when: { role: 'coder', turn: 1 },
      steps: [{ write: { 'begun.txt': 'begun\n' } }, { shell: halt.shell }],
    });
    const issue = await world.issue({});
    const runner = world.run();
    await halt.arrived();
    await world.json('pause', String(issue));
    halt.lift();
    await world.event('hold_set', ({ reason }) => reason === 'operator_pause');
    runner.send('SIGTERM');
    await world.finished(runner, 3);
    const { workspace, roles } = await world.task(issue);
    rmSync(workspace!, { recursive: true });
    await world.json('resume', String(issue));
    await world.settle();
    expect(await expectMergedOnce(world, issue)).toMatchObject({
      turns: 2,
      sessionIds: [roles.coder.session],
    });
    expect((await world.events()).map(({ type }) => type)).toContain('workspace_lost');
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
    const { id, roles } = await world.task(issue);
    const sessionId = roles.coder.session;
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

  test('three interrupted turns in a row end nothing: it waits, and goes on in the same session (dispatch 38)', async ({
    world,
  }) => {
    const { issue, halt } = await cutOff(world);
    for (const times of [2, 3]) {
      const runner = world.run();
      await halt.arrived(times);
      await runner.kill();
    }
    const last = world.run('--until-idle');
    await halt.arrived(4);
    halt.lift();
    await world.finished(last);
    expect(await expectMergedOnce(world, issue)).toMatchObject({
      turns: 1,
      sessionIds: [expect.any(String)],
    });
    const coder = (await world.turns(issue)).filter(({ role }) => role === 'coder');
    expect(coder.map(({ status }) => status)).toEqual([
      'interrupted',
      'interrupted',
      'interrupted',
      'finished',
    ]);
  });
});

describe('WORKFLOW.md changes while a runner is at work (dispatch 4)', () => {
  test('more slots are used at once; a broken edit keeps the last good and is shown until it is fixed', async ({
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

  test('what a start would refuse is refused while it runs: no task is hurt, and mended it is taken up', async ({
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
    const good = world.read('WORKFLOW.md');
    world.settings({ agent: { kind: 'command', command: 'no-such-agent --go' } });
    const refused = await world.event('config_invalid');
    expect(refused.data.problem).toContain('agent.command: no-such-agent not found');
    expect((await world.status()).configProblem).toContain('no-such-agent');
    const { loop } = await world.json<{ loop: string[] }>('why');
    expect(loop.join()).toContain(
      "WORKFLOW.md can't be used: Not ready to run: agent.command: no-such-agent",
    );

    // The second turn begins under the settings that stayed in force.
    halt.lift();
    for (const issue of issues) await world.state(issue, 'merged');
    world.write('WORKFLOW.md', good);
    world.commit('Correct the agent');
    await world.event('config_reloaded', () => true, refused.seq);
    expect((await world.status()).configProblem).toBeNull();
    issues.push(await world.issue({ title: 'One more' }));
    await world.state(issues[2]!, 'merged');
    runner.send('SIGINT');
    await world.finished(runner);
    for (const issue of issues) await expectMergedOnce(world, issue);
  });

  test('what kept a runner from its settings is over with that runner', async ({ world }) => {
    const runner = world.run();
    await world.event('runner_started');
    await world.until('the runner to be seen', async () => (await world.status()).runners.length > 0);
    const good = world.read('WORKFLOW.md');
    world.write('WORKFLOW.md', good.replace('"scripted"', '"command"'));
    await world.event('config_invalid');
    expect((await world.status()).configProblem).toContain('agent.command is not set');
    await runner.kill();
    world.write('WORKFLOW.md', good);
    expect((await world.status()).configProblem).toBeNull();
    const next = world.run();
    await world.event('runner_started', () => true, (await world.event('config_invalid')).seq);
    expect((await world.status()).configProblem).toBeNull();
    next.send('SIGINT');
    await world.finished(next);
  });
});
