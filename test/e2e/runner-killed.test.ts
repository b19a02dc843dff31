/** SIGKILL of the runner, in every state. A new runner finishes what was begun: once, on the same session, with nothing lost. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import type { CostView } from '../../src/operations/cost.ts';
import { type Halt, onCandidate, onWork, quoted } from '../support/e2e/halt.ts';
import { expectMergedOnce } from '../support/e2e/merged-once.ts';
import { isLiving, processesWith } from '../support/e2e/proc.ts';
import { type Json, type Rule, test } from '../support/e2e/world.ts';

const FINISH = { shell: 'echo done > done-$FORGE_ISSUE.txt' };
const ASK_FOR_CHANGES = {
  answer: {
    verdict: 'REQUEST_CHANGES',
    findings: [{ severity: 'sev2', message: 'It lacks a second line.' }],
  },
};

interface Moment {
  when: string;
  state: string;
  settings?: (halt: Halt) => Json;
  rules?: (halt: Halt) => Rule[];
  /** The coder's turns, as they ended, and the prompt of each. */
  turns: [status: string, prompt: string][];
  /** Sessions the coder ever had. */
  sessions?: number;
  /** How often the place was reached where the runner was killed, where that is once for all runners together. */
  arrivals?: number;
}

const MOMENTS: Moment[] = [
  {
    when: 'dispatched, in its after_create hook',
    state: 'dispatched',
    settings: (halt) => ({ hooks: { after_create: `${halt.shell}; echo made > "$HOME/../made"` } }),
    rules: () => [{ when: { role: 'coder' }, steps: [{ shell: 'cat "$HOME/../made"' }, FINISH] }],
    turns: [['finished', 'task']],
  },
  {
    when: 'running, before its session had a message',
    state: 'running',
    settings: (halt) => ({ hooks: { before_run: halt.shell } }),
    turns: [
      ['interrupted', 'task'],
      ['finished', 'task'],
    ],
    sessions: 2,
  },
  {
    when: 'running, after its turn but before it was recorded',
    state: 'running',
    settings: (halt) => ({ hooks: { after_run: halt.shell } }),
    turns: [['finished', 'task']],
    arrivals: 1,
  },
  {
    when: 'running, during the gate',
    state: 'running',
    settings: (halt) => ({ gate: { commands: [`${onWork(halt)}; ls done-*.txt`] } }),
    turns: [['finished', 'task']],
  },
  {
    when: 'awaiting_critic, while the critic is at work',
    state: 'awaiting_critic',
    rules: (halt) => [
      {
        when: { role: 'critic' },
        steps: [{ shell: halt.shell }, { answer: { verdict: 'APPROVE', findings: [] } }],
      },
    ],
    turns: [['finished', 'task']],
  },
  {
    when: 'revising, mid-turn',
    state: 'revising',
    rules: (halt) => [
      { when: { role: 'critic', round: 1 }, steps: [ASK_FOR_CHANGES] },
      {
        when: { role: 'coder', round: 2 },
        steps: [{ append: { 'done-1.txt': 'more\n' } }, { commit: 'Half of it' }, { shell: halt.shell }],
      },
    ],
    turns: [
      ['finished', 'task'],
      ['interrupted', 'revise'],
      ['finished', 'interrupted'],
    ],
  },
  {
    when: 'merging, during the gate on the candidate',
    state: 'merging',
    settings: (halt) => ({ gate: { commands: [`${onCandidate(halt)}; ls done-*.txt`] } }),
    turns: [['finished', 'task']],
  },
  {
    when: 'merged, before its workspace was reaped',
    state: 'merged',
    settings: (halt) => ({ hooks: { before_remove: halt.shell } }),
    turns: [['finished', 'task']],
  },
];

