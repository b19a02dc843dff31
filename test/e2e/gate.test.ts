/** The gate on real processes: what was red before, what is flaky, what can't run, what need not run twice. */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import type { LoopEvent } from '../../src/core/event.ts';
import { onCandidate, quoted } from '../support/e2e/halt.ts';
import { expectMergedOnce } from '../support/e2e/merged-once.ts';
import { isLiving } from '../support/e2e/proc.ts';
import { startProgram } from '../support/e2e/program.ts';
import { makeWorld, test, type World } from '../support/e2e/world.ts';

describe('failing on trunk before the work began', () => {
  // By a pattern: a file that the gate names is protected, and the coder has to change this one.
  const GATE = 'if ls old-* >/dev/null 2>&1; then echo "FAIL the old test $$"; exit 1; fi';
  /** The same, and it names its tests: each file with a bug is one that fails. */
  const TAP =
    'set -- *-bug.txt; [ -e "$1" ] || exit 0; echo "TAP version 13"; echo "ok 1 - the rest"; n=1; for t; do n=$((n+1)); echo "not ok $n - $t"; done; echo "1..$n"; exit 1';

  function withOldBug(world: World, preexisting: string, gate = GATE): void {
    world.write('old-bug.txt', 'x\n');
    world.settings({ agent: { max_turns: 2 }, gate: { commands: [gate, 'ls done-*.txt'], preexisting } });
  }

  test('block: the coder is told so, and when it leaves it everybody else is, instead of further turns', async ({
    world,
  }) => {
    withOldBug(world, 'block', TAP);
    world.script({
      when: { role: 'coder', turn: 2 },
      steps: [{ expectPrompt: { contains: ['also fails on trunk', 'same tests'] } }],
    });
    const issue = await world.issue({});
    await world.settle(3);
    expect(await world.task(issue)).toMatchObject({ state: 'running', turns: 2 });
    const words = 'was failing on trunk before the work began';
    expect(world.comments(issue)).toContain(words);
    expect(world.comments(issue)).toContain('Fix trunk');
    expect(world.comments(issue), 'here it would help').toContain('allow_unchanged');
    const { issues } = await world.json<{ issues: { why: string }[] }>('why', String(issue));
    expect(issues[0]?.why).toContain(words);
    expect(issues[0]?.why).toContain('held (trunk_red)');
    const bases = of(await world.events(), 'gate_base_completed').filter(({ command }) => command === TAP);
    expect(bases, 'once for all').toHaveLength(1);

    world.settings({ gate: { commands: [TAP, 'ls done-*.txt'], preexisting: 'allow_unchanged' } });
    await world.settle();
    await expectMergedOnce(world, issue);
  });

  test('block: a coder that mends it merges', async ({ world }) => {
    withOldBug(world, 'block');
    world.script({ when: { role: 'coder', turn: 2 }, steps: [{ shell: 'rm old-bug.txt' }] });
    const issue = await world.issue({});
    await world.settle();
    expect(await expectMergedOnce(world, issue)).toMatchObject({ turns: 2 });
  });

  test('allow_unchanged: it merges, and the pull request says what is red', async ({ world }) => {
    withOldBug(world, 'allow_unchanged', TAP);
    const issue = await world.issue({});
    await world.settle();
    expect(await expectMergedOnce(world, issue)).toMatchObject({ turns: 1 });
    expect(world.pulls(issue)[0]).toMatch(/exit 1; also fails on trunk .*same tests/);
    const gates = of(await world.events(), 'gate_completed').map(({ scope, evidence }) => [
      scope,
      evidence.outcome,
      evidence.results[0]?.outcome,
    ]);
    expect(gates).toEqual([
      ['work', 'pass', 'fail'],
      ['candidate', 'pass', 'fail'],
    ]);
  });

  test('allow_unchanged: one more failing test blocks', async ({ world }) => {
    world.write('old-bug.txt', 'x\n');
    world.settings({
      agent: { max_turns: 2 },
      gate: { commands: [TAP], preexisting: 'allow_unchanged' },
    });
    world.script(
      { when: { role: 'coder', turn: 1 }, steps: [{ write: { 'new-bug.txt': 'x\n', 'done.txt': 'x\n' } }] },
      {
        when: { role: 'coder', turn: 2 },
        steps: [
          { expectPrompt: { contains: ['failing only here: new-bug.txt'] } },
          { shell: 'rm new-bug.txt' },
        ],
      },
    );
    const issue = await world.issue({});
    await world.settle();
    expect(await expectMergedOnce(world, issue)).toMatchObject({ turns: 2 });
  });
});

test('a flaky command is run once more: a pass that says so in the pull request and the events', async ({
  world,
}) => {
  const seen = join(world.folder, 'seen');
  const unlucky = `[ -e '${seen}' ] || { touch '${seen}'; echo unlucky; exit 1; }`;
  world.settings({ gate: { commands: [`ls done-*.txt >/dev/null 2>&1 || exit 0; ${unlucky}`] } });
  const issue = await world.issue({});
  await world.settle();
  await expectMergedOnce(world, issue);
  expect(world.pulls(issue)[0]).toContain('flaky: failed (exit 1), then passed when rerun');
  const [work, candidate] = of(await world.events(), 'gate_completed');
  expect(work?.evidence.results[0]).toMatchObject({
    outcome: 'pass',
    first: { outcome: 'fail', exitCode: 1, tail: 'unlucky\n' },
  });
  expect(candidate?.evidence.results[0]?.first).toBeUndefined();
});

