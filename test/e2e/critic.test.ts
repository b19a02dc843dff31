/** The critic and the people who stand in for it: revision, rounds, refusal, and what must never merge. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { quoted } from '../support/e2e/halt.ts';
import { expectMergedOnce } from '../support/e2e/merged-once.ts';
import { APPROVE, type Rule, test, type World } from '../support/e2e/world.ts';

const changes = (message: string) => ({
  answer: {
    verdict: 'REQUEST_CHANGES',
    findings: [{ severity: 'sev2', file: 'done-1.txt', line: 1, message }],
  },
});

test('REQUEST_CHANGES: the same session goes on in the same worktree, and is told the finding only (dispatch 29)', async ({
  world,
}) => {
  const places = join(world.folder, 'places');
  const remember = { shell: `echo "$FORGE_SESSION_ID $FORGE_RESUME $PWD" >> ${quoted(places)}` };
  world.script(
    { when: { role: 'critic', round: 1 }, steps: [changes('FINDING-OF-THE-CRITIC')] },
    {
      when: { role: 'coder', round: 2 },
      steps: [
        { expectPrompt: { contains: ['FINDING-OF-THE-CRITIC'], excludes: ['BODY-OF-THE-ISSUE'] } },
        remember,
        { append: { 'done-1.txt': 'more\n' } },
      ],
    },
    { when: { role: 'coder' }, steps: [remember, { write: { 'done-1.txt': 'done\n' } }] },
  );
  const issue = await world.issue({ body: 'It must contain `done`. BODY-OF-THE-ISSUE' });
  await world.settle();
  const task = await expectMergedOnce(world, issue);
  expect(task).toMatchObject({ turns: 2, criticRounds: 2 });
  const [first, second] = readFileSync(places, 'utf8').trim().split('\n');
  const [session, , ...place] = first!.split(' ');
  expect(second).toBe([session, '1', ...place].join(' '));
  expect(task.sessionIds).toEqual([session]);
  expect(world.read('done-1.txt')).toBe('done\nmore\n');
  const states = (await world.events()).flatMap((one) =>
    one.type === 'worker_state_transition' ? [one.data.to] : [],
  );
  expect(states).toEqual([
    'queued',
    'dispatched',
    'running',
    'awaiting_critic',
    'revising',
    'awaiting_critic',
    'merging',
    'merged',
  ]);
  expect(world.pulls(issue)[0]).toContain('FINDING-OF-THE-CRITIC');
});

test('REQUEST_CHANGES: the critic goes on in its own session at the same path, with the whole change of the new head', async ({
  world,
}) => {
  const places = join(world.folder, 'places');
  const remember = {
    shell: `echo "$FORGE_SESSION_ID $FORGE_RESUME $(wc -l < done-1.txt) $PWD" >> ${quoted(places)}`,
  };
  world.script(
    { when: { role: 'critic', round: 1 }, steps: [remember, changes('Say more')] },
    {
      when: { role: 'critic', round: 2 },
      steps: [
        {
          expectPrompt: {
            contains: ['has a new head', '+done', '+more', 'Say more', 'do not bind you'],
            excludes: ['BODY-OF-THE-ISSUE'],
          },
        },
        remember,
        APPROVE,
      ],
    },
    { when: { role: 'coder', round: 2 }, steps: [{ append: { 'done-1.txt': 'more\n' } }] },
    { when: { role: 'coder' }, steps: [{ write: { 'done-1.txt': 'done\n' } }] },
  );
  const issue = await world.issue({ body: 'It must contain `done`. BODY-OF-THE-ISSUE' });
  await world.settle();
  const task = await expectMergedOnce(world, issue);
  const [first, second] = readFileSync(places, 'utf8').trim().split('\n');
  const [session, ...rest] = first!.split(' ');
  const path = rest.slice(2).join(' ');
  expect(first).toBe(`${session} 0 1 ${path}`);
  expect(second).toBe(`${session} 1 2 ${path}`);
  expect(task.sessionIds).not.toContain(session);
});

test('always REQUEST_CHANGES: abandoned after the third, for a person to review (dispatch 30)', async ({
  world,
}) => {
  const round = (n: number): Rule => ({
    when: { role: 'critic', round: n },
    steps: [changes(`Objection number ${n}`)],
  });
  world.script(round(1), round(2), round(3), {
    when: { role: 'coder' },
    steps: [{ append: { 'done-1.txt': 'more\n' } }],
  });
  const issue = await world.issue({});
  await world.settle(4);
  const task = await world.task(issue);
  expect(task).toMatchObject({ state: 'abandoned', reason: 'max_critic_rounds', criticRounds: 3, turns: 3 });
  expect(task.sessionIds).toHaveLength(1);
  expect(await world.labels(issue)).toEqual(['loop:needs-review']);
  expect(existsSync(task.workspace!)).toBe(true);
  expectNothingLanded(world, issue);
});

test('BLOCK: abandoned once, with the operator’s label, worktree preserved (dispatch 31)', async ({
  world,
}) => {
  world.script({
    when: { role: 'critic' },
    steps: [
      { answer: { verdict: 'BLOCK', findings: [{ severity: 'sev1', message: 'This deletes data.' }] } },
    ],
  });
  const issue = await world.issue({});
  await world.settle(4);
  const task = await world.task(issue);
  expect(task).toMatchObject({ state: 'abandoned', reason: 'critic_blocked', turns: 1 });
  expect(await world.labels(issue)).toEqual(['loop:blocked']);
  expect(existsSync(task.workspace!)).toBe(true);
  const endings = (await world.events()).filter(
    (one) => one.type === 'worker_state_transition' && one.data.to === 'abandoned',
  );
  expect(endings).toHaveLength(1);
  expectNothingLanded(world, issue);
  await world.settle();
  expect(await world.task(issue), 'and it is not taken up again by itself').toMatchObject({ id: task.id });
});

test('an unusable report: one retry, then a visible backoff, no merge; judged when it is usable again (dispatch 33)', async ({
  world,
}) => {
  world.script({ when: { role: 'critic' }, steps: [{ say: 'Looks good to me!' }] });
  const issue = await world.issue({});
  const runner = world.run('--until-idle');
  const held = await world.event('hold_set', (data) => data.reason === 'retry_backoff');
  const before = (await world.events()).filter((one) => one.type === 'answer_unusable' && one.seq < held.seq);
  expect(before).toHaveLength(2);
  expect(await world.task(issue)).toMatchObject({ state: 'awaiting_critic', verdict: null });
  const { issues } = await world.json<{ issues: { why: string }[] }>('why', String(issue));
  expect(issues[0]?.why).toContain('the critic gave no usable report');
  expectNothingLanded(world, issue);

  world.script();
  await world.json('resume', String(issue));
  await world.finished(runner);
  expect(await expectMergedOnce(world, issue)).toMatchObject({ criticRounds: 1, turns: 1 });
});

describe('a critic that writes is an error, whatever it says (dispatch 35)', () => {
  const findPlace = { shell: 'pwd > "$HOME/../place"' };
  const coder: Rule = { when: { role: 'coder' }, steps: [findPlace, { write: { 'done-1.txt': 'done\n' } }] };

  test('into the workspace', async ({ world }) => {
    const evil = { shell: 'date +%N > "$(cat "$HOME/../place")/evil.txt"' };
    world.script(coder, { when: { role: 'critic' }, steps: [evil, APPROVE] });
    const issue = await world.issue({});
    const runner = world.run('--until-idle');
    await world.event('hold_set', (data) => data.reason === 'retry_backoff');
    const failures = (await world.events()).filter(
      (one) => one.type === 'turn_completed' && one.data.role === 'critic',
    );
    expect(failures.map((one) => one.data)).toMatchObject([
      { message: expect.stringContaining('changed while the critic was at work') },
      { message: expect.stringContaining('changed while the critic was at work') },
    ]);
    expect(await world.task(issue)).toMatchObject({ state: 'awaiting_critic', verdict: null });
    expectNothingLanded(world, issue);
    await runner.kill();
  });

  test('onto the branch', async ({ world }) => {
    const evil = `
      PATH=\${PATH#*:} # past the stand-ins
      cd ${quoted(world.root)}
      tree=$(git rev-parse main^{tree})
      git update-ref refs/heads/loop/1-write-the-file "$(git commit-tree "$tree" -p loop/1-write-the-file -m evil)"`;
    world.script(coder, { when: { role: 'critic' }, steps: [{ shell: evil }, APPROVE] });
    const issue = await world.issue({});
    const runner = world.run('--until-idle');
    await world.event('turn_completed', (data) =>
      data.message.includes('changed while the critic was at work'),
    );
    await world.event('hold_set');
    expect((await world.task(issue)).verdict).toBeNull();
    expectNothingLanded(world, issue);
    await runner.kill();
  });

  test('onto a branch or tag of the operator’s', async ({ world }) => {
    world.git('branch', 'mine');
    const evil = `
      PATH=\${PATH#*:} # past the stand-ins
      cd ${quoted(world.root)}
      git update-ref refs/heads/mine "$(git commit-tree main^{tree} -p mine -m "evil $(date +%N)")"
      git tag "evil-$(date +%N)" main`;
    world.script(coder, { when: { role: 'critic' }, steps: [{ shell: evil }, APPROVE] });
    const issue = await world.issue({});
    const runner = world.run('--until-idle');
    const { data } = await world.event('turn_completed', ({ role }) => role === 'critic');
    expect(data.message).toMatch(
      /refs\/heads\/mine, refs\/tags\/evil-\d+ changed while the critic was at work/,
    );
    await world.event('hold_set');
    expect((await world.task(issue)).verdict).toBeNull();
    expectNothingLanded(world, issue);
    await runner.kill();
  });

  test('into its own directory: that is a throwaway, and nothing of it is kept', async ({ world }) => {
    world.script(coder, {
      when: { role: 'critic' },
      steps: [{ write: { 'evil.txt': 'evil', 'done-1.txt': 'evil' } }, APPROVE],
    });
    const issue = await world.issue({});
    await world.settle();
    await expectMergedOnce(world, issue);
    expect(existsSync(join(world.root, 'evil.txt'))).toBe(false);
    expect(world.read('done-1.txt')).toBe('done\n');
  });
});

test('while one waits for its critic, another is dispatched into the freed slot (dispatch 34)', async ({
  world,
}) => {
  world.settings({ agent: { max_concurrent: 1 } });
  const halt = world.halt('critic');
  world.script({ when: { issue: 1, role: 'critic' }, steps: [{ shell: halt.shell }, APPROVE] });
  const [first, second] = [await world.issue({}), await world.issue({ title: 'Another one' })];
  const runner = world.run('--until-idle');
  await halt.arrived();
  await world.state(second, 'merged');
  expect(await world.task(first)).toMatchObject({ state: 'awaiting_critic' });
  halt.lift();
  await world.finished(runner);
  await expectMergedOnce(world, first);
  await expectMergedOnce(world, second);
});

describe('what is disabled waits for a person (dispatch 49)', () => {
  test('the critic: `task approve` approves exactly the head that was verified', async ({ world }) => {
    world.settings({ critic: { enabled: false } });
    const issue = await world.issue({});
    const { stderr } = await world.settle(3);
    expect(stderr).toContain(`forge-loop task approve ${issue}`);
    expect(await world.task(issue)).toMatchObject({
      state: 'awaiting_critic',
      hold: { reason: 'needs_approval' },
    });
    expectNothingLanded(world, issue);
    await world.json('task', 'approve', String(issue));
    await world.settle();
    const task = await expectMergedOnce(world, issue);
    expect(task.verdict).toMatchObject({ verdict: 'APPROVE', by: 'Öperator O’Hara' });
    expect((await world.turns(issue)).map((turn) => turn.role)).toEqual(['coder']);
  });

  test('the merge: a person merges by hand, and that counts as merged (dispatch 44)', async ({ world }) => {
    world.settings({ merge: { enabled: false } });
    const issue = await world.issue({});
    await world.settle(3);
    const { branch, hold } = await world.task(issue);
    expect(hold).toMatchObject({ reason: 'needs_merge' });
    world.git('merge', '--quiet', '--no-ff', '-m', 'Merged by hand', branch);
    await world.settle();
    const task = await world.task(issue);
    expect(task).toMatchObject({ state: 'merged', workspace: null });
    expect(await world.event('merge_observed')).toMatchObject({ data: { by: 'person' } });
    expect(await world.json('issue', 'show', String(issue))).toMatchObject({
      state: 'closed',
      labels: ['loop:merged'],
    });
    expect(world.git('log', '-1', '--format=%s').trim()).toBe('Merged by hand');
  });

  test('the gate: empty is not a pass, and a command that is missing blames nobody', async ({ world }) => {
    world.settings({ gate: { commands: [] } });
    const issue = await world.issue({});
    await world.settle(3);
    expect((await world.cli('why')).stdout).toContain('gate.commands is empty');

    world.settings({ gate: { commands: ['no-such-command-at-all'] } });
    await world.settle(3);
    expect((await world.cli('why')).stdout).toContain('`no-such-command-at-all` command not found');
    expect((await world.events()).map(({ type }) => type)).not.toContain('turn_started');
    expectNothingLanded(world, issue);

    world.settings({});
    await world.settle();
    expect(await expectMergedOnce(world, issue)).toMatchObject({ turns: 1 });
  });
});

function expectNothingLanded(world: World, issue: number): void {
  expect(world.git('log', '--format=%H', `--grep=^Issue: ${issue} `, 'main')).toBe('');
  expect(world.git('log', '--format=%s', 'main').trim().split('\n').at(0)).toBe('Configure the loop');
}