describe('the runner is killed', () => {
  test('mid-turn: the agent is stopped first, then the same session goes on (dispatch 36, 37)', async ({
    world,
  }) => {
    const halt = world.halt('turn');
    world.script({
      when: { role: 'coder' },
      steps: [
        { write: { 'begun.txt': 'begun\n' } },
        { spawnDetached: 'exec sleep 600' },
        { shell: halt.shell },
        FINISH,
      ],
    });
    const issue = await world.issue({});
    const first = world.run();
    await halt.arrived();
    const { id, roles } = await world.task(issue);
    const sessionId = roles.coder.session;
    await first.kill();
    const left = processesWith(`FORGE_MARK=${id}`);
    expect(left.length, 'the agent, its shell and what it detached outlive the runner').toBeGreaterThan(2);

    const second = world.run('--until-idle');
    await halt.arrived(2);
    expect(left.filter(isLiving), 'they are dead before the new turn works').toEqual([]);
    halt.lift();
    await world.finished(second);

    const task = await expectMergedOnce(world, issue);
    expect(task).toMatchObject({ turns: 1, sessionIds: [sessionId] });
    expect(await world.turns(issue)).toMatchObject([
      { turn: 1, prompt: 'task', status: 'interrupted', sessionId },
      { turn: 1, prompt: 'interrupted', status: 'finished', sessionId },
      { role: 'critic', status: 'finished' },
    ]);
    const stopped = await world.event('process_stopped', (data) => left.includes(data.pid));
    const resumed = await world.event('turn_started', (data) => data.prompt === 'interrupted');
    expect(stopped.seq).toBeLessThan(resumed.seq);
    expect(world.read('begun.txt'), 'what was uncommitted when it died is on trunk').toBe('begun\n');
  });

  test('mid-turn, and the agent comes to its end alone: its turn is taken up, not paid again', async ({
    world,
  }) => {
    const halt = world.halt('turn');
    world.script({
      when: { role: 'coder' },
      steps: [{ shell: halt.shell }, FINISH, { usage: { input: 70, output: 7, costUsd: 0.5 } }],
    });
    const issue = await world.issue({});
    const first = world.run();
    const [pid] = await halt.arrived();
    await first.kill();
    halt.lift();
    await world.until('the agent to end by itself', () => !isLiving(pid!));
    const { id } = await world.task(issue);
    await world.until('its starter to end', () => processesWith(`FORGE_MARK=${id}`).length === 0);

    await world.finished(world.run('--until-idle'));
    expect(await expectMergedOnce(world, issue)).toMatchObject({ turns: 1 });
    const turns = await world.turns(issue);
    expect(turns).toMatchObject([
      { turn: 1, prompt: 'task', status: 'finished' },
      { role: 'critic', status: 'finished' },
    ]);
    expect(await world.event('recovered')).toMatchObject({ data: { plan: 'take_up' } });
    const { lines } = await world.json<CostView>('cost', '--by', 'role');
    expect(lines.find(({ key }) => key === 'coder')).toMatchObject({ costUsd: 0.5 });
  });

  test.for(MOMENTS)('$when (dispatch 36)', async (moment, { world }) => {
    const halt = world.halt('moment');
    world.settings(moment.settings?.(halt) ?? {});
    world.script(...(moment.rules?.(halt) ?? []));
    const issue = await world.issue({});
    const first = world.run();
    const [pid] = await halt.arrived();
    const before = await world.task(issue);
    expect(before.state).toBe(moment.state);
    await first.kill();
    const heads = before.headSha ? [before.headSha] : [];

    const settled = world.settle();
    await world.until('what the dead runner had started to be stopped', () => !isLiving(pid!));
    halt.lift();
    await settled;
    const task = await expectMergedOnce(world, issue);
    const coder = (await world.turns(issue)).filter((turn) => turn.role === 'coder');
    expect(coder.map((turn) => [turn.status, turn.prompt])).toEqual(moment.turns);
    expect(task.sessionIds).toHaveLength(moment.sessions ?? 1);
    if (moment.arrivals !== undefined) expect(halt.arrivals()).toBe(moment.arrivals);
    if (before.pull !== null) expect(task.pull, 'the same pull request').toBe(before.pull);
    for (const sha of heads) expect(world.git('cat-file', '-t', sha).trim()).toBe('commit');
    expect(world.read(`done-${issue}.txt`)).toContain('done');
  });

  test('right after trunk moved, before anybody wrote it down: the merge is found again (dispatch 36, 42, 48)', async ({
    world,
  }) => {
    const issue = await world.issue({});
    const trunk = join(world.root, '.git', 'refs', 'heads', 'main');
    const before = readFileSync(trunk, 'utf8');
    const first = world.run();
    await world.until('trunk to move', () => readFileSync(trunk, 'utf8') !== before);
    await first.kill();

    await world.settle();
    const task = await expectMergedOnce(world, issue);
    expect(world.git('rev-list', '--count', `${before.trim()}..main`).trim()).toBe('1');
    expect(task.mergedSha).toBe(world.git('rev-parse', 'main').trim());
    expect(await world.event('merge_observed'), 'it was ours, not a person’s').toMatchObject({
      data: { by: 'loop' },
    });
  });

  test('queued, in a backoff: it waits out what was left of it (dispatch 36, 41)', async ({ world }) => {
    const flag = join(world.folder, 'mended');
    world.settings({ hooks: { after_create: `[ -e ${quoted(flag)} ] && echo made > "$HOME/../made"` } });
    world.script({ when: { role: 'coder' }, steps: [{ shell: 'cat "$HOME/../made"' }, FINISH] });
    const issue = await world.issue({});
    const first = world.run();
    const held = await world.event('hold_set', (data) => data.reason === 'retry_backoff');
    await first.kill();
    expect(await world.task(issue)).toMatchObject({ state: 'queued', hold: { until: held.data.until } });

    const second = world.run('--until-idle');
    await world.event('runner_started', (_, { seq }) => seq > held.seq);
    expect(await world.task(issue), 'the new runner keeps to it').toMatchObject({ state: 'queued' });
    writeFileSync(flag, '');
    await world.json('resume', String(issue));
    await world.finished(second);
    expect(await expectMergedOnce(world, issue)).toMatchObject({ turns: 1 });
  });
});
