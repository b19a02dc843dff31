/** Issues that say too little: lint, the specifier's turn with a real process, a proposal, a refusal, a kill. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { expectMergedOnce } from '../support/e2e/merged-once.ts';
import { isLiving } from '../support/e2e/proc.ts';
import { type Rule, test, type World } from '../support/e2e/world.ts';

const THIN = { title: 'Add the file', body: 'We need `done.txt` here.' };
const VAGUE = { title: 'The file', body: 'Customers ask for it.' };
const EXPANSION = {
  decision: 'expand',
  problem: 'THE-PROBLEM: the file is not there.',
  criteria: [{ text: 'THE-CRITERION: a file done-1.txt exists', verify: 'ls done-1.txt' }],
};
const judged = { criteria: [{ id: 's1', met: 'met', evidence: 'done-1.txt is there' }] };
const critic: Rule = {
  when: { role: 'critic' },
  steps: [{ answer: { verdict: 'APPROVE', findings: [], ...judged } }],
};
const specifier = (...steps: Rule['steps']): Rule => ({ when: { role: 'specifier' }, steps });

const prompts = (world: World, task: string, role: string): string[] =>
  readdirSync(world.logs(task))
    .filter((name) => name.startsWith(`${role}-`) && name.endsWith('.prompt.md'))
    .map((name) => readFileSync(join(world.logs(task), name), 'utf8'));

test('a thin issue is expanded, on a copy of trunk without a way back, and merged with its specification', async ({
  world,
}) => {
  world.script(
    specifier(
      {
        shell: `[ -e README.md ] && git log -1 && [ -z "$(git remote)" ] && PATH=\${PATH#*:} && git update-ref -d refs/heads/main`,
      },
      { shell: 'echo scribbled > README.md' },
      { expectPrompt: { contains: ['We need `done.txt` here.'] } },
      { answer: EXPANSION },
      { usage: { input: 1000, output: 10, costUsd: 0.5 } },
    ),
    critic,
  );
  expect(
    (await world.cli('issue', 'lint', '--file', join(world.root, 'README.md'))).code,
    'a title alone',
  ).toBe(3);
  const issue = await world.issue(THIN);
  await world.settle();

  const task = await expectMergedOnce(world, issue);
  expect(task).toMatchObject({ turns: 1, spec: { status: 'adopted' }, contract: { body: THIN.body } });
  expect(task.contract.criteria).toEqual([
    { id: 's1', text: 'THE-CRITERION: a file done-1.txt exists', verify: null },
  ]);
  expect(world.read('README.md'), 'what the specifier wrote is gone').toBe('# A project\n');
  for (const role of ['coder', 'critic'] as const)
    expect(prompts(world, task.id, role)[0], role).toMatch(
      /<<<issue[\s\S]*We need `done.txt` here\.[\s\S]*<<<specification[\s\S]*THE-CRITERION/,
    );
  expect(world.comments(issue)).toContain('THE-CRITERION');
  const spend = await (await world.store()).spend(task.id);
  expect(spend.costUsd, 'its money is the task’s').toBeGreaterThanOrEqual(0.5);
});

test('a proposal holds the task until somebody agrees', async ({ world }) => {
  world.script(specifier({ answer: EXPANSION }), critic);
  const issue = await world.issue(VAGUE);
  await world.settle(3);
  const held = await world.task(issue);
  expect(held).toMatchObject({
    state: 'queued',
    hold: { reason: 'spec_proposed' },
    turns: 0,
    workspace: null,
  });
  const { issues } = await world.json<{ issues: { why: string }[] }>('why', String(issue));
  expect(issues[0]?.why).toContain('held (spec_proposed)');
  expect(issues[0]?.why).toContain(`task approve ${issue}`);

  await world.json('task', 'approve', String(issue));
  await world.settle();
  const task = await expectMergedOnce(world, issue);
  expect(task).toMatchObject({ id: held.id, spec: { status: 'adopted', by: 'Öperator O’Hara' } });
  expect(task.contract.criteria[0]).toMatchObject({ verify: 'ls done-1.txt' });
});

test('declined: questions and a label, no work tree; an edit makes it eligible at once', async ({
  world,
}) => {
  world.script(specifier({ answer: { decision: 'decline', questions: ['WHICH-FILE?'] } }));
  const issue = await world.issue(VAGUE);
  await world.settle(4);
  const task = await world.task(issue);
  expect(task).toMatchObject({ state: 'abandoned', reason: 'spec_rejected', turns: 0, workspace: null });
  expect(await world.labels(issue)).toEqual(['loop:needs-spec']);
  expect(world.comments(issue)).toContain('- WHICH-FILE?');
  const { issues } = await world.json<{ issues: { why: string }[] }>('why', String(issue));
  expect(issues[0]?.why).toContain('WHICH-FILE?');

  world.editIssue(issue, (text) => text.replace(VAGUE.body, 'It must contain `done`.'));
  await world.json('issue', 'ready', String(issue));
  await world.settle();
  expect(await world.task(issue)).toMatchObject({ attempt: 2, state: 'merged', spec: null });
  expect(await world.labels(issue)).toEqual(['loop:merged']);
});

test('the runner is killed in the specifier’s turn: its process is stopped, the turn is taken again, once', async ({
  world,
}) => {
  const halt = world.halt('specifier');
  world.script(specifier({ shell: halt.shell }, { answer: EXPANSION }), critic);
  const issue = await world.issue(THIN);
  const runner = world.run('--until-idle');
  await halt.arrived();
  await runner.kill();
  const second = world.run('--until-idle');
  const [orphan] = await halt.arrived(2);
  expect(isLiving(orphan!), 'the first one is gone before the second begins').toBe(false);
  halt.lift();
  await world.finished(second);

  await expectMergedOnce(world, issue);
  const turns = (await world.turns(issue)).filter((turn) => turn.role === 'specifier');
  expect(turns.map(({ status, turn }) => [status, turn])).toEqual([
    ['interrupted', 1],
    ['finished', 1],
  ]);
  expect(world.comments(issue).split('follows this specification'), 'posted once').toHaveLength(2);
});

test('nothing is spent where the rules are sure', async ({ world }) => {
  world.script(specifier({ fail: { message: 'nobody should have asked' } }));
  const sure = await world.issue({});
  const taste = await world.issue({ title: 'Make it nicer', body: '' });
  expect((await world.cli('issue', 'lint', String(sure))).code).toBe(0);
  const lint = await world.cli('issue', 'lint', String(taste), '--json');
  expect(lint.code).toBe(1);
  expect(JSON.parse(lint.stdout)).toMatchObject({ decision: 'declined', rules: [{ rule: 'taste' }] });
  await world.settle(4);
  const { task } = (await (await world.store()).tasks({ issue: sure }))[0]!;
  expect(task.state).toBe('merged');
  expect((await world.turns(sure)).map(({ role }) => role)).toEqual(['coder', 'critic']);
  expect(await (await world.store()).tasks({ issue: taste })).toEqual([]);
});
