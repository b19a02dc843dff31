/** Merges: into a trunk that moves, past a person's edits, and never past a person's decision. */
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { onCandidate } from '../support/e2e/halt.ts';
import { expectMergedOnce } from '../support/e2e/merged-once.ts';
import { APPROVE, test, type World } from '../support/e2e/world.ts';

describe('trunk moves', () => {
  test('two tasks on the same file: the second resolves the conflict on its own session, and both land (dispatch 46, 47, 50)', async ({
    world,
  }) => {
    const halt = world.halt('both at work');
    world.settings({ gate: { commands: ['! grep -q "<<<<" list*'] } });
    world.script(
      {
        when: { role: 'coder', round: 1 },
        steps: [{ shell: halt.shell }, { shell: 'echo "line of $FORGE_ISSUE" >> list.txt' }],
      },
      {
        when: { role: 'coder' },
        steps: [
          {
            expectPrompt: {
              contains: [
                'conflicts with changes that landed on trunk',
                'list.txt',
                'Merged into your work tree meanwhile',
              ],
            },
          },
          { shell: "grep '^line of' list.txt | sort > sorted && mv sorted list.txt" },
        ],
      },
    );
    world.write('list.txt', '');
    world.commit('An empty list');
    const issues = [await world.issue({ title: 'One line' }), await world.issue({ title: 'Another line' })];
    const runner = world.run('--until-idle');
    await halt.arrived(2);
    halt.lift();
    await world.finished(runner);

    const tasks = [await expectMergedOnce(world, issues[0]!), await expectMergedOnce(world, issues[1]!)];
    expect(world.read('list.txt')).toBe('line of 1\nline of 2\n');
    expect(tasks.map((task) => task.turns).sort()).toEqual([1, 2]);
    expect(tasks.map((task) => task.sessionIds.length)).toEqual([1, 1]);
    const second = tasks.find((task) => task.turns === 2)!;
    expect(second.criticRounds, 'the resolved change is judged anew').toBe(2);
    expect((await world.turns(second.issue!)).map(({ role, prompt }) => [role, prompt])).toEqual([
      ['coder', 'task'],
      ['critic', 'critic'],
      ['coder', 'revise'],
      ['critic', 'next_round'],
    ]);
  });

  test('a forced push takes out what the work builds on: it waits for a person and brings nothing back', async ({
    world,
  }) => {
    const halt = world.halt('critic');
    world.script({ when: { role: 'critic' }, steps: [{ shell: halt.shell }, APPROVE] });
    const before = world.git('rev-parse', 'HEAD').trim();
    world.write('mistake.txt', 'never meant to be here\n');
    world.commit('A mistake');
    const issue = await world.issue({});
    const runner = world.run('--until-idle');
    await halt.arrived();
    world.git('reset', '-q', '--hard', before);
    halt.lift();
    expect((await world.finished(runner, 3)).stdout).toContain('trunk was rewritten');
    expect((await world.task(issue)).hold?.reason).toBe('trunk_rewritten');
    expect(world.git('rev-parse', 'main').trim()).toBe(before);
  });

  test('a person commits meanwhile: the gate runs on the merged tree, and red there goes back to the coder (dispatch 46)', async ({
    world,
  }) => {
    const halt = world.halt('critic');
    world.settings({ gate: { commands: ['[ ! -e rule.txt ] || [ -e obeyed.txt ]'] } });
    world.script(
      { when: { role: 'critic', round: 1 }, steps: [{ shell: halt.shell }, APPROVE] },
      { when: { role: 'coder', round: 2 }, steps: [{ write: { 'obeyed.txt': 'yes\n' } }] },
    );
    const issue = await world.issue({});
    const runner = world.run('--until-idle');
    await halt.arrived();
    world.write('rule.txt', 'a new rule\n');
    const theirs = world.commit('A rule that came later');
    halt.lift();
    await world.finished(runner);
    const { sessionIds, turns } = await expectMergedOnce(world, issue);
    expect({ sessions: sessionIds.length, turns }).toEqual({ sessions: 1, turns: 2 });
    const gates = (await world.events()).flatMap((one) =>
      one.type === 'gate_completed' ? [`${one.data.scope} ${one.data.evidence.outcome}`] : [],
    );
    expect(gates).toEqual(['work pass', 'candidate fail', 'work pass', 'candidate pass']);
    expect(world.git('merge-base', 'main', theirs).trim(), 'their commit is where they put it').toBe(theirs);
  });
});

