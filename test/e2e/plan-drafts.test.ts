/** Plans that are kept: drafted from an issue, captured from an answer, edited, approved, started. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { type Rule, type Step, test, type World } from '../support/e2e/world.ts';
import { filledPlan } from '../support/plan-play.ts';

const PLAN = filledPlan('auth-refactor');
const CLEAN = { clean: true, findings: [], summary: { done: 'done', deviations: [], followUps: [] } };

const planner = (round: number, ...steps: Step[]): Rule => ({ when: { role: 'planner', round }, steps });
const auditor: Rule = { when: { role: 'auditor' }, steps: [{ answer: CLEAN }] };

interface Listed {
  id: string;
  name: string;
  status: string;
  source: { kind: string };
  loops: string[];
}
const plans = (world: World, ...args: string[]) => world.json<Listed[]>('plan', 'list', ...args);

test('a plan is drafted from an issue, edited, approved and worked through', async ({ world }) => {
  world.script(
    planner(
      1,
      { expectPrompt: { contains: ['LOGIN-IS-SLOW', 'issue #1'] } },
      { say: PLAN.replaceAll('### Verification', '### Hopes') },
    ),
    planner(
      2,
      { expectPrompt: { contains: ['milestone 1 has no `### Verification`'], excludes: ['LOGIN-IS-SLOW'] } },
      { say: `Here it is.\n\n${PLAN}` },
    ),
    auditor,
  );
  const issue = await world.issue({ body: 'LOGIN-IS-SLOW', ready: false });
  const asked = await world.json<{ task: string }>('plan', 'draft', `${issue}`);
  expect(asked).toMatchObject({ issue, already: false, runnerAlive: false });
  expect(await world.json('plan', 'draft', `${issue}`), 'asked twice').toMatchObject({
    task: asked.task,
    already: true,
  });
  await world.settle();

  const { task } = (await (await world.store()).task(asked.task))!;
  expect(task).toMatchObject({ state: 'completed', workspace: null, turns: 0, issue: null });
  const turns = await (await world.store()).turns(task.id);
  expect(turns.map(({ role, prompt, status }) => [role, prompt, status])).toEqual([
    ['planner', 'plan_draft', 'finished'],
    ['planner', 'plan_draft_again', 'finished'],
  ]);
  expect(new Set(turns.map(({ sessionId }) => sessionId)).size, 'one conversation').toBe(1);
  expect((await (await world.store()).spend(task.id)).costUsd).toBeGreaterThan(0);
  expect(world.git('branch', '--list', 'loop/*')).toBe('');
  expect(await world.labels(issue), 'nothing is said on the issue').toEqual([]);
  const [draft] = await plans(world);
  expect(draft).toMatchObject({ name: 'auth-refactor', status: 'draft', source: { kind: 'draft', issue } });

  const refused = await world.cli('loop', 'start', '--plan', 'auth-refactor');
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('nobody has approved') });
  expect(refused.stderr).toContain(`plan approve ${draft!.id} --start`);
  expect((await world.cli('loop', 'start')).stderr).toContain('plan approve auth-refactor --start');

  world.env.EDITOR = 'sed -i "s/What is built, and why/Faster logins/"';
  const edited = await world.cli('plan', 'edit', 'auth-refactor');
  expect(edited.stdout).toContain(`the text before (${draft!.id}) is archived`);
  const [current, ...others] = await plans(world);
  expect(others).toEqual([]);
  expect(current).toMatchObject({ status: 'draft', source: { kind: 'edited', from: draft!.id } });
  expect(await plans(world, '--archived')).toMatchObject([
    { id: draft!.id, status: 'archived' },
    { id: current!.id, status: 'draft' },
  ]);
  expect((await world.cli('plan', 'show', 'auth-refactor')).stdout).toContain('Faster logins');

  const approved = await world.json<{ started: { name: string; already: boolean } }>(
    'plan',
    'approve',
    'auth-refactor',
    '--start',
  );
  expect(approved.started).toMatchObject({ name: 'auth-refactor', already: false });
  await world.settle();
  const [loop] = await world.json<{ status: string; milestones: { done: number } }[]>('loop', 'status');
  expect(loop).toMatchObject({ name: 'auth-refactor', status: 'completed', milestones: { done: 2 } });
  expect(await plans(world)).toMatchObject([
    { id: current!.id, status: 'approved', loops: ['auth-refactor'] },
  ]);
});

test('a planner that mends nothing is asked three times, then the task ends with what is wrong', async ({
  world,
}) => {
  world.script({ when: { role: 'planner' }, steps: [{ say: 'I would rather talk about it.' }] });
  const issue = await world.issue({ ready: false });
  const { task: id } = await world.json<{ task: string }>('plan', 'draft', `${issue}`);
  await world.settle(4);
  const { task } = (await (await world.store()).task(id))!;
  expect(task).toMatchObject({ state: 'abandoned', reason: 'spec_rejected' });
  expect(task.why).toContain('the start marker is missing');
  expect(await (await world.store()).turns(id)).toHaveLength(3);
  expect(await plans(world, '--archived')).toEqual([]);
});

test('what an agent’s answer holds is captured once, and loop start takes it', async ({ world }) => {
  world.script(
    { when: { role: 'coder', issue: 1 }, steps: [{ write: { 'done-1.txt': 'done' } }, { say: PLAN }] },
    auditor,
  );
  expect(await world.cli('loop', 'start')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('There is no plan to start'),
  });
  const issue = await world.issue({});
  await world.settle();
  const { id: task } = await world.task(issue);
  const source = { kind: 'captured', task, role: 'coder', turn: 1 };
  expect(await plans(world)).toMatchObject([{ name: 'auth-refactor', status: 'captured', source }]);

  const started = await world.cli('loop', 'start');
  expect(started.stdout).toMatch(
    new RegExp(`^Plan auth-refactor \\([0-9a-f]{8}\\), captured from the coder of task ${task}, turn 1\\.\n`),
  );
  expect((await world.cli('loop', 'start')).code, 'it was started').toBe(1);
  world.write('plan.md', PLAN);
  expect(await world.json('loop', 'start', join(world.root, 'plan.md'))).toMatchObject({
    already: true,
    plan: null,
  });
});

test('an edit that is no plan is not stored, and the text is kept', async ({ world }) => {
  world.write('plan.md', PLAN);
  await world.json('loop', 'start', join(world.root, 'plan.md'));
  expect(await plans(world)).toMatchObject([
    {
      status: 'approved',
      source: { kind: 'file', file: join(world.root, 'plan.md') },
      loops: ['auth-refactor'],
    },
  ]);
  world.env.EDITOR = 'sed -i /forge-plan:end/d';
  const { code, stderr } = await world.cli('plan', 'edit', 'auth-refactor');
  expect(code).toBe(1);
  expect(stderr).toContain('the plan has no end');
  expect(stderr).toMatch(/Your text is kept: .*plan edit [0-9a-f]{8} --file .*auth-refactor\.md/);
  expect(await plans(world, '--archived')).toHaveLength(1);

  const better = join(world.folder, 'better.md');
  writeFileSync(better, PLAN);
  expect((await world.cli('plan', 'edit', 'auth-refactor', '--file', better)).stdout).toContain(
    'Nothing changed',
  );
  expect(await world.cli('plan', 'show', 'nothing')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('Known: auth-refactor'),
  });
  delete world.env.EDITOR;
  expect((await world.cli('plan', 'edit', 'auth-refactor')).stderr).toContain('$EDITOR is not set');
});

test('a runner that dies in the planner’s turn: the next one asks again', async ({ world }) => {
  const halt = world.halt('planner');
  world.script({ when: { role: 'planner' }, steps: [{ shell: halt.shell }, { say: PLAN }] });
  const issue = await world.issue({ ready: false });
  const { task } = await world.json<{ task: string }>('plan', 'draft', `${issue}`);
  const runner = world.run('--until-idle');
  await halt.arrived();
  await runner.kill();
  const second = world.run('--until-idle');
  await halt.arrived(2);
  halt.lift();
  await world.finished(second);
  expect((await (await world.store()).turns(task)).map(({ status }) => status)).toEqual([
    'interrupted',
    'finished',
  ]);
  expect(await plans(world)).toMatchObject([{ status: 'draft' }]);
});
