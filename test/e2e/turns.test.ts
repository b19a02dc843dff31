/** The turn loop with real agents: continuation, caps, limits, and everything that stops a turn in flight. */
import { chmodSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { quoted } from '../support/e2e/halt.ts';
import { expectMergedOnce } from '../support/e2e/merged-once.ts';
import { isLiving, processesWith } from '../support/e2e/proc.ts';
import { type Json, test, type World } from '../support/e2e/world.ts';

describe('continuation', () => {
  test('a gate that is always red: max_turns turns, then abandoned with its worktree preserved (dispatch 22)', async ({
    world,
  }) => {
    // Green on trunk: what is red there as well is a person's matter.
    const red = 'if ls tries.* >/dev/null 2>&1; then echo still wrong; exit 1; fi';
    world.settings({ agent: { max_turns: 3 }, gate: { commands: [red] } });
    world.script({ when: { role: 'coder' }, steps: [{ append: { 'tries.txt': 'again\n' } }] });
    const issue = await world.issue({});
    await world.settle(4);
    const task = await world.task(issue);
    expect(task).toMatchObject({ state: 'abandoned', reason: 'max_turns_reached', turns: 3, pull: null });
    expect((await world.turns(issue)).map((turn) => [turn.turn, turn.status])).toEqual([
      [1, 'finished'],
      [2, 'finished'],
      [3, 'finished'],
    ]);
    expect(readFileSync(join(task.workspace!, 'tries.txt'), 'utf8')).toBe('again\n'.repeat(3));
    expect(await world.event('worktree_preserved')).toMatchObject({ data: { path: task.workspace } });
    expect(world.git('show', `${task.branch}:tries.txt`), 'and it is on the branch').toBe(
      'again\n'.repeat(3),
    );
    expect(await world.labels(issue)).toEqual(['loop:needs-review']);
    expect(world.comments(issue)).toContain('max_turns_reached');
  });

  test('fails once, then passes: two turns, and the second is told only why the first failed (dispatch 19, 23)', async ({
    world,
  }) => {
    world.settings({ gate: { commands: ['grep -x whole answer.txt'] } });
    world.script(
      { when: { role: 'coder', round: 1 }, steps: [{ write: { 'answer.txt': 'half\n' } }] },
      { when: { role: 'coder' }, steps: [{ write: { 'answer.txt': 'whole\n' } }] },
    );
    const issue = await world.issue({
      body: 'The file `answer.txt` must contain `whole`. BODY-OF-THE-ISSUE',
    });
    await world.settle();
    const { sessionIds, id } = await expectMergedOnce(world, issue);
    expect(sessionIds).toHaveLength(1);
    expect((await world.turns(issue)).map(({ role, prompt }) => [role, prompt])).toEqual([
      ['coder', 'task'],
      ['coder', 'continuation'],
      ['critic', 'critic'],
    ]);
    const [first, second] = promptsOf(world, id, 'coder');
    expect(first).toContain('BODY-OF-THE-ISSUE');
    expect(second).toContain('grep -x whole answer.txt');
    expect(second).toContain('exit 1');
    expect(second).not.toContain('BODY-OF-THE-ISSUE');
  });

  test('the issue is closed between turns: no further turn, no process started (dispatch 24)', async ({
    world,
  }) => {
    const halt = world.halt('gate');
    const starts = join(world.folder, 'starts');
    world.settings({ gate: { commands: [`[ -e x ] || exit 0; ${halt.shell}; exit 1`] } });
    world.script({
      when: { role: 'coder' },
      steps: [{ shell: `echo started >> ${quoted(starts)}; echo x >> x` }],
    });
    const issue = await world.issue({});
    const runner = world.run('--until-idle');
    await halt.arrived();
    await world.json('issue', 'close', String(issue));
    halt.lift();
    await world.finished(runner);
    expect(await world.task(issue)).toMatchObject({ state: 'abandoned', reason: 'issue_closed', turns: 1 });
    expect(readFileSync(starts, 'utf8')).toBe('started\n');
    expect(world.git('log', '--format=%s', 'main'), 'nothing landed').toBe(
      'Configure the loop\nConfigure the loop\n',
    );
  });
});

describe('a turn in flight is stopped', () => {
  const stuck = (world: World) => {
    const halt = world.halt('turn');
    world.script({
      when: { role: 'coder' },
      steps: [{ write: { 'half.txt': 'half\n' } }, { shell: halt.shell }],
    });
    return halt;
  };

  test('by loop:abandon on the issue: the worktree is preserved, what was done is saved (dispatch 24)', async ({
    world,
  }) => {
    const halt = stuck(world);
    const issue = await world.issue({});
    const runner = world.run('--until-idle');
    const [pid] = await halt.arrived();
    world.editIssue(issue, (text) => text.replace('[loop:running]', '[loop:running, loop:abandon]'));
    await world.finished(runner);
    const task = await world.task(issue);
    expect(task).toMatchObject({ state: 'abandoned', reason: 'operator_abandon' });
    expect(await world.turns(issue)).toMatchObject([{ status: 'cancelled' }]);
    expect(isLiving(pid!)).toBe(false);
    expect(processesWith(`FORGE_MARK=${task.id}`)).toEqual([]);
    expect(existsSync(task.workspace!)).toBe(true);
    expect(world.git('show', `${task.branch}:half.txt`)).toBe('half\n');
  });

  test('by `task cancel`, long before the next poll; `task restart` then goes on with the same work (dispatch 25)', async ({
    world,
  }) => {
    world.settings({ polling: { interval_ms: 600_000 } });
    const halt = stuck(world);
    const issue = await world.issue({});
    const runner = world.run('--until-idle');
    const [pid] = await halt.arrived();
    await world.json('task', 'cancel', String(issue));
    await world.finished(runner);
    const task = await world.task(issue);
    expect(task).toMatchObject({ state: 'abandoned', reason: 'cancelled' });
    expect(isLiving(pid!)).toBe(false);

    world.script();
    await world.json('task', 'restart', String(issue));
    await world.settle();
    const [after] = (await world.status()).tasks;
    expect(after).toMatchObject({ id: task.id, attempt: 1, state: 'merged' });
    expect(world.read('half.txt')).toBe('half\n');
  });

  test('by the budget, as soon as the usage is known, and the usage is not lost (dispatch 28, 51)', async ({
    world,
  }) => {
    world.settings({ budget: { usd: 1 } });
    const halt = world.halt('turn');
    world.script({
      when: { role: 'coder' },
      steps: [{ usageNow: { input: 1000, output: 10, costUsd: 1.5 } }, { shell: halt.shell }],
    });
    const issue = await world.issue({});
    await world.settle(4);
    expect(await world.task(issue)).toMatchObject({ state: 'abandoned', reason: 'budget_exhausted' });
    const [task] = (await world.status()).tasks;
    expect(task).toMatchObject({ costUsd: 1.5, tokens: 1010, spendComplete: false });
    expect(processesWith(`FORGE_MARK=${task!.id}`)).toEqual([]);
  });

  test('by the wall clock of its budget (dispatch 28)', async ({ world }) => {
    world.settings({ budget: { wall_ms: 1000 } });
    stuck(world);
    const issue = await world.issue({});
    await world.settle(4);
    const task = await world.task(issue);
    expect(task).toMatchObject({ state: 'abandoned', reason: 'budget_exhausted' });
    expect(processesWith(`FORGE_MARK=${task.id}`)).toEqual([]);
  });

  /**
   * One turn has ended, and the gate after it waits: the session has begun, and whatever cuts the next turns short can't
   * be too early for it. The settings given count from then on.
   */
  const afterOneTurn = async (world: World, agent: Json) => {
    const turn = world.halt('turn');
    const gate = world.halt('gate');
    const commands = [`${gate.shell}; ls done-*.txt`];
    world.settings({ gate: { commands } });
    world.script(
      { when: { role: 'coder', turn: 1 }, steps: [{ write: { 'half.txt': 'half\n' } }] },
      { when: { role: 'coder' }, steps: [{ shell: turn.shell }] },
    );
    const issue = await world.issue({});
    const runner = world.run('--until-idle');
    await gate.arrived();
    world.settings({ agent, gate: { commands } });
    const { seq } = await world.event('config_reloaded');
    gate.lift();
    const mend = async () => {
      world.settings({ gate: { commands } });
      await world.event('config_reloaded', () => true, seq);
      turn.lift();
    };
    return { issue, runner, mend };
  };

  test('by its own time limit, three times in a row: error_max_retries on one session (dispatch 28)', async ({
    world,
  }) => {
    const { issue, runner } = await afterOneTurn(world, { turn_timeout_ms: 5000 });
    await world.finished(runner, 4);
    const task = await world.task(issue);
    expect(task).toMatchObject({ state: 'abandoned', reason: 'error_max_retries', turns: 4 });
    expect(task.sessionIds).toHaveLength(1);
    expect((await world.turns(issue)).map((turn) => turn.status)).toEqual([
      'finished',
      'timed_out',
      'timed_out',
      'timed_out',
    ]);
    expect(processesWith(`FORGE_MARK=${task.id}`)).toEqual([]);
  });

  test('by silence: it waits out a backoff, not a slot, and `resume` cuts that short (dispatch 41)', async ({
    world,
  }) => {
    const { issue, runner, mend } = await afterOneTurn(world, { stall_timeout_ms: 3000 });
    const held = await world.event('hold_set');
    expect(held.data).toMatchObject({ reason: 'retry_backoff', detail: expect.stringContaining('3 s') });
    expect(held.data.until! - held.at).toBeGreaterThanOrEqual(10_000);
    expect(held.data.until! - held.at).toBeLessThanOrEqual(12_500);
    expect(await world.status()).toMatchObject({
      slots: { used: 0 },
      tasks: [{ state: 'running', turn: null }],
    });
    await mend();
    await world.json('resume', String(issue));
    // Nobody ever does the issue, nor mends the gate, which is red on trunk too: it waits for a person.
    await world.finished(runner, 3);
    const turns = (await world.turns(issue)).filter((turn) => turn.role === 'coder');
    expect(turns.slice(0, 3).map((turn) => [turn.status, turn.prompt])).toEqual([
      ['finished', 'task'],
      ['stalled', 'continuation'],
      ['finished', 'continuation'],
    ]);
  });
});

test('SIGKILL of the agent is a failed turn; the backoff outlives the runner, and the session goes on (dispatch 27, 41)', async ({
  world,
}) => {
  const halt = world.halt('turn');
  const log = join(world.folder, 'agent log');
  const agent = join(world.folder, 'an agent.sh');
  writeFileSync(
    agent,
    `#!/bin/sh
if [ "$FORGE_ROLE" = critic ]; then
  echo '{"structured": {"verdict": "APPROVE", "findings": []}}' > "$FORGE_RESULT"
  exit 0
fi
echo "$FORGE_SESSION_ID $FORGE_TURN $FORGE_RESUME $(cat "$FORGE_SESSION_DIR/memory" 2>/dev/null)" >> ${quoted(log)}
echo remembered > "$FORGE_SESSION_DIR/memory"
echo begun > begun.txt
${halt.shell}
echo done > done-1.txt
`,
  );
  chmodSync(agent, 0o755);
  world.settings({ agent: { kind: 'command', command: `exec ${quoted(agent)}` } });
  const issue = await world.issue({});
  const first = world.run();
  const [pid] = await halt.arrived();
  process.kill(pid!, 'SIGKILL');
  const failed = await world.event('turn_completed');
  expect(failed.data).toMatchObject({ status: 'failed', code: 'crashed' });
  const held = await world.event('hold_set');
  await first.kill();

  halt.lift();
  const second = world.run('--until-idle');
  await world.event('runner_started', (_, { seq }) => seq > held.seq);
  expect((await world.task(issue)).hold).toMatchObject(held.data);
  await world.json('resume', String(issue));
  await world.finished(second);
  const { sessionIds } = await expectMergedOnce(world, issue);
  expect(readFileSync(log, 'utf8').trim().split('\n')).toEqual([
    `${sessionIds[0]} 1 0 `,
    `${sessionIds[0]} 2 1 remembered`,
  ]);
  expect(world.read('begun.txt')).toBe('begun\n');
});

/** What the agent was told, turn by turn, as the loop keeps it beside its logs. */
function promptsOf(world: World, task: string, role: string): string[] {
  const folder = world.logs(task);
  const names = readdirSync(folder).filter(
    (name) => name.startsWith(`${role}-`) && name.endsWith('.prompt.md'),
  );
  return names.sort().map((name) => readFileSync(join(folder, name), 'utf8'));
}
