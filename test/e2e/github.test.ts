/** The whole path on GitHub: the real program, real pushes over HTTP, and people who do what people do. */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { type OnGitHub, test } from '../support/e2e/on-github.ts';
import type { World } from '../support/e2e/world.ts';
import { LIMITS } from '../support/github/faults.ts';
import { runMergeQueue } from '../support/github/merging.ts';

const changes = (message: string) => ({
  answer: {
    verdict: 'REQUEST_CHANGES',
    findings: [{ severity: 'sev2', file: 'done-1.txt', line: 1, message }],
  },
});

test('ready → work tree → pull request → CI red → same session → changes asked for → same session → merged and closed', async ({
  world,
  on,
}) => {
  on.ci('failure', 'success');
  world.script(
    { when: { role: 'critic', round: 1 }, steps: [changes('FINDING-OF-THE-CRITIC')] },
    { when: { role: 'coder' }, steps: [{ append: { 'done-1.txt': 'done\n' } }] },
  );
  const issue = await on.issue('Write the file');
  await on.ready(issue);
  await world.settle();

  const task = await world.task(issue);
  expect(task).toMatchObject({ state: 'merged', criticRounds: 2 });
  expect(task.sessionIds).toHaveLength(1);
  const prompts = (await world.events()).filter((one) => one.type === 'turn_started').length;
  expect(prompts).toBeGreaterThanOrEqual(4);

  const [pull, ...others] = on.pulls();
  expect(others).toEqual([]);
  expect(pull!.pull).toMatchObject({ merged: true, mergedBy: 'loop-bot', headRepo: 'acme/rocket' });
  expect(pull!.body).toContain(`Fixes #${issue}`);
  expect(pull!.body).toMatch(/Cost so far: \$\d+\.\d\d, \d+ tokens\.$/);
  expect(pull!.pull!.reviews.map((review) => review.state)).toEqual(['COMMENTED', 'COMMENTED']);
  expect(pull!.pull!.threads.map((thread) => thread.path)).toEqual(['done-1.txt']);
  expect(on.row(issue)).toMatchObject({ state: 'closed', labels: ['loop:merged'] });
  const [told, ...more] = on.row(issue).comments.map(({ body }) => body.replace(/^.*\n/, ''));
  expect(more).toEqual([]);
  expect(told).toContain(
    `**Merged as \`${task.mergedSha!.slice(0, 10)}\`** after 3 turns and 2 critic rounds, approved by critic.`,
  );
  expect(told).toContain(`Task \`${task.id}\`, attempt 1, pull request #${pull!.number}.`);
  expect(on.github.world.statuses.map(({ context, state }) => `${context} ${state}`)).toEqual([
    'forge-loop/gate success',
    'forge-loop/gate success',
    'forge-loop/critic failure',
    'forge-loop/gate success',
    'forge-loop/critic success',
  ]);
  const branches = await on.ada.git(world.root, 'ls-remote', '--heads', 'origin');
  expect(branches).toMatch(/^[0-9a-f]{40}\trefs\/heads\/main$/);
  await on.ada.git(world.root, 'fetch', '-q', 'origin');
  expect(world.git('show', 'origin/main:done-1.txt')).toContain('done');

  // What the whole story costs. Every line more is a line to explain.
  const count = new Map<string, number>();
  for (const write of on.writes()) count.set(write, (count.get(write) ?? 0) + 1);
  expect(Object.fromEntries(count)).toMatchInlineSnapshot(`
    {
      "PATCH /issues/comments/N": 6,
      "PATCH /pulls/N": 2,
      "POST /issues/N/comments": 1,
      "POST /pulls": 1,
      "POST /pulls/N/reviews": 2,
      "POST /statuses/SHA": 5,
      "PUT /pulls/N/merge": 1,
      "addLabelsToLabelable + removeLabelsFromLabelable": 2,
      "markPullRequestReadyForReview": 1,
    }
  `);
  const charged = on.github.requests.filter(
    ({ path, status, user }) => user === 'loop-bot' && !path.startsWith('git ') && status !== 304,
  );
  expect(charged.length).toBeLessThan(80);
});

