/** Plans as people start, watch and end them; with the real program, git, database and processes. */
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import type { Task } from '../../src/core/task.ts';
import type { LoopView } from '../../src/operations/loop-status.ts';
import { type Halt, quoted } from '../support/e2e/halt.ts';
import {
  CLEAN,
  loopStatus,
  loopTask,
  planFile,
  planText,
  scriptLoop,
  startLoop,
} from '../support/e2e/loops.ts';
import { isLiving } from '../support/e2e/proc.ts';
import { PROGRAM, type Program } from '../support/e2e/program.ts';
import { type Json, test, type World } from '../support/e2e/world.ts';

const subjects = (world: World, range: string): string[] =>
  world.git('log', '--reverse', '--format=%s', range).trim().split('\n');

/** A loop whose coder is at work, and stays there. */
async function atWork(
  world: World,
  from: 'file' | 'issue' = 'file',
): Promise<{ runner: Program; halt: Halt; pid: number }> {
  const halt = world.halt('turn');
  scriptLoop(world, {
    when: { role: 'coder', round: 1 },
    steps: [
      { usageNow: { input: 100, output: 10, costUsd: 0.25 } },
      { shell: `echo done >> done-all.txt; ${halt.shell}` },
    ],
  });
  if (from === 'file') await startLoop(world, planText());
  else await world.issue({ title: 'Count', body: planText() });
  const runner = world.run();
  const [pid] = await halt.arrived();
  return { runner, halt, pid: pid! };
}

/** Ctrl-C for whoever watches: it ends well. */
async function interrupted(watching: Program): Promise<void> {
  watching.send('SIGINT');
  expect(await watching.ended).toMatchObject({ code: 0, stderr: '' });
}

async function completed(world: World, name = 'tally'): Promise<void> {
  await world.until(
    `${name} to be completed`,
    async () => (await loopTask(world, name)).state === 'completed',
  );
}