describe('people', () => {
  /** A task whose critic waits, so that a person can do something meanwhile. */
  async function atTheCritic(world: World) {
    const halt = world.halt('critic');
    world.script({ when: { role: 'critic', round: 1 }, steps: [{ shell: halt.shell }, APPROVE] });
    const issue = await world.issue({});
    const runner = world.run('--until-idle');
    await halt.arrived();
    return { halt, issue, runner, task: await world.task(issue) };
  }

  test('edit the issue after it was made ready: no merge until it is made ready again, and the new text is worked in (dispatch 45)', async ({
    world,
  }) => {
    const { halt, issue, runner, task } = await atTheCritic(world);
    world.editIssue(issue, (text) => `${text}\nAnd it must also contain \`NEW-DEMAND\`.\n`);
    halt.lift();
    const { stderr } = await world.finished(runner, 3);
    expect(stderr).toContain(`forge-loop issue ready ${issue}`);
    expect(await world.task(issue)).toMatchObject({
      state: 'awaiting_critic',
      hold: { reason: 'body_edited' },
    });
    expectUnmoved(world);

    world.script({
      when: { role: 'coder' },
      steps: [{ expectPrompt: { contains: ['NEW-DEMAND'] } }, { write: { 'new.txt': 'NEW-DEMAND\n' } }],
    });
    await world.json('issue', 'ready', String(issue));
    await world.settle();
    const after = await expectMergedOnce(world, issue);
    expect(after).toMatchObject({ id: task.id, sessionIds: task.sessionIds, turns: 2, criticRounds: 2 });
    expect(world.read('new.txt')).toBe('NEW-DEMAND\n');
  });

  test('push to the branch: an APPROVE for the older head merges nothing; the new head is verified and judged (dispatch 32)', async ({
    world,
  }) => {
    const { halt, issue, runner, task } = await atTheCritic(world);
    const theirs = join(world.folder, 'their worktree');
    world.git('worktree', 'add', '--quiet', theirs, task.branch);
    writeFileSync(join(theirs, 'theirs.txt'), 'theirs\n');
    world.git('-C', theirs, 'add', '--all');
    world.git('-C', theirs, 'commit', '--quiet', '-m', 'A person helps');
    world.git('worktree', 'remove', theirs);
    halt.lift();
    await world.finished(runner);
    const after = await expectMergedOnce(world, issue);
    expect(after.headSha).not.toBe(task.headSha);
    expect(after.verdict).toMatchObject({ headSha: after.headSha, verdict: 'APPROVE' });
    expect(world.read('theirs.txt')).toBe('theirs\n');
    expect(await world.event('person_pushed')).toBeDefined();
  });

  test('merge it themselves, which closes the issue: that is merged, not issue_closed (dispatch 44)', async ({
    world,
  }) => {
    const { halt, issue, runner, task } = await atTheCritic(world);
    world.git('merge', '--quiet', '--squash', task.branch);
    world.git('commit', '--quiet', '-m', `Fixes #${issue}`);
    await world.json('issue', 'close', String(issue));
    halt.lift();
    await world.finished(runner);
    expect(await world.task(issue)).toMatchObject({ state: 'merged', reason: null, workspace: null });
    expect(await world.event('merge_observed')).toMatchObject({ data: { by: 'person' } });
    expect(world.git('log', '-1', '--format=%s').trim()).toBe(`Fixes #${issue}`);
  });

  test('close the issue while its candidate is tested: refused, and trunk stays (dispatch 44)', async ({
    world,
  }) => {
    const halt = world.halt('candidate');
    world.settings({ gate: { commands: [onCandidate(halt)] } });
    const issue = await world.issue({});
    const runner = world.run('--until-idle');
    await halt.arrived();
    expect(await world.task(issue)).toMatchObject({ state: 'merging' });
    await world.json('issue', 'close', String(issue));
    halt.lift();
    await world.finished(runner);
    const task = await world.task(issue);
    expect(task).toMatchObject({ state: 'abandoned', reason: 'issue_closed', mergedSha: null });
    expect(existsSync(task.workspace!)).toBe(true);
    expectUnmoved(world);
  });
});

