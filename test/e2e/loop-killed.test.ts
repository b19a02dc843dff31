/** SIGKILL of the runner in each phase of a plan. The next runner leaves it alone; a person's restart goes on where it was. */
import { describe, expect } from 'vitest';
import type { Halt } from '../support/e2e/halt.ts';
import { CLEAN, DIRTY, loopStatus, loopTask, planText, scriptLoop, startLoop } from '../support/e2e/loops.ts';
import { isLiving } from '../support/e2e/proc.ts';
import { type Json, type Rule, test, type World } from '../support/e2e/world.ts';

interface Moment {
  phase: string;
  /** From 1. */
  milestone: number;
  rules: (halt: Halt) => Rule[];
  settings?: Json;
  /** What its session was told before the kill, and what the one after the restart is told. */
  prompts: [before: string, after: string];
}

const ADD_LINE = { shell: 'echo done >> done-all.txt' };

const MOMENTS: Moment[] = [
  {
    phase: 'coding',
    milestone: 2,
    rules: (halt) => [{ when: { role: 'coder', round: 2 }, steps: [ADD_LINE, { shell: halt.shell }] }],
    prompts: ['plan', 'plan'],
  },
  {
    phase: 'auditing',
    milestone: 2,
    rules: (halt) => [{ when: { role: 'auditor', round: 2 }, steps: [{ shell: halt.shell }, CLEAN] }],
    prompts: ['audit', 'audit'],
  },
  {
    phase: 'final_auditing',
    milestone: 2,
    rules: (halt) => [{ when: { role: 'auditor', round: 3 }, steps: [{ shell: halt.shell }, CLEAN] }],
    prompts: ['final_audit', 'final_audit'],
  },
  {
    phase: 'final_audit_fix',
    milestone: 2,
    rules: (halt) => [
      { when: { role: 'auditor', round: 3 }, steps: [DIRTY] },
      { when: { role: 'coder', round: 3 }, steps: [ADD_LINE, { shell: halt.shell }] },
    ],
    prompts: ['final_fix', 'final_fix'],
  },
  {
    phase: 'post_action',
    milestone: 2,
    settings: { loop: { post_action: { enabled: true, prompt: 'Say what came of it.' } } },
    rules: (halt) => [
      { when: { role: 'coder', round: 3 }, steps: [{ shell: halt.shell }, { say: 'All is well.' }] },
    ],
    prompts: ['post_action', 'post_action'],
  },
];

/** All that is kept of a loop. */
async function kept(world: World): Promise<unknown> {
  const { id } = await loopTask(world);
  const store = await world.store();
  return {
    row: await store.task(id),
    events: await store.events({ task: id }),
    actions: await store.pendingActions(id),
    turns: await store.turns(id),
  };
}

describe('the runner is killed', () => {
  test.for(MOMENTS)(
    'in $phase: the next one changes nothing, and a restart goes on there (loops 54, 55, 57, 58)',
    async ({ phase, milestone, rules, settings, prompts }, { world }) => {
      const halt = world.halt('moment');
      world.settings(settings ?? {});
      scriptLoop(world, ...rules(halt));
      await startLoop(world, planText());
      const first = world.run();
      const [pid] = await halt.arrived();
      const { id, roles, workspace, contract } = await loopTask(world);
      expect(await loopStatus(world)).toMatchObject({ status: 'running', phase, milestone });
      await first.kill();
      const before = await kept(world);

      const { stderr } = await world.settle(3);
      expect(stderr).toContain('tally Count what there is: interrupted');
      expect(await kept(world)).toEqual(before);
      expect(isLiving(pid!), 'not even its agent is touched').toBe(true);
      expect(await loopStatus(world)).toMatchObject({
        status: 'running',
        task: { interrupted: true },
        restart: { restartable: true, needsForce: false, blocked: null },
      });
      expect(await kept(world)).toEqual(before);

      expect(await world.json('loop', 'restart', 'tally')).toMatchObject({ phase, milestone: milestone - 1 });
      expect(await loopTask(world)).toMatchObject({ state: 'queued', workspace });
      expect(isLiving(pid!), 'its agent is stopped before anybody else works').toBe(false);
      halt.lift();
      await world.settle();
      const after = await loopTask(world);
      expect(after).toMatchObject({ id, state: 'completed', contract, plan: { phase: 'delivered' } });
      const role = phase.endsWith('auditing') ? 'auditor' : 'coder';
      const turns = (await (await world.store()).turns(id)).filter((turn) => turn.role === role);
      const at = turns.findIndex(({ status }) => status === 'interrupted');
      expect([turns[at]?.prompt, turns[at + 1]?.prompt]).toEqual(prompts);
      expect(turns[at]?.sessionId).toBe(roles[role].session);
      expect(turns[at + 1]?.sessionId, 'a fresh session').not.toBe(roles[role].session);
      expect(
        world.git('log', '--reverse', '--format=%s', 'main..loop/tally').trim().split('\n').slice(0, 2),
      ).toEqual(['section 1: Part 1', 'section 2: Part 2']);
    },
  );

  test('what waits for a person keeps no slot from others (loops 54)', async ({ world }) => {
    const halt = world.halt('turn');
    world.settings({ agent: { max_concurrent: 1 } });
    scriptLoop(world, { when: { title: 'Count what there is' }, steps: [{ shell: halt.shell }] });
    await startLoop(world, planText());
    const first = world.run();
    await halt.arrived();
    await first.kill();
    const issue = await world.issue({});
    await world.settle(3);
    expect(await world.task(issue)).toMatchObject({ state: 'merged' });
    expect(await loopStatus(world)).toMatchObject({ task: { interrupted: true } });
    expect(await world.status()).toMatchObject({ slots: { used: 0 } });
  });

  test('a plan from an issue goes on by itself (loops 54)', async ({ world }) => {
    const halt = world.halt('turn');
    scriptLoop(world, { when: { role: 'coder', round: 2 }, steps: [ADD_LINE, { shell: halt.shell }] });
    const issue = await world.issue({ title: 'Count', body: planText() });
    const first = world.run();
    await halt.arrived();
    await first.kill();
    const second = world.run('--until-idle');
    await halt.arrived(2);
    halt.lift();
    await world.finished(second);
    expect(await world.task(issue)).toMatchObject({ state: 'merged', plan: { recovery: 'auto' } });
  });
});