describe('loop start', () => {
  test('what the operator commits and tags during an audit is not the auditor’s; what it writes onto the branch is', async ({
    world,
  }) => {
    const halt = world.halt('audit');
    const evil = `
      PATH=\${PATH#*:} # past the stand-ins
      cd ${quoted(world.root)}
      git update-ref refs/heads/loop/tally "$(git commit-tree main^{tree} -p loop/tally -m evil)"`;
    scriptLoop(
      world,
      { when: { role: 'auditor', turn: 1 }, steps: [{ shell: halt.shell }, CLEAN] },
      { when: { role: 'auditor', turn: 2 }, steps: [{ shell: evil }, CLEAN] },
    );
    await startLoop(world, planText());
    const runner = world.run();
    await halt.arrived();
    world.git('checkout', '-q', '-b', 'mine');
    world.git('commit', '-q', '--allow-empty', '-m', 'mine');
    world.git('tag', 'mine-1');
    halt.lift();
    const { data } = await world.event('turn_completed', ({ role }) => role === 'auditor');
    expect(data).toMatchObject({ status: 'finished', code: null });
    const tampered = await world.event('turn_completed', ({ code }) => code === 'critic_wrote');
    expect(tampered.data).toMatchObject({ role: 'auditor', message: expect.stringContaining('loop/tally') });
    await runner.kill();
  });

  test('a plan is coded, gated and audited by its milestones; its branch is left to the operator (loops 1, 2, 3, 7, 28, 29)', async ({
    world,
  }) => {
    scriptLoop(world);
    const started = await startLoop(world, planText({ milestones: 3 }));
    expect(started).toMatchObject({ name: 'tally', branch: 'loop/tally', milestones: 3, already: false });
    await world.settle();
    expect(await loopStatus(world)).toMatchObject({
      status: 'completed',
      phase: 'delivered',
      milestones: { total: 3, done: 3 },
      audits: 4,
      iteration: 1,
      phases: {
        'coding→auditing': 3,
        'auditing→next': 2,
        'auditing→final_auditing': 1,
        'final_auditing→delivered': 1,
      },
      restart: { restartable: false, blocked: 'completed' },
    });
    expect(subjects(world, 'main..loop/tally')).toEqual([
      'section 1: Part 1',
      'section 2: Part 2',
      'section 3: Part 3',
    ]);
    expect(world.git('show', 'loop/tally:done-all.txt')).toBe('done\ndone\ndone\n');
    expect(world.git('status', '--porcelain'), 'the checkout is as it was').toBe('');
    expect((await world.cli('loop', 'restart', 'tally')).stderr).toContain('completed');
  });

  test('the same plan twice at once is one task, and another plan of that name gets a number (loops 64, 65)', async ({
    world,
  }) => {
    scriptLoop(world);
    const file = planFile(world, planText());
    const both = await Promise.all([1, 2].map(() => world.json('loop', 'start', file)));
    expect(both.map(({ already }) => already).sort()).toEqual([false, true]);
    expect(new Set(both.map(({ task }) => task)).size).toBe(1);

    const other = planFile(world, planText({ milestones: 1 }), 'other.md');
    expect(await world.json('loop', 'start', other)).toMatchObject({
      name: 'tally-2',
      branch: 'loop/tally-2',
    });
    await world.settle();
    expect([await loopTask(world), await loopTask(world, 'tally-2')]).toMatchObject([
      { state: 'completed' },
      { state: 'completed' },
    ]);
    const paths = (await world.events()).flatMap((one) =>
      one.type === 'workspace_ready' ? [one.data.path] : [],
    );
    expect(new Set(paths).size).toBe(2);
    expect(await world.json('loop', 'start', file), 'ended, it may be started again').toMatchObject({
      name: 'tally-3',
      already: false,
    });
  });

  test('a plan that cannot be read names the file and the line (loops 22)', async ({ world }) => {
    const file = planFile(world, 'Some words.\n\n<!-- forge-plan:start -->\n# A plan\n', 'bad.md');
    const { code, stderr } = await world.cli('loop', 'start', file);
    expect(stderr).toContain(`${file}:3: the plan has no end`);
    expect(code).toBe(1);
    const { code: none, stderr: missing } = await world.cli('loop', 'start', join(world.folder, 'none.md'));
    expect(missing).toContain('none.md');
    expect(none).toBe(1);
    expect(await world.json<LoopView[]>('loop', 'status')).toEqual([]);
  });

  test('status while it runs counts what the session has told so far, once (loops 42)', async ({ world }) => {
    const { runner, halt } = await atWork(world);
    const spent = await world.until('its usage', async () => {
      const { usage, task } = await loopStatus(world);
      return usage.length > 0 && { usage, task };
    });
    expect(spent).toMatchObject({ usage: [{ role: 'coder', costUsd: 0.25 }], task: { costUsd: 0.25 } });
    expect(await loopStatus(world)).toMatchObject({
      status: 'running',
      phase: 'coding',
      milestone: 1,
      milestones: { total: 2, done: 0 },
      task: { interrupted: false },
      restart: { restartable: true, needsForce: true, blocked: 'active' },
    });
    const text = (await world.cli('loop', 'status', 'tally')).stdout;
    expect(text).toMatch(/status +running: milestone 1 of 2: Part 1/);
    expect((await world.cli('loop', 'status')).stdout).toMatch(/tally +running +0\/2/);
    halt.lift();
    await completed(world);
    runner.send('SIGTERM');
    await runner.ended;
    const after = await loopStatus(world);
    const total = after.usage.reduce((sum, { costUsd }) => sum + (costUsd ?? 0), 0);
    expect(after.task.costUsd).toBeCloseTo(total, 9);
    expect(after.usage.filter(({ role }) => role === 'coder')[0]).toMatchObject({ costUsd: 0.25 });
  });
});

describe('loop start --mode here', () => {
  const branch = (world: World) => world.git('branch', '--show-current').trim();

  test('starts from what is checked out, and switches the checkout at the end', async ({ world }) => {
    scriptLoop(world);
    world.settings({ tracker: { trunk: 'main' } });
    world.git('switch', '--quiet', '--create', 'feature');
    world.git('commit', '--quiet', '--allow-empty', '--message', 'mine');
    const both = await world.cli(
      'loop',
      'start',
      planFile(world, planText()),
      '--mode',
      'here',
      '--pull-request',
    );
    expect(both.code).toBe(2);
    await startLoop(world, planText(), '--mode', 'here');
    await world.settle();
    expect(branch(world)).toBe('loop/tally');
    expect(existsSync(join(world.root, 'done-all.txt'))).toBe(true);
    expect(subjects(world, 'main..loop/tally')[0]).toBe('mine');
    expect(await loopStatus(world)).toMatchObject({
      status: 'completed',
      audits: 0,
      checkout: { problem: null },
    });
  });

  test('leaves a checkout alone whose operator went elsewhere meanwhile, and says so', async ({ world }) => {
    scriptLoop(world);
    world.settings({ tracker: { trunk: 'main' } });
    await startLoop(world, planText(), '--mode', 'here');
    world.git('switch', '--quiet', '--create', 'elsewhere');
    await world.settle();
    expect(branch(world)).toBe('elsewhere');
    expect(await loopStatus(world)).toMatchObject({
      status: 'completed',
      checkout: { problem: 'elsewhere is checked out meanwhile' },
    });
  });
});

