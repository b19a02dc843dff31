/** After the merge: trunk is deployed once for several merges, a failure holds the loop, a hook runs once. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { quoted } from '../support/e2e/halt.ts';
import { expectMergedOnce } from '../support/e2e/merged-once.ts';
import { test, type World } from '../support/e2e/world.ts';

/** Writes down what it deploys: the sha it was told, and whether its tree is that of the sha. */
function deployTo(world: World, before = ''): string {
  return `${before} echo "$FORGE_SHA $(ls done-*.txt | wc -l) \${SECRET:-none}" >> ${quoted(join(world.folder, 'deployed'))}`;
}
const deployed = (world: World): string[] => {
  const path = join(world.folder, 'deployed');
  return existsSync(path) ? readFileSync(path, 'utf8').trim().split('\n') : [];
};

test('merges that come while one is deployed lead to one more deploy, of the newest trunk', async ({
  world,
}) => {
  const halt = world.halt('deploy');
  world.settings({ deploy: { command: deployTo(world, `${halt.shell};`) } });
  const first = await world.issue({});
  const runner = world.run('--until-idle');
  await halt.arrived();
  await world.state(first, 'merged');
  const issues = [await world.issue({}), await world.issue({})];
  for (const issue of issues) await world.state(issue, 'merged');
  halt.lift();
  await world.finished(runner);
  const trunk = world.git('rev-parse', 'main').trim();
  const { mergedSha } = await world.task(first);
  expect(deployed(world)).toEqual([`${mergedSha} 1 none`, `${trunk} 3 none`]);
  expect((await world.status()).deploy).toMatchObject({
    deployedSha: trunk,
    last: { sha: trunk, status: 'succeeded' },
  });
});

test('a deploy that fails holds the loop, says so, and `resume` tries again', async ({ world }) => {
  const flag = join(world.folder, 'mended');
  const command = `[ -e ${quoted(flag)} ] || { echo no route to host; exit 7; }; ${deployTo(world)}`;
  world.settings({ deploy: { command, halt_on_failure: true, pass_env: ['SECRET'] } });
  world.env.SECRET = 'for the deploy';
  const first = await world.issue({});
  const { stderr } = await world.settle(3);
  await expectMergedOnce(world, first);
  expect(stderr).toMatch(/the deploy of \w+ failed: exit 7: no route to host.*forge-loop resume/);
  const second = await world.issue({});
  await world.settle(3);
  await expect(world.task(second), 'nothing new is begun').rejects.toThrow('has no task');
  const { loop } = await world.json<{ loop: string[] }>('why');
  expect(loop).toContainEqual(expect.stringContaining('no route to host'));
  expect((await world.status()).waits).toMatchObject([
    { reason: 'deploy_failed', text: expect.stringContaining('failed: exit 7') },
  ]);

  await world.json('resume');
  await world.settle(3);
  expect(await world.events().then((all) => all.filter((one) => one.type === 'deploy_started'))).toHaveLength(
    2,
  );
  world.write('../mended', '');
  await world.json('resume');
  await world.settle();
  await expectMergedOnce(world, second);
  const trunk = world.git('rev-parse', 'main').trim();
  expect(deployed(world).at(-1)).toBe(`${trunk} 2 for the deploy`);
  expect(await world.status()).toMatchObject({ waits: [], deploy: { last: { status: 'succeeded' } } });
});

test('a runner killed in the middle of a deploy: known, stopped, not repeated by itself', async ({
  world,
}) => {
  const halt = world.halt('deploy');
  world.settings({ deploy: { command: deployTo(world, `${halt.shell};`), halt_on_failure: true } });
  const issue = await world.issue({});
  const runner = world.run('--until-idle');
  await halt.arrived();
  await world.state(issue, 'merged');
  runner.send('SIGKILL');
  await runner.ended;
  const { stderr } = await world.settle(3);
  expect(stderr).toMatch(/interrupted: its runner died/);
  expect([halt.arrivals(), deployed(world)]).toEqual([1, []]);
  await world.json('resume');
  halt.lift();
  await world.settle();
  expect(deployed(world)).toHaveLength(1);
});

test('after_merge runs once, in a tree of what landed', async ({ world }) => {
  const traces = quoted(join(world.folder, 'deployed'));
  world.settings({
    hooks: {
      after_merge: `echo "$FORGE_SHA $(cat done-*.txt) $(git rev-parse HEAD main | uniq)" >> ${traces}`,
    },
  });
  const issue = await world.issue({});
  await world.settle();
  const task = await expectMergedOnce(world, issue);
  const [said, ...more] = deployed(world);
  expect(more).toEqual([]);
  expect(said, 'HEAD and trunk are what landed').toBe(`${task.mergedSha} done ${task.mergedSha}`);
  expect(await world.event('hook_completed')).toMatchObject({ data: { problem: null } });
});
