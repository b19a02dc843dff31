/** People and CI beside the loop: what they say reaches the coder's own session, and what they forbid does not merge. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import type { CostView } from '../../src/operations/cost.ts';
import { expectMergedOnce } from '../support/e2e/merged-once.ts';
import { test, type World } from '../support/e2e/world.ts';

const pullOf = async (world: World, issue: number): Promise<string> => String((await world.task(issue)).pull);

test('red CI: told to the same session with its log, and merged when it is green at the new head', async ({
  world,
}) => {
  world.settings({ merge: { required_checks: ['build'] } });
  world.script(
    {
      when: { role: 'coder', turn: 2 },
      steps: [
        {
          expectPrompt: {
            contains: ['CI failed', '`build` failed (step npm test)', 'EXPECTED-1-GOT-2'],
            excludes: ['BODY-OF-THE-ISSUE'],
          },
        },
        { append: { 'done-1.txt': 'mended\n' } },
      ],
    },
    { when: { role: 'coder' }, steps: [{ write: { 'done-1.txt': 'done\n' } }] },
  );
  world.write('ci.log', 'many lines\nEXPECTED-1-GOT-2\n');
  const issue = await world.issue({ body: 'It must contain `done`. BODY-OF-THE-ISSUE' });
  const runner = world.run('--until-idle');
  await world.event('verdict_recorded');
  const pull = await pullOf(world, issue);
  // Nothing was reported yet: approved, and still not merged.
  expect((await world.task(issue)).state).toBe('awaiting_critic');
  const why = await world.json<{ issues: { why: string }[] }>('why', String(issue));
  expect(why.issues[0]?.why).toBe('awaiting_critic: approved; waiting for the checks build');

  const red = ['--state', 'red', '--step', 'npm test', '--log-file', join(world.root, 'ci.log')];
  await world.json('pull', 'check', pull, '--name', 'build', ...red);
  await world.event('feedback_acknowledged', ({ ids }) => ids[0]!.startsWith('check:build@'));
  await world.event('verdict_recorded', ({ round }) => round === 2);
  await world.json('pull', 'check', pull, '--name', 'build', '--state', 'green');
  world.git('clean', '-fq', 'ci.log');
  await world.finished(runner);

  const task = await expectMergedOnce(world, issue);
  expect(task).toMatchObject({ turns: 2, criticRounds: 2 });
  expect(task.sessionIds).toHaveLength(1);
  expect(world.read('done-1.txt')).toBe('done\nmended\n');
});

test('a review and a comment on a line: one prompt to the same session, each answered with the new head', async ({
  world,
}) => {
  const judging = world.halt('judging');
  world.script(
    {
      when: { role: 'critic', round: 1 },
      steps: [{ shell: judging.shell }, { answer: { verdict: 'APPROVE' } }],
    },
    {
      when: { role: 'coder', turn: 2 },
      steps: [
        {
          expectPrompt: {
            contains: [
              'Öperator O’Hara asks for changes:',
              'ESC-TOO',
              'says at done-1.txt:1:',
              'NAME-IT-REVOKE',
            ],
            excludes: ['BODY-OF-THE-ISSUE', '/loop'],
          },
        },
        { append: { 'done-1.txt': 'ESC\n' } },
      ],
    },
    { when: { role: 'coder' }, steps: [{ write: { 'done-1.txt': 'done\n' } }] },
  );
  const issue = await world.issue({ body: 'It must contain `done`. BODY-OF-THE-ISSUE' });
  const runner = world.run('--until-idle');
  await judging.arrived();
  const pull = await pullOf(world, issue);
  await world.json('pull', 'review', pull, '--request-changes', '--body', 'ESC-TOO');
  await world.json(
    'pull',
    'comment',
    pull,
    '--file',
    'done-1.txt',
    '--line',
    '1',
    '--body',
    'NAME-IT-REVOKE',
  );
  judging.lift();
  await world.finished(runner);

  const task = await expectMergedOnce(world, issue);
  expect(task).toMatchObject({ turns: 2 });
  expect(task.sessionIds).toHaveLength(1);
  const [said] = world.pulls(issue);
  const answer = `Addressed in \`${task.headSha!.slice(0, 10)}\`.`;
  expect(said!.split(answer)).toHaveLength(3);
  expect(said).toContain('on done-1.txt:1: NAME-IT-REVOKE');
});

test('/loop hold and /loop resume in comments are obeyed and answered, once', async ({ world }) => {
  const working = world.halt('working');
  world.script({
    when: { role: 'coder' },
    steps: [{ shell: working.shell }, { write: { 'done-1.txt': 'done\n' } }],
  });
  const issue = await world.issue({});
  const runner = world.run('--until-idle');
  await working.arrived();
  await world.json('issue', 'comment', String(issue), '--body', '/loop hold');
  await world.event('command_answered', ({ command }) => command === 'hold');
  working.lift();
  await world.finished(runner, 3);
  expect(await world.task(issue)).toMatchObject({ hold: { reason: 'operator_pause' } });

  await world.json('issue', 'comment', String(issue), '--body', 'Good.\n\n/loop resume');
  await world.settle();
  await expectMergedOnce(world, issue);
  const comments = world.comments(issue);
  expect(comments.split('`/loop resume` continues.')).toHaveLength(2);
  expect(comments.split('Continuing (was held: paused by Öperator O’Hara).')).toHaveLength(2);
  const asked = (await world.events()).filter((one) => one.type === 'request_made' && one.task !== null);
  expect(asked.map(({ data }) => data)).toEqual([
    { kind: 'pause', by: 'Öperator O’Hara' },
    { kind: 'resume', by: 'Öperator O’Hara' },
  ]);
});

describe('the budget of the loop', () => {
  test('stops every turn in flight, holds the loop, and lets the same sessions go on when it is raised', async ({
    world,
  }) => {
    world.settings({ budget: { usd: 100, loop: { usd: 1 } } });
    const spending = world.halt('spending');
    world.script(
      {
        when: { issue: 1, role: 'coder', turn: 1 },
        steps: [{ usageNow: { costUsd: 0.1 } }, { hang: true }],
      },
      {
        when: { issue: 2, role: 'coder', turn: 1 },
        steps: [{ shell: spending.shell }, { usageNow: { costUsd: 0.95 } }, { hang: true }],
      },
    );
    const first = await world.issue({});
    const second = await world.issue({});
    const runner = world.run('--until-idle');
    await spending.arrived();
    await world.event('turn_started', (_data, { task }) => task !== null);
    await world.until(
      'the first to have spent',
      async () => (await (await world.store()).usage()).length > 0,
    );
    spending.lift();
    await world.finished(runner, 3);
    for (const issue of [first, second])
      expect(await world.task(issue)).toMatchObject({ state: 'running', turns: 0, hold: null });
    const stopped = (await world.events()).filter((one) => one.type === 'turn_completed');
    expect(stopped.map(({ data }) => (data as { code: string }).code)).toEqual([
      'out_of_budget',
      'out_of_budget',
    ]);
    const status = await world.status();
    expect(status.loopLimit).toMatchObject({ scope: 'loop', until: null });
    expect(status.loopLimit?.text).toContain('$1.05 of $1.00 spent — raise budget.loop');
    expect((await world.json<{ loop: string[] }>('why')).loop[0]).toContain(
      'the budget of the loop is spent',
    );
    const warned = (await world.events()).filter((one) => one.type === 'budget_warned');
    expect(warned.map(({ data }) => (data as { scope: string }).scope)).toEqual(['loop']);

    const sessions = (await world.task(first)).sessionIds;
    world.script();
    world.settings({ budget: { usd: 100, loop: { usd: 10 } } });
    await world.settle();
    expect((await expectMergedOnce(world, first)).sessionIds).toEqual(sessions);
    await expectMergedOnce(world, second);
  });

  test('that of the day is waited for, said, and raised while the runner waits; cost adds it all up', async ({
    world,
  }) => {
    world.env.TZ = whereItIsNoon();
    world.settings({ agent: { max_concurrent: 1 }, budget: { day: { usd: 1 } } });
    world.script(
      {
        when: { role: 'critic' },
        steps: [{ usage: { input: 100, output: 10, costUsd: 0.25 } }, { answer: { verdict: 'APPROVE' } }],
      },
      {
        when: { issue: 1, role: 'coder' },
        steps: [{ write: { 'done-1.txt': 'done\n' } }, { usage: { input: 900, output: 50, costUsd: 1 } }],
      },
      {
        when: { issue: 2, role: 'coder' },
        steps: [{ write: { 'done-2.txt': 'done\n' } }, { usage: { input: 400, output: 20, costUsd: 0.5 } }],
      },
    );
    const first = await world.issue({});
    const second = await world.issue({});
    const runner = world.run('--until-idle');
    await world.event('turn_completed');
    await world.until('the day to be spent', async () => (await world.status()).loopLimit !== null);
    const status = await world.status();
    expect(status.loopLimit).toMatchObject({ scope: 'day' });
    expect(Date.parse(status.loopLimit!.until!)).toBeGreaterThan(Date.now());
    expect(status.loopLimit!.text).toContain('$1.00 of $1.00 spent');
    expect((await world.json<{ loop: string[] }>('why')).loop[0]).toContain('the budget of the day is spent');

    world.settings({ agent: { max_concurrent: 1 }, budget: { day: { usd: 10 } } });
    await world.finished(runner);
    for (const issue of [first, second]) await expectMergedOnce(world, issue);
    const cost = await world.json<CostView>('cost', '--by', 'role');
    expect(cost.lines.map(({ key, costUsd }) => [key, costUsd])).toEqual([
      ['coder', 1.5],
      ['critic', 0.5],
    ]);
    expect(cost.merged).toEqual({ pulls: 2, costUsd: 2, perPullUsd: 1, allInPerPullUsd: 1, complete: true });
    expect(cost.abandoned).toMatchObject({ tasks: 0, share: 0 });
  });

  test('a task that nears its own limit says so on its issue, once', async ({ world }) => {
    world.settings({ budget: { usd: 1, warn_turn_usd: 0.5 } });
    world.script(
      { when: { role: 'critic' }, steps: [{ usage: { costUsd: 0.01 } }, { answer: { verdict: 'APPROVE' } }] },
      {
        when: { role: 'coder' },
        steps: [
          { usageNow: { costUsd: 0.85 } },
          { usageNow: { costUsd: 0.9 } },
          { write: { 'done-1.txt': 'done\n' } },
          { usage: { costUsd: 0.9 } },
        ],
      },
    );
    const issue = await world.issue({});
    await world.settle();
    await expectMergedOnce(world, issue);
    expect(world.comments(issue).match(/Budget nearly spent: \$0\.\d+ of \$1\.00 spent\./g)).toHaveLength(1);
    const log = readFileSync(join(world.root, '.forge', 'logs', 'runner.log'), 'utf8');
    expect(log).toMatch(/the budget of #1 is nearly spent: \$0\.\d+ of \$1\.00 spent/);
    expect(log).toContain('#1 turn 1 cost $0.90, more than $0.50 (`budget.warn_turn_usd`)');
    expect(log).not.toContain('#1 critic round 1 cost');
  });
});

/** A zone of whole hours in which no midnight is near: the day must not end while a test waits for it to be spent. */
function whereItIsNoon(): string {
  const east = 12 - new Date().getUTCHours();
  return `Etc/GMT${east > 0 ? '-' : '+'}${Math.abs(east)}`;
}