test('`run` beside a `doctor --gate` that is at work leaves that one alone, and both find the same', async ({
  world,
}) => {
  const halt = world.halt('gate');
  world.settings({ gate: { commands: [`ls done-*.txt || { ${halt.shell}; }`] } });
  const issue = await world.issue({});
  const doctor = startProgram(['doctor', '--gate'], { cwd: world.root, env: world.env });
  world.atEnd(() => void doctor.kill());
  const [pid] = await halt.arrived();
  const runner = world.run('--until-idle');
  await halt.arrived(2);
  expect(isLiving(pid!), 'what doctor runs').toBe(true);
  halt.lift();
  expect(await doctor.ended).toMatchObject({ stdout: expect.stringMatching(/ok +gate run +passes/) });
  await world.finished(runner);
  await expectMergedOnce(world, issue);
  const tried = of(await world.events(), 'gate_tried').map(({ outcome }) => outcome);
  expect(tried).toEqual(['pass', 'pass']);
});

test('a command that can’t run is nobody’s failure: held, a person told once, run again on resume', async ({
  world,
}) => {
  const tool = join(world.folder, 'a tool');
  const install = () => writeFileSync(tool, '#!/bin/sh\n', { mode: 0o755 });
  install();
  world.settings({ gate: { commands: [quoted(tool)] } });
  world.script({ when: { role: 'coder' }, steps: [{ shell: `rm ${quoted(tool)}; echo done > done-1.txt` }] });
  const issue = await world.issue({});
  await world.settle(3);
  expect(await world.task(issue)).toMatchObject({ turns: 1, hold: { reason: 'gate_could_not_run' } });
  await world.json('resume', String(issue));
  await world.settle(3);
  const said = world.comments(issue).match(/the gate could not run/g);
  expect(said, 'said once, though it happened twice').toHaveLength(1);
  install();
  await world.json('resume', String(issue));
  await world.settle();
  expect(await expectMergedOnce(world, issue)).toMatchObject({ turns: 1 });
});

test('the same candidate again is not tested again, and is when the commands changed', async ({ world }) => {
  const halt = world.halt('candidate');
  const count = join(world.folder, 'count');
  const command = onCandidate({ ...halt, shell: `echo x >> '${count}'; ${halt.shell}` });
  world.settings({ gate: { commands: [command] } });
  const issue = await world.issue({});
  const runner = world.run('--until-idle');
  await halt.arrived();
  const inTheWay = join(world.root, `done-${issue}.txt`);
  writeFileSync(inTheWay, 'mine\n');
  halt.lift();
  const { stderr } = await world.finished(runner, 3);
  expect(stderr).toContain(`done-${issue}.txt`);
  rmSync(inTheWay);
  await world.settle();
  await expectMergedOnce(world, issue);
  const gates = of(await world.events(), 'gate_completed').map(({ scope, reused }) => [
    scope,
    reused ?? false,
  ]);
  expect(gates).toEqual([
    ['work', false],
    ['candidate', false],
    ['candidate', true],
  ]);
  expect(readFileSync(count, 'utf8')).toBe('x\n');
});

test('a criterion’s command is red, then green; its result carries the criterion', async ({ world }) => {
  world.settings({ gate: { commands: 'none', criteria_commands: 'always' } });
  const criteria = [{ id: 'c1', met: 'met', evidence: './answer.sh' }];
  world.script(
    {
      when: { role: 'coder', turn: 2 },
      steps: [
        { expectPrompt: { contains: ['./answer.sh', 'command not found'] } },
        { shell: 'printf "#!/bin/sh\\necho 42\\n" > answer.sh; chmod +x answer.sh' },
      ],
    },
    { when: { role: 'critic' }, steps: [{ answer: { verdict: 'APPROVE', criteria } }] },
  );
  const body = '## Acceptance\n\n- [ ] It answers. \n  verify: ./answer.sh\n';
  const issue = await world.issue({ body });
  await world.settle();
  expect(await expectMergedOnce(world, issue)).toMatchObject({ turns: 2 });
  expect(world.comments(issue)).toMatch(/\| c1 \| It answers.*`\.\/answer\.sh`: passed/);
  expect((await world.cli('task', 'show', String(issue))).stdout).toMatch(
    /merge gate: permitted, all \d+ conditions hold[\s\S]*yes the gate passed on the candidate: pass on \w+ \(`\.\/answer\.sh` passed\)/,
  );
  expect((await world.cli('events', '--type', 'merge_decided')).stdout).toMatch(
    /yes every criterion is met: all 1 met/,
  );
  const gates = of(await world.events(), 'gate_completed').map(({ scope, evidence }) => [
    scope,
    evidence.outcome,
    evidence.results.map(({ criterion }) => criterion),
  ]);
  expect(gates).toEqual([
    ['work', 'fail', ['c1']],
    ['work', 'pass', ['c1']],
    ['candidate', 'pass', ['c1']],
  ]);
});

function of<T extends LoopEvent['type']>(
  events: readonly LoopEvent[],
  type: T,
): Extract<LoopEvent, { type: T }>['data'][] {
  return events.flatMap((one) => (one.type === type ? [one.data as never] : []));
}

test('a runner that begins ends no trial of another repository', async ({ world }) => {
  const halt = world.halt('setup');
  world.settings({ gate: { setup: [halt.shell], commands: ['true'] } });
  await world.issue({});
  const runner = world.run('--until-idle');
  await halt.arrived();
  const other = makeWorld();
  try {
    await other.issue({});
    await other.settle();
  } finally {
    await other.dispose();
  }
  halt.lift();
  const tried = await world.event('gate_tried');
  expect(tried.data).toMatchObject({ outcome: 'pass', detail: '' });
  await world.finished(runner);
});