test('loop status --watch tells of each change until it is interrupted, of all and of one', async ({
  world,
}) => {
  const halt = world.halt('audit');
  scriptLoop(world, { when: { role: 'auditor', turn: 1 }, steps: [{ shell: halt.shell }, CLEAN] });
  await startLoop(world, planText());
  const watching = [[], ['tally']].map((loop) => world.start(PROGRAM, 'loop', 'status', ...loop, '--watch'));
  const said = async (text: RegExp) => {
    for (const one of watching) await world.until(`${text}`, () => text.test(one.said()));
  };
  await said(/queued/);
  const runner = world.run();
  await halt.arrived();
  await said(/audit of milestone 1 of 2/);
  halt.lift();
  await said(/completed/);
  for (const one of watching) await interrupted(one);
  await runner.kill();
});

test('a list of features: one loop each, one at a time, none before those it waits for; started once', async ({
  world,
}) => {
  scriptLoop(world);
  world.settings({ agent: { max_concurrent: 3 } });
  const list = planFile(
    world,
    `concurrency: 1
features:
  - { name: docs, goal: Describe the grammar., after: [lexer] }
  - { name: lexer, goal: Cut text into words. }
  - { name: parser, goal: Read the words. }
`,
    'features.yaml',
  );
  type Started = { loops: { name: string; task: string; already: boolean }[] };
  const first = await world.json<Started>('loop', 'start', '--each', list);
  expect(first.loops).toMatchObject([
    { name: 'lexer', already: false, after: [] },
    { name: 'docs', already: false, after: ['lexer'] },
    { name: 'parser', already: false, after: [] },
  ]);
  const again = await world.json<Started>('loop', 'start', '--each', list);
  expect(again.loops).toEqual(first.loops.map((one) => ({ ...one, already: true })));

  await world.settle();
  const nameOf = new Map(first.loops.map(({ task, name }) => [task, name]));
  const course = (await world.events()).flatMap(({ type, task, data }) => {
    const { to } = data as { to?: string };
    return type === 'worker_state_transition' && (to === 'dispatched' || to === 'completed')
      ? [`${nameOf.get(task!)} ${to}`]
      : [];
  });
  expect(course).toEqual(
    ['lexer', 'docs', 'parser'].flatMap((name) => [`${name} dispatched`, `${name} completed`]),
  );
});

test('a list that is started again after one was cancelled goes on, under the runner that has the others', async ({
  world,
}) => {
  const halt = world.halt('lexer');
  scriptLoop(world, {
    when: { role: 'coder', title: 'Cut text into words.' },
    steps: [{ shell: halt.shell }, { shell: 'echo done >> done-all.txt' }],
  });
  const text = `features:
  - { name: lexer, goal: Cut text into words. }
  - { name: parser, goal: Read the words., after: [lexer] }
`;
  const start = () => world.json('loop', 'start', '--each', planFile(world, text, 'features.yaml'));
  const whyOf = async (name: string) =>
    (await world.json<{ issues: { why: string }[] }>('why', name)).issues.map(({ why }) => why).join();
  await start();
  const runner = world.run();
  await halt.arrived();
  await world.event('hold_set', ({ reason }) => reason === 'waits_for_loops');
  expect(await whyOf('parser')).toContain('waits for the loop lexer — ');
  await world.json('loop', 'cancel', 'lexer');
  expect(await whyOf('parser')).toContain(
    'the loop lexer, which ended without completing (cancelled): `forge-loop loop restart lexer`',
  );
  expect(await start()).toMatchObject({
    loops: [
      { name: 'lexer-2', already: false },
      { name: 'parser', already: true, after: ['lexer-2'] },
    ],
  });
  await halt.arrived(2);
  expect(await whyOf('parser')).toContain('waits for the loop lexer-2 — ');
  halt.lift();
  await completed(world, 'parser');
  expect(await loopTask(world, 'lexer-2')).toMatchObject({ state: 'completed' });
  await runner.kill();
});