test('`run --issue` and `run --max-issues` take up no other issue, and end', async ({ world }) => {
  const issues: number[] = [];
  for (const title of ['One', 'Two', 'Three']) issues.push(await world.issue({ title }));
  const [one, two, three] = issues as [number, number, number];
  expect((await world.cli('run', '--dry-run')).stdout).toMatch(/in this order:\n {2}#1 .*One\n {2}#2 .*Two/);
  await world.finished(world.run('--issue', String(two)));
  await expectMergedOnce(world, two);
  await expect(world.task(one)).rejects.toThrow('no task');
  await world.finished(world.run('--max-issues', '1'));
  await expectMergedOnce(world, one);
  await expect(world.task(three)).rejects.toThrow('no task');
});

test('an issue file that can’t be read is named by run and its log once for each change; the others are worked on', async ({
  world,
}) => {
  const issue = await world.issue({});
  const broken = '.forge/issues/0007-broken.md';
  world.write(broken, '---\ntitle: [x\n---\nText.\n');
  const runner = world.run();
  await world.event('issues_unreadable', ({ problems }) => problems.length === 1);
  await world.state(issue, 'merged');
  world.write(broken, '---\ntitle: Mended\n---\nText.\n');
  await world.event('issues_unreadable', ({ problems }) => problems.length === 0);
  runner.send('SIGINT');
  const { stdout } = await world.finished(runner);
  const named = /0007-broken\.md:2: the front matter is not valid YAML/g;
  expect(stdout.match(named)).toHaveLength(1);
  expect(stdout).toContain('everything can be read again');
  expect(world.read('.forge/logs/runner.log').match(named)).toHaveLength(1);
});
