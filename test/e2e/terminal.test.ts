/** What becomes of a runner when whoever watched it is gone: a closed window, a pipe that was left. */
import { spawn, spawnSync } from 'node:child_process';
import { expect } from 'vitest';
import { quoted } from '../support/e2e/halt.ts';
import { expectMergedOnce } from '../support/e2e/merged-once.ts';
import { PROGRAM } from '../support/e2e/program.ts';
import { test, type World } from '../support/e2e/world.ts';

function waiting(world: World) {
  const halt = world.halt('turn');
  world.script({
    when: { role: 'coder' },
    steps: [{ shell: halt.shell }, { shell: 'echo done > done-$FORGE_ISSUE.txt' }],
  });
  return halt;
}

/** A terminal of its own with the runner in it. */
function openWindow({ root, env, atEnd }: World) {
  const command = [process.execPath, PROGRAM, 'run'].map(quoted).join(' ');
  const window = spawn('script', ['-qefc', command, '/dev/null'], { cwd: root, env, stdio: 'ignore' });
  const close = (): void => void window.kill('SIGKILL');
  atEnd(close);
  return { close };
}

test('a terminal that closes stops the runner in peace, and the next run goes on from there', async ({
  world,
}) => {
  const halt = waiting(world);
  const issue = await world.issue({});
  const window = openWindow(world);
  await halt.arrived();
  window.close();
  halt.lift();
  const { data } = await world.event('runner_stopped');
  expect(data.why).toBe('its terminal was closed (SIGHUP)');
  expect(await world.turns(issue)).toMatchObject([{ status: 'finished' }]);
  expect(await world.task(issue)).toMatchObject({ state: 'running', turns: 1, gate: null });
  await world.until('it to let go', async () => (await (await world.store()).leases()).length === 0);

  await world.settle();
  expect(await expectMergedOnce(world, issue)).toMatchObject({ turns: 1 });
});

test('without a terminal a runner outlives SIGHUP and everybody who listened to it', async ({ world }) => {
  const halt = waiting(world);
  const issue = await world.issue({});
  const runner = world.run('--until-idle');
  await halt.arrived();
  runner.leave();
  runner.send('SIGHUP');
  halt.lift();
  await world.finished(runner);
  expect(await expectMergedOnce(world, issue)).toMatchObject({ turns: 1 });
});

for (const command of ['--help', '--version', 'status', 'no-such-command'])
  test(`${command} into a pipe that nobody reads is no crash`, ({ world: { root, env } }) => {
    const line = [process.execPath, PROGRAM, command].map(quoted).join(' ');
    // What it says of itself goes past the pipe.
    const { stdout } = spawnSync('sh', ['-c', `{ ${line} 2>&3 | true; } 3>&1`], {
      cwd: root,
      env,
      encoding: 'utf8',
    });
    expect(stdout).not.toMatch(/EPIPE|node:/);
  });