test('what a post action breaks is not delivered, and loop status says so (loops 20, 68)', async ({
  world,
}) => {
  world.settings({
    gate: { commands: ['test ! -e broken.txt'] },
    loop: { post_action: { enabled: true, prompt: 'Tidy up.' } },
  });
  scriptLoop(world, {
    when: { role: 'coder', title: 'Tidy up.' },
    steps: [{ shell: 'touch broken.txt' }, { say: 'All tidy.' }],
  });
  await startLoop(world, planText({ milestones: 1 }));
  await world.settle();
  expect(subjects(world, 'main..loop/tally')).toEqual(['section 1: Part 1']);
  expect(await loopStatus(world)).toMatchObject({
    status: 'completed',
    completionSummary: null,
    tookBack: expect.stringMatching(/^taken back to [0-9a-f]{10}, the audited head: .*broken\.txt/),
  });
  const kept = world.git('for-each-ref', '--format=%(objectname)', 'refs/forge/').trim().split('\n');
  const files = kept.map((sha) => world.git('ls-tree', '--name-only', sha));
  expect(
    files.some((names) => names.includes('broken.txt')),
    'it can be had back',
  ).toBe(true);
});

test('a post action whose skill is missing is not begun, and loop status says so (loops 66)', async ({
  world,
}) => {
  const skills = join(world.folder, 'skills');
  world.settings({ loop: { skills, post_action: { enabled: true, skill: 'review' } } });
  scriptLoop(world);
  await startLoop(world, planText({ milestones: 1 }));
  await world.settle();
  const file = join(skills, 'review', 'SKILL.md');
  const problem = `its skill "review" is missing: there is no ${file}, or it is empty`;
  expect(await loopStatus(world)).toMatchObject({
    status: 'completed',
    completionSummary: null,
    notActed: problem,
  });
  const { data } = await world.event('post_action_ended');
  expect(data).toEqual({ summary: null, problem });
  const { id } = await loopTask(world);
  const prompts = readdirSync(world.logs(id)).filter((name) => /^coder-.*\.prompt\.md$/.test(name));
  expect(prompts, 'only its milestone was asked for').toHaveLength(1);
  expect((await world.cli('loop', 'status', 'tally')).stdout).toMatch(
    /post action +was not begun: its skill/,
  );
});

test('a file that is named in the middle of a plan is there in the next turn, and not when it is taken out', async ({
  world,
}) => {
  const halts = [1, 2].map((turn) => world.halt(`audit ${turn}`));
  const auditor = halts.map(({ shell }, at) => ({
    when: { role: 'auditor' as const, turn: at + 1 },
    steps: [{ shell }, CLEAN],
  }));
  const look = 'if [ -e .tools.json ]; then cat .tools.json; else echo none; fi >> done-all.txt';
  scriptLoop(world, ...auditor, { when: { role: 'coder' }, steps: [{ shell: look }] });
  await startLoop(world, planText({ milestones: 3 }));
  const runner = world.run();
  const from = planFile(world, 'tools\n', 'tools.json');
  let seq = 0;
  for (const [at, files] of [{ '.tools.json': from }, {}].entries()) {
    await halts[at]!.arrived();
    world.settings({ loop: { worktree_files: files } });
    ({ seq } = await world.event('config_reloaded', () => true, seq));
    halts[at]!.lift();
  }
  await completed(world);
  expect(world.git('show', 'loop/tally:done-all.txt')).toBe('none\ntools\nnone\n');
  await runner.kill();
});

test('a loop started with a sandbox that is not there waits, and is not run without it', async ({
  world,
}) => {
  world.settings({ sandbox: { kind: 'none', image: 'nowhere.invalid/no-such:image' } });
  scriptLoop(world);
  await startLoop(world, planText({ milestones: 1 }), '--sandbox', 'container');
  const runner = world.run();
  const { data } = await world.event('hold_set', ({ reason }) => reason === 'sandbox_unavailable');
  expect(data).toMatchObject({
    detail: expect.stringContaining('it was started with `--sandbox container`'),
  });
  expect(await loopTask(world)).toMatchObject({ turns: 0 });
  await runner.kill();
});