describe('people', () => {
  test('a stranger’s label, an edited text and a closed issue start nothing, and why says so', async ({
    world,
    on,
  }) => {
    const [strange, edited, closed] = [await on.issue('One'), await on.issue('Two'), await on.issue('Three')];
    on.github.world.permissions.set('mallory', 'triage');
    await on.ready(strange, on.mallory);
    await on.ready(edited);
    await on.ada.patch(`/issues/${edited}`, { body: 'It must contain `done` and more.' });
    await on.ready(closed);
    await on.ada.patch(`/issues/${closed}`, { state: 'closed' });
    await world.settle();
    expect(on.pulls()).toEqual([]);
    const { stdout } = await world.cli('why');
    expect(stdout).toContain('was added by mallory, who has the role triage and needs write');
    expect(on.row(edited)).toMatchObject({
      labels: [],
      comments: [
        { user: 'loop-bot', body: expect.stringContaining('The text changed after this issue was labelled') },
      ],
    });
  });

  test('closed in the middle of a turn: it ends without a merge, the work is kept', async ({ world, on }) => {
    const halt = world.halt('turn');
    world.script({
      when: { role: 'coder' },
      steps: [{ shell: halt.shell }, { write: { 'done-1.txt': 'done\n' } }],
    });
    const issue = await on.issue('Write the file');
    await on.ready(issue);
    const runner = world.run('--until-idle');
    await halt.arrived();
    await on.ada.patch(`/issues/${issue}`, { state: 'closed' });
    const task = await world.state(issue, 'abandoned');
    halt.lift();
    await world.finished(runner);
    expect(task.reason).toBe('issue_closed');
    expect(on.pulls()).toEqual([]);
    expect(
      on
        .row(issue)
        .comments.map((comment) => comment.body)
        .join(),
    ).toContain('issue_closed');
  });

  test('a person pushes to the branch: their commit is judged and merged with the rest', async ({
    world,
    on,
  }) => {
    const halt = world.halt('critic');
    world.script({
      when: { role: 'critic', round: 1 },
      steps: [{ shell: halt.shell }, { answer: { verdict: 'APPROVE', findings: [] } }],
    });
    const issue = await on.issue('Write the file');
    await on.ready(issue);
    const runner = world.run('--until-idle');
    await halt.arrived();
    const [pull] = on.pulls();
    await on.ada.git(world.root, 'fetch', '-q', 'origin');
    const tree = world.git('rev-parse', `origin/${pull!.pull!.headRef}^{tree}`).trim();
    const theirs = world
      .git('commit-tree', tree, '-p', `origin/${pull!.pull!.headRef}`, '-m', 'A person was here')
      .trim();
    await on.ada.git(world.root, 'push', '-q', 'origin', `${theirs}:refs/heads/${pull!.pull!.headRef}`);
    halt.lift();
    await world.finished(runner);
    const task = await world.task(issue);
    expect(task).toMatchObject({ state: 'merged', headSha: theirs });
  });

  test('the text is edited under way: nothing is merged until it is made ready anew', async ({
    world,
    on,
  }) => {
    const halt = world.halt('critic');
    world.script({
      when: { role: 'critic', round: 1 },
      steps: [{ shell: halt.shell }, { answer: { verdict: 'APPROVE', findings: [] } }],
    });
    const issue = await on.issue('Write the file');
    await on.ready(issue);
    const runner = world.run();
    await halt.arrived();
    await on.ada.patch(`/issues/${issue}`, { body: 'It must contain `done` and a date.' });
    const edited = Date.now();
    halt.lift();
    await world.event('hold_set', ({ reason }) => reason === 'body_edited');
    expect(on.pulls()[0]!.pull!.merged).toBe(false);

    world.script({ when: { role: 'coder' }, steps: [{ append: { 'done-1.txt': 'done on Monday\n' } }] });
    // GitHub counts whole seconds, and a label of the same second as the edit does not count.
    await world.until('another second', () => Math.floor(Date.now() / 1000) > Math.floor(edited / 1000));
    await on.ready(issue);
    const task = await world.state(issue, 'merged');
    runner.send('SIGTERM');
    await world.finished(runner);
    expect(task.contract.body).toContain('and a date');
    expect(task.sessionIds).toHaveLength(1);
  });

  test('trunk moves against it: the conflict goes to the same session, and the resolution is merged', async ({
    world,
    on,
  }) => {
    const halt = world.halt('critic');
    world.script(
      {
        when: { role: 'critic', round: 1 },
        steps: [{ shell: halt.shell }, { answer: { verdict: 'APPROVE', findings: [] } }],
      },
      { when: { role: 'coder', turn: 1 }, steps: [{ write: { 'done-1.txt': 'done\n' } }] },
      { when: { role: 'coder' }, steps: [{ write: { 'done-1.txt': 'done by both\n' } }] },
    );
    const issue = await on.issue('Write the file');
    await on.ready(issue);
    const runner = world.run('--until-idle');
    await halt.arrived();
    world.write('done-1.txt', 'done by hand\n');
    world.commit('Write it by hand');
    await on.ada.git(world.root, 'push', '-q', 'origin', 'main');
    halt.lift();
    await world.finished(runner);
    expect(await world.task(issue)).toMatchObject({
      state: 'merged',
      turns: 2,
      sessionIds: [expect.any(String)],
    });
    await on.ada.git(world.root, 'fetch', '-q', 'origin');
    expect(world.git('show', 'origin/main:done-1.txt')).toBe('done by both\n');
  });
});