describe('the operator’s checkout', () => {
  const LINES = Array.from({ length: 20 }, (_, n) => `line ${n}\n`).join('');
  const MINE = LINES.replace('line 0', 'mine');

  /** The merge changes the end of a file of which the operator is editing the beginning. */
  function editing(world: World): void {
    world.write('shared.txt', LINES);
    world.commit('Share a file');
    world.script({
      when: { role: 'coder' },
      steps: [{ shell: 'echo done > "done-$FORGE_ISSUE.txt"; echo theirs >> shared.txt' }],
    });
    world.write('shared.txt', MINE);
  }

  test('is dirty where the merge changes nothing: it lands, and the edit stays', async ({ world }) => {
    world.write('README.md', '# My unfinished edit\n');
    const issue = await world.issue({});
    await world.settle();
    expect(await world.task(issue)).toMatchObject({ state: 'merged' });
    expect(world.read(`done-${issue}.txt`)).toBe('done\n');
    expect(world.read('README.md')).toBe('# My unfinished edit\n');
    expect(world.git('status', '--porcelain')).toMatch(/^ ?M README\.md/m);
  });

  test('is dirty: the merge waits and says so, exit 3; once it is committed the next run merges on top', async ({
    world,
  }) => {
    editing(world);
    const issue = await world.issue({});
    const { stderr } = await world.settle(3);
    expect(stderr).toContain('shared.txt');
    expect(await world.task(issue)).toMatchObject({
      state: 'awaiting_critic',
      hold: { reason: 'dirty_checkout' },
    });
    const why = await world.json<{ issues: { why: string }[] }>('why', String(issue));
    expect(why.issues[0]?.why).toMatch(/dirty_checkout.*uncommitted changes in shared\.txt.*commit or stash/);
    expect(world.read('shared.txt')).toBe(MINE);
    expect(world.git('log', '-1', '--format=%s', 'main').trim()).toBe('Share a file');

    const mine = world.commit('My edit');
    await world.settle();
    expect(await expectMergedOnce(world, issue)).toMatchObject({ turns: 1, criticRounds: 1 });
    expect(world.read('shared.txt')).toBe(`${MINE}theirs\n`);
    expect(world.git('rev-parse', 'main^').trim()).toBe(mine);
  });

  test('is dirty: a runner that stays merges by itself when the edit is stashed, and the stash is whole', async ({
    world,
  }) => {
    editing(world);
    const issue = await world.issue({});
    const runner = world.run();
    await world.event('hold_set', (data) => data.reason === 'dirty_checkout');
    world.git('stash', '--quiet');
    await world.state(issue, 'merged');
    runner.send('SIGINT');
    await world.finished(runner);
    await expectMergedOnce(world, issue);
    world.git('stash', 'pop', '--quiet');
    expect(world.read('shared.txt')).toBe(`${MINE}theirs\n`);
  });

  test('holds a file of the same name that nobody committed: it is never overwritten', async ({ world }) => {
    world.write('done-1.txt', 'mine, not in git\n');
    const issue = await world.issue({});
    const { stderr } = await world.settle(3);
    expect(stderr).toContain('done-1.txt');
    expect(world.read('done-1.txt')).toBe('mine, not in git\n');
    expectUnmoved(world);
    world.git('clean', '--quiet', '--force');
    await world.settle();
    await expectMergedOnce(world, issue);
  });

  test('is on another branch: trunk moves, the checkout does not', async ({ world }) => {
    world.git('switch', '--quiet', '--create', 'mine');
    world.write('mine.txt', 'unfinished\n');
    const issue = await world.issue({});
    await world.settle();
    expect(await world.task(issue)).toMatchObject({ state: 'merged' });
    expect(world.git('show', `main:done-${issue}.txt`)).toBe('done\n');
    expect(world.git('branch', '--show-current').trim()).toBe('mine');
    expect(existsSync(join(world.root, `done-${issue}.txt`))).toBe(false);
    expect(world.read('mine.txt')).toBe('unfinished\n');
  });
});

function expectUnmoved(world: World): void {
  expect(world.git('log', '--format=%s', 'main').trim().split('\n').at(0)).toBe('Configure the loop');
}

describe('trunk', () => {
  test('that is set to another branch holds the loop until a person resumes', async ({ world }) => {
    const first = await world.issue({});
    await world.settle();
    await expectMergedOnce(world, first);
    world.git('switch', '-q', '-c', 'elsewhere');
    world.settings({ tracker: { kind: 'local', trunk: 'elsewhere' } });
    const second = await world.issue({ title: 'Second' });
    const { stderr } = await world.settle(3);
    expect(stderr).toMatch(/tracker.trunk changed from main to elsewhere.*forge-loop resume/);
    expect((await world.status()).tasks.map(({ issue }) => issue)).not.toContain(second);
    expect((await world.cli('resume')).code).toBe(0);
    await world.settle();
    expect(world.git('ls-tree', '--name-only', 'elsewhere')).toContain(`done-${second}.txt`);
    expect(world.git('ls-tree', '--name-only', 'main')).not.toContain(`done-${second}.txt`);
  });
});