describe('loop restart', () => {
  test('a live loop is only restarted by force, and goes on in its milestone (loops 55, 57)', async ({
    world,
  }) => {
    const { runner, halt, pid } = await atWork(world);
    const refused = await world.cli('loop', 'restart', 'tally');
    expect(refused.stderr).toContain('--force');
    expect(refused.code).toBe(1);
    expect(isLiving(pid)).toBe(true);
    expect(await world.json('loop', 'restart', 'tally', '--force')).toMatchObject({
      phase: 'coding',
      milestone: 0,
      runnerAlive: true,
    });
    expect(isLiving(pid)).toBe(false);
    halt.lift();
    await completed(world);
    runner.send('SIGTERM');
    await runner.ended;
    expect((await loopTask(world)).plan).toMatchObject({ iterations: 0 });
    const { costUsd } = await (await world.store()).spend((await loopTask(world)).id);
    expect(costUsd, 'what was spent before counts').toBeGreaterThan(0.5);
  });

  test('of two restarts at once one wins (loops 59)', async ({ world }) => {
    const { runner, halt } = await atWork(world);
    await runner.kill();
    const both = await Promise.all([1, 2].map(() => world.cli('loop', 'restart', 'tally')));
    expect(both.map(({ code }) => code).sort()).toEqual([0, 1]);
    const asked = (await world.events()).filter(
      ({ type, data }) => type === 'request_made' && (data as { kind: string }).kind === 'restart',
    );
    expect(asked).toHaveLength(1);
    halt.lift();
    await world.settle();
    expect(await loopTask(world)).toMatchObject({ state: 'completed' });
  });

  test('a missing worktree blocks, until it is made anew from its branch (loops 56)', async ({ world }) => {
    const halt = world.halt('turn');
    scriptLoop(world, {
      when: { role: 'coder', round: 2 },
      steps: [{ shell: halt.shell }, { shell: 'echo done >> done-all.txt' }],
    });
    await startLoop(world, planText());
    const runner = world.run();
    await halt.arrived();
    await world.json('loop', 'cancel', 'tally');
    runner.send('SIGTERM');
    await runner.ended;
    const { workspace } = await loopTask(world);
    rmSync(workspace!, { recursive: true });
    const refused = await world.cli('loop', 'restart', 'tally');
    expect(refused.stderr).toContain(`${workspace} is gone`);
    expect(refused.stderr).toContain('--recreate-worktree');
    expect(refused.code).toBe(1);
    expect((await loopStatus(world)).restart).toMatchObject({
      restartable: false,
      blocked: 'missing_worktree',
    });
    expect(await loopTask(world)).toMatchObject({ state: 'abandoned' });

    halt.lift();
    expect(await world.json('loop', 'restart', 'tally', '--recreate-worktree')).toMatchObject({
      phase: 'coding',
      milestone: 1,
      rebuiltAt: expect.stringMatching(/^[0-9a-f]{40}$/),
    });
    await world.settle();
    expect(await loopTask(world)).toMatchObject({ state: 'completed' });
    expect(subjects(world, 'main..loop/tally')).toEqual(['section 1: Part 1', 'section 2: Part 2']);
  });
});