test('answers that are lost after their effect: everything is done once', async ({ world, on }) => {
  for (const [method, path] of [
    ['POST', /\/pulls$/],
    ['POST', /issues\/\d+\/comments$/],
    ['PUT', /\/merge$/],
    ['POST', /git-receive-pack/],
  ] as const) {
    on.github.faults.add({ method, path, how: { kind: 'lose' } });
  }
  const issue = await on.issue('Write the file');
  await on.ready(issue);
  await world.settle();
  expect(on.github.faults.pending()).toBe(0);
  expect(await world.task(issue)).toMatchObject({ state: 'merged', turns: 1, criticRounds: 1 });
  expect(on.pulls()).toHaveLength(1);
  expect(on.pulls()[0]!.pull!.reviews).toHaveLength(1);
  const said = on.row(issue).comments.map((comment) => comment.body);
  expect(new Set(said).size).toBe(said.length);
});

test('init makes the labels, doctor and run name what is missing before anything is started', async ({
  world,
  on,
}) => {
  on.github.world.labels.clear();
  expect((await world.cli('doctor')).stdout).toMatch(/github, 0 open issues.*These labels do not exist yet/s);
  const made = await world.json<{ written: boolean; labels: string[]; problems: unknown[]; next: string[] }>(
    'init',
    '--create-labels',
    '--yes',
  );
  expect(made).toMatchObject({ written: false, problems: [] });
  expect(made.labels).toContain('loop:ready');
  expect(made.next).toContain('Label an issue `loop:ready`.');
  expect((await world.cli('doctor')).stdout).toContain('github, 0 open issues');

  on.github.world.permissions.set('loop-bot', 'read');
  const run = await world.cli('run', '--until-idle');
  expect(run.code).toBe(1);
  expect(run.stderr).toContain('This token may not push to acme/rocket');
  expect((await world.cli('doctor')).code).toBe(1);

  on.github.world.tokens.clear();
  expect((await world.cli('run', '--until-idle')).stderr).toContain('does not accept the token');
  delete world.env.LOOP_TOKEN;
  expect((await world.cli('doctor')).stdout).toContain('There is no token');
});

test('the first init looks at the tracker that it has just written down', async ({ world }) => {
  const first = async (...args: string[]) => {
    world.git('rm', '--quiet', '--force', '--ignore-unmatch', 'WORKFLOW.md');
    rmSync(join(world.root, 'WORKFLOW.md'), { force: true });
    return (await world.cli('init', '--yes', '--create-labels', ...args)).stdout;
  };
  expect(await first('--tracker', 'github')).toContain("Can't tell which GitHub repository this is");
  expect(await first('--tracker', 'local')).toContain('No labels were made');
});

test('a limit is waited out in sight of everybody, and costs no turn', async ({ world, on }) => {
  const issue = await on.issue('Write the file');
  const runner = world.run();
  await world.event('runner_started');
  on.github.faults.add({ method: 'GET', path: /\/issues\?/, how: LIMITS.secondary(4) });
  const { data } = await world.event('forge_unavailable');
  expect(data.problem).toContain('rate limit');
  expect(data.until).not.toBeNull();
  await on.ready(issue);
  const task = await world.state(issue, 'merged');
  await world.event('forge_answers');
  runner.send('SIGTERM');
  await world.finished(runner);
  expect(task.turns).toBe(1);
});

test('the token expires at night and issues are disabled: the agent works on, and in the morning nothing is lost', async ({
  world,
  on,
}) => {
  const halt = world.halt('turn');
  world.script({
    when: { role: 'coder' },
    steps: [{ shell: halt.shell }, { write: { 'done-1.txt': 'done\n' } }],
  });
  const title = '🚀 أضف الملف \u202e done';
  const issue = await on.issue(title, `It must contain \`done\`.\n\n${'Much more. '.repeat(5900)}`);
  await on.ready(issue);
  const runner = world.run();
  await halt.arrived();
  const tokens = new Map(on.github.world.tokens);
  on.github.world.tokens.delete(world.env.LOOP_TOKEN!);
  const { data, seq } = await world.event('forge_unavailable');
  expect(data.problem).toContain('does not accept the token');
  halt.lift();
  await world.event('turn_completed', ({ status }) => status === 'finished');
  for (const [token, owner] of tokens) on.github.world.tokens.set(token, owner);
  await world.event('forge_answers');
  on.github.world.hasIssues = false;
  const disabled = await world.event('forge_unavailable', undefined, seq);
  expect(disabled.data.problem).toContain('Issues are disabled');
  on.github.world.hasIssues = true;
  const task = await world.state(issue, 'merged');
  runner.send('SIGTERM');
  await world.finished(runner);
  expect(task).toMatchObject({ turns: 1, attempt: 1 });
  // What would turn the rest of a line around is not repeated.
  expect(on.pulls().map((pull) => pull.title)).toEqual([`🚀 أضف الملف done (#${issue})`]);
});