describe('loop cancel', () => {
  test('by its name before a part of it, and once (loops 60, 61)', async ({ world }) => {
    for (const name of ['tally', 'tally-more', 'other'])
      await world.json('loop', 'start', planFile(world, planText({ name })));
    const ambiguous = await world.cli('loop', 'cancel', 'tall');
    expect(ambiguous.stderr).toContain('tally, tally-more');
    expect(ambiguous.code).toBe(1);
    expect(await world.json('loop', 'cancel', 'tally')).toMatchObject({ name: 'tally', already: false });
    expect(await world.json('loop', 'cancel', 'oth')).toMatchObject({ name: 'other', already: false });
    const states = async () =>
      (await world.json<LoopView[]>('loop', 'status')).map(({ name, status }) => [name, status]);
    expect(await states()).toEqual([
      ['tally', 'cancelled'],
      ['tally-more', 'running'],
      ['other', 'cancelled'],
    ]);
    const before = await world.events();
    expect(await world.json('loop', 'cancel', 'tally')).toMatchObject({ name: 'tally', already: true });
    expect(await world.events()).toEqual(before);
    const unknown = await world.cli('loop', 'cancel', 'nothing-like-it');
    expect(unknown.stderr).toContain('Known: other, tally-more, tally');
    expect(unknown.code).toBe(1);
  });

  test('its worktree is kept, unless asked; what is not committed is committed first (loops 61, 63)', async ({
    world,
  }) => {
    const { runner, pid } = await atWork(world);
    await world.json('loop', 'cancel', 'tally');
    expect(isLiving(pid)).toBe(false);
    runner.send('SIGTERM');
    await runner.ended;
    const { workspace, state, reason } = await loopTask(world);
    expect({ state, reason }).toEqual({ state: 'abandoned', reason: 'cancelled' });
    expect(existsSync(workspace!)).toBe(true);
    writeFileSync(join(workspace!, 'late.txt'), 'late\n');

    const again = await world.json('loop', 'cancel', 'tally', '--cleanup-worktree');
    expect(again).toMatchObject({ already: true, reaped: workspace });
    expect(existsSync(workspace!)).toBe(false);
    expect(world.git('show', 'loop/tally:done-all.txt')).toBe('done\n');
    expect(world.git('show', 'loop/tally:late.txt')).toBe('late\n');
  });

  test('one whose runner is gone is ended without another (loops 60)', async ({ world }) => {
    const { runner, pid } = await atWork(world);
    await runner.kill();
    expect(await world.json('loop', 'cancel', 'tally')).toMatchObject({ already: false });
    expect(isLiving(pid)).toBe(false);
    expect(await loopStatus(world)).toMatchObject({
      status: 'cancelled',
      restart: { restartable: true, needsForce: false },
    });
  });

  /** The runner is asked, and dies before it acted on it. */
  async function cancelledAsItDies(
    world: World,
    runner: Program,
    ...args: string[]
  ): Promise<{ answer: Json; saw: Task }> {
    runner.send('SIGSTOP');
    const answer = world.json('loop', 'cancel', 'tally', ...args);
    await world.event('request_made', ({ kind }) => kind === 'cancel');
    const saw = await loopTask(world);
    await runner.kill();
    return { answer: await answer, saw };
  }

  test.for<[string[]]>([[[]], [['--cleanup-worktree']]])(
    'one whose runner dies while it is asked is ended, and its agent before its worktree goes: %j (loops 60, 61)',
    async ([args], { world }) => {
      const { runner, pid } = await atWork(world);
      const { workspace } = await loopTask(world);
      const { answer, saw } = await cancelledAsItDies(world, runner, ...args);
      expect(saw.state, 'its runner had not acted').toBe('running');
      expect(await loopTask(world)).toMatchObject({ state: 'abandoned', reason: 'cancelled' });
      expect(isLiving(pid)).toBe(false);
      const reaped = args.length > 0 ? workspace : null;
      expect(answer).toMatchObject({ already: false, pending: false, reaped });
      expect(existsSync(workspace!)).toBe(reaped === null);
      if (reaped !== null) expect(world.git('show', 'loop/tally:done-all.txt')).toBe('done\n');
    },
  );

  test('one of an issue, whose runner dies while it is asked, is left to the next, worktree and all (loops 60, 61)', async ({
    world,
  }) => {
    const { runner, halt } = await atWork(world, 'issue');
    const { workspace } = await loopTask(world);
    const { answer } = await cancelledAsItDies(world, runner, '--cleanup-worktree');
    expect(await loopTask(world)).toMatchObject({ state: 'running' });
    expect(answer).toMatchObject({ already: false, pending: true, reaped: null, kept: workspace });
    expect(existsSync(workspace!)).toBe(true);
    halt.lift();
    await world.settle();
    expect(await loopTask(world)).toMatchObject({ state: 'abandoned', reason: 'cancelled' });
    const asked = (await world.events()).filter(
      ({ type, data }) => type === 'request_made' && (data as { kind: string }).kind === 'cancel',
    );
    expect(asked).toHaveLength(1);
  });
});