describe('landing', () => {
  test('somebody pushes in the very instant of the merge: the loop is held until trunk has passed the gate', async ({
    world,
    on,
  }) => {
    const issues = [await on.issue('One'), await on.issue('Two')];
    const act = async () => {
      world.write('sneaked-in.txt', 'x\n');
      world.commit('Sneak in');
      await on.ada.git(world.root, 'push', '-q', 'origin', 'main');
    };
    on.github.faults.add({ method: 'PUT', path: /merge$/, how: { kind: 'meanwhile', act } });
    for (const issue of issues) await on.ready(issue);
    await world.settle();
    for (const issue of issues) expect(await world.task(issue)).toMatchObject({ state: 'merged' });
    const told = (await world.events()).flatMap((one) => {
      if (one.type === 'gate_completed' && one.data.scope === 'trunk') return [one.data.evidence.outcome];
      return one.type === 'loop_held' || one.type === 'loop_released' ? [one.type] : [];
    });
    expect(told).toEqual(['loop_held', 'pass', 'loop_released']);
  });

  test('where main wants a review, the merge waits for a person, says so, and goes on with their approval', async ({
    world,
    on,
  }) => {
    const rules = { requiredChecks: [], strict: true, approvals: 1, mergeQueue: false };
    on.github.world.protections.set('main', { via: 'ruleset', ...rules });
    const issue = await on.issue('Write the file');
    await on.ready(issue);
    const runner = world.run();
    const { data } = await world.event('hold_set', ({ reason }) => reason === 'rules_unmet');
    expect(data.detail).toContain('main wants 1 approving review');
    expect(on.github.requests.filter(({ path }) => path.endsWith('/merge'))).toEqual([]);
    const [pull] = on.pulls();
    await on.grace.post(`/pulls/${pull!.number}/reviews`, { event: 'APPROVE' });
    expect(await world.state(issue, 'merged')).toMatchObject({ turns: 1 });
    runner.send('SIGTERM');
    await world.finished(runner);
    expect(on.github.requests.filter(({ path }) => path.endsWith('/merge'))).toMatchObject([{ status: 200 }]);
  });

  test('where heads have to be up to date, and this account may not read that: the second is updated and merged', async ({
    world,
    on,
  }) => {
    const rules = { requiredChecks: ['ci'], strict: true, approvals: 0, mergeQueue: false };
    on.github.world.protections.set('main', { via: 'protection', ...rules });
    on.ci('success');
    world.script({
      when: { role: 'coder' },
      steps: [{ shell: 'echo done > "done-$(git branch --show-current | tr / -).txt"' }],
    });
    const issues = [await on.issue('One'), await on.issue('Two')];
    for (const issue of issues) await on.ready(issue);
    await world.settle();
    for (const issue of issues) expect(await world.task(issue)).toMatchObject({ state: 'merged', turns: 1 });
    const held = (await world.events()).filter(({ type }) => type === 'hold_set');
    expect(held).toEqual([]);
  });

  test('a push that GitHub refuses waits for a person: the issue says so, the run ends, and resumed it goes on', async ({
    world,
    on,
  }) => {
    const hook = join(on.github.world.git.gitDir, 'own-hook');
    writeFileSync(hook, 'Commit messages need a ticket.\n');
    const issue = await on.issue('Write the file');
    await on.ready(issue);
    await world.settle(3);
    const says = /pre-receive hook declined Commit messages need a ticket\./;
    expect(await world.task(issue)).toMatchObject({
      turns: 1,
      hold: { reason: 'publish_refused', detail: expect.stringMatching(says) },
    });
    expect(on.row(issue).comments.at(-1)!.body).toMatch(says);

    rmSync(hook);
    await world.cli('resume', String(issue));
    await world.settle();
    expect(await world.task(issue)).toMatchObject({ state: 'merged', turns: 1 });
  });

  const queued = async (world: World, on: OnGitHub) => {
    const rules = { requiredChecks: [], strict: false, approvals: 0, mergeQueue: true };
    on.github.world.protections.set('main', { via: 'ruleset', ...rules });
    const issue = await on.issue('Write the file');
    await on.ready(issue);
    const runner = world.run('--until-idle');
    await world.event('hold_set', ({ reason }) => reason === 'merge_queued');
    return { issue, runner };
  };

  test('where the branch has a merge queue, the pull request waits in it and is merged by it', async ({
    world,
    on,
  }) => {
    const { issue, runner } = await queued(world, on);
    await runMergeQueue(on.github.world);
    await world.finished(runner);
    expect(await world.task(issue)).toMatchObject({
      state: 'merged',
      why: "the forge's merge queue merged it",
    });
  });

  test('an issue closed while its pull request waits in the merge queue: it is taken out again', async ({
    world,
    on,
  }) => {
    const { issue, runner } = await queued(world, on);
    await on.ada.patch(`/issues/${issue}`, { state: 'closed' });
    await world.finished(runner);
    expect(await world.task(issue)).toMatchObject({ state: 'abandoned', reason: 'issue_closed' });
    await runMergeQueue(on.github.world);
    expect(on.pulls()).toMatchObject([{ pull: { merged: false, queued: false } }]);
    const types = (await world.events()).map(({ type }) => type);
    expect(types, 'it was not taken for given back').not.toContain('hold_cleared');
  });
});

test('two runners share a repository: each issue is worked on once', async ({ world, on }) => {
  const issues = [await on.issue('One'), await on.issue('Two')];
  for (const issue of issues) await on.ready(issue);
  const runners = [world.run('--until-idle'), world.run('--until-idle')];
  for (const runner of runners) await world.finished(runner);
  for (const issue of issues) {
    expect(await world.task(issue)).toMatchObject({ state: 'merged', attempt: 1, turns: 1 });
    expect(on.row(issue).state).toBe('closed');
  }
  expect(on.pulls()).toHaveLength(2);
});