describe('loop sweep', () => {
  test('what is done goes, what could go on stays, and one failure stops nothing (loops 62, 63)', async ({
    world,
  }) => {
    // The runner dies before it has removed what is done.
    const [removing, turn] = [world.halt('removing'), world.halt('turn')];
    world.settings({ hooks: { before_remove: removing.shell }, agent: { max_concurrent: 4 } });
    scriptLoop(
      world,
      ...['stopped', 'going'].map((name) => ({
        when: { role: 'coder' as const, round: 2, title: `every part of ${name}` },
        steps: [{ shell: turn.shell }, { shell: 'echo done >> done-all.txt' }],
      })),
    );
    for (const name of ['odd', 'done', 'stopped', 'going'])
      await world.json('loop', 'start', planFile(world, planText({ name })));
    const runner = world.run();
    await removing.arrived(2);
    await turn.arrived(2);
    await world.json('loop', 'cancel', 'stopped');
    await runner.kill();
    const [odd, done, stopped, going] = await Promise.all(
      ['odd', 'done', 'stopped', 'going'].map(async (name) => (await loopTask(world, name)).workspace!),
    );
    writeFileSync(join(done!, 'late.txt'), 'late\n');
    rmSync(odd!, { recursive: true });
    mkdirSync(odd!);
    writeFileSync(join(odd!, 'mine.txt'), 'not made by us\n');

    expect(await world.json('loop', 'sweep')).toMatchObject([
      { name: 'odd', removed: [], problem: expect.stringContaining(odd!) },
      { name: 'done', removed: ['worktree'], problem: null },
      { name: 'stopped', removed: ['registration'], problem: null },
    ]);
    expect([odd, done, stopped, going].map((path) => existsSync(path!))).toEqual([true, false, true, true]);
    expect(world.git('show', 'loop/done:late.txt'), 'saved before it went').toBe('late\n');
    expect((await loopTask(world, 'going')).state).toBe('running');

    rmSync(odd!, { recursive: true });
    removing.lift();
    turn.lift();
    for (const name of ['stopped', 'going']) await world.json('loop', 'restart', name);
    await world.settle();
    const loops = await world.json<LoopView[]>('loop', 'status');
    expect(loops.map(({ status }) => status)).toEqual(Array(4).fill('completed'));
  });
});

describe('delivery', () => {
  test('as a pull request it goes through the critic onto trunk, and nothing says #null', async ({
    world,
  }) => {
    scriptLoop(world);
    await startLoop(world, planText(), '--pull-request');
    const ended = await world.settle();
    const task = await loopTask(world);
    expect(task).toMatchObject({ state: 'merged', issue: null, criticRounds: 1, reason: null });
    expect(world.read('done-all.txt')).toBe('done\ndone\n');
    expect(world.git('rev-parse', 'main').trim()).toBe(task.mergedSha);
    const shown = await Promise.all(
      [['loop', 'status', 'tally'], ['status', '--all'], ['events'], ['pull', 'show', `${task.pull}`]].map(
        (args) => world.cli(...args),
      ),
    );
    expect([ended, ...shown].map(({ stdout, stderr }) => stdout + stderr).join('\n')).not.toMatch(
      /#null|undefined|issue null/,
    );
    expect(world.git('log', '-1', '--format=%B', 'main')).not.toContain('null');
    expect(await loopStatus(world)).toMatchObject({
      status: 'completed',
      delivers: 'pull',
      restart: { blocked: 'completed' },
    });
  });

  test('an issue whose body is a plan is worked by its milestones, judged, merged and closed', async ({
    world,
  }) => {
    scriptLoop(world);
    const issue = await world.issue({ title: 'Count the parts', body: planText() });
    await world.settle();
    const task = await world.task(issue);
    expect(task).toMatchObject({
      state: 'merged',
      criticRounds: 1,
      plan: { audits: 3, milestones: [{ done: { commit: expect.any(String) } }, { done: {} }] },
    });
    expect((await world.turns(issue)).map(({ role, prompt }) => [role, prompt])).toEqual([
      ['coder', 'plan'],
      ['auditor', 'audit'],
      ['coder', 'plan'],
      ['auditor', 'audit'],
      ['auditor', 'final_audit'],
      ['critic', 'critic'],
    ]);
    expect(world.read('done-all.txt')).toBe('done\ndone\n');
    expect(await world.json('issue', 'show', String(issue))).toMatchObject({ state: 'closed' });
    expect(await world.json<LoopView[]>('loop', 'status')).toMatchObject([{ status: 'completed' }]);
  });

  test('a plan in an issue that cannot be read is declined, with its line (loops 22)', async ({ world }) => {
    const issue = await world.issue({ body: 'Read this:\n<!-- forge-plan:start -->\n# A plan\n' });
    await world.settle(4);
    expect(world.comments(issue)).toContain('line 2: the plan has no end');
    expect(await world.labels(issue)).toEqual(['loop:needs-spec']);
    expect(await (await world.store()).tasks()).toEqual([]);
  });
});
