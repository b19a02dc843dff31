/**
 * A runner that stood still past its lease, on virtual time with a real database: what it books, and what its successor
 * books, adds up once. The way of usage to the ledger is the same for every kind of agent; the one here does what all real
 * ones do, and tells at its end whatever it finds in its session's own record.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { Agent, UsageReport } from '../src/agent/agent.ts';
import { sumOf } from '../src/agent/contract.ts';
import type { Policy } from '../src/core/policy.ts';
import type { Ports } from '../src/loop/ports.ts';
import { openSqliteStore } from '../src/store/sqlite.ts';
import { simAgent, WILLING } from './simulation/agent.ts';
import { seeded } from './simulation/random.ts';
import { type SimRunner, startRunner } from './simulation/runner.ts';
import { NO_FAULTS } from './simulation/story.ts';
import { createTimeline } from './simulation/time.ts';
import { addIssue, createWorld, type World } from './simulation/world.ts';
import { testPolicy } from './support/policy.ts';

const HOUR = 3_600_000;

/** Whatever the seed: nothing in these stories is left to chance but names and times. */
const SEED = 1;

async function oneIssue(): Promise<{ world: World; policy: Policy }> {
  const time = createTimeline(0);
  const folder = await mkdtemp(join(tmpdir(), 'forge-lost-lease-'));
  const store = await openSqliteStore(join(folder, 'forge.db'), { boot: { id: 'boot', now: time.now } });
  onTestFinished(async () => {
    await store.close();
    await rm(folder, { recursive: true, force: true });
  });
  const world = { ...createWorld(time, seeded(SEED)), store };
  addIssue(world, 1, 'sure');
  return { world, policy: testPolicy() };
}

/** The messages of every session, and which turn told each. */
interface Records {
  messages: { sessionId: string; report: UsageReport }[];
  told: Map<string, number>;
}

function recording({ agentFor, store }: Ports, records: Records): Ports['agentFor'] {
  return (role) => {
    const agent = agentFor(role);
    const run: Agent['run'] = async (turn, hooks) => {
      const before = new Map(records.told);
      const tellAll = () => {
        for (const { sessionId, report } of records.messages) {
          const isOurs = (before.get(report.key) ?? turn.number) === turn.number;
          if (sessionId !== turn.sessionId || !isOurs) continue;
          hooks.onUsage(report);
          records.told.set(report.key, records.told.get(report.key) ?? turn.number);
        }
      };
      tellAll();
      const onUsage = (told: UsageReport) => {
        const report = { ...told, key: `m${records.messages.length}` };
        records.messages.push({ sessionId: turn.sessionId, report });
        hooks.onUsage(report);
      };
      const result = await agent.run(turn, { ...hooks, onUsage });
      // Nothing of a runner that stands still runs on.
      await store.loop();
      tellAll();
      return result;
    };
    return { ...agent, run };
  };
}

/** Its critic asks for changes once, so that the coder takes another turn in the same session. */
function asksOnce(world: World): Agent {
  const [content, strict] = [simAgent(world, WILLING), simAgent(world, { ...WILLING, approves: 0 })];
  return {
    ...content,
    run: (turn, hooks) => (turn.role === 'critic' && turn.number === 1 ? strict : content).run(turn, hooks),
  };
}

test('a runner that lost its lease books nothing of its successor’s, and all is booked once', async () => {
  const { world, policy } = await oneIssue();
  const records: Records = { messages: [], told: new Map() };
  const start = (owner: string, agent: Agent): SimRunner =>
    startRunner(world, policy, WILLING, NO_FAULTS, owner, 'until_idle', agent, (ports) => ({
      ...ports,
      agentFor: recording(ports, records),
    }));
  const over = (runner: SimRunner): (() => boolean) => {
    let isOver = false;
    void runner.done.then(() => {
      isOver = true;
    });
    return () => isOver;
  };

  const old = start('old', simAgent(world, { ...WILLING, hangs: 1 }));
  await world.time.play(() => records.messages.length > 0, HOUR);
  old.suspend();
  const heir = start('heir', asksOnce(world));
  await world.time.play(over(heir), 24 * HOUR);
  const before = await world.store.usage();
  old.resume();
  await world.time.play(over(old), 48 * HOUR);

  const [task] = await world.store.tasks();
  expect(task?.task.state).toBe('merged');
  const turns = await world.store.turns(task!.task.id);
  const coder = turns.filter(({ role }) => role === 'coder');
  expect(coder.map(({ turn, status }) => [turn, status])).toEqual([
    [1, 'interrupted'],
    [1, 'finished'],
    [2, 'finished'],
  ]);
  expect(new Set(coder.map(({ sessionId }) => sessionId)).size).toBe(1);
  const booked = await world.store.usage();
  expect(booked, 'it books nothing any more').toEqual(before);
  expect(booked.map(({ key }) => key).sort()).toEqual(
    records.messages.map(({ report }) => report.key).sort(),
  );
  const paid = records.messages.map(({ report }) => report);
  expect(await world.store.spend(task!.task.id)).toMatchObject({
    costUsd: expect.closeTo(sumOf(paid, 'costUsd'), 9),
    // Of what was cut off nobody knows whether more was under way.
    complete: false,
  });
  expect(world.violations).toEqual([]);
});

test('a report that is no amount is not booked, and its turn is not known', async () => {
  const { world, policy } = await oneIssue();
  const runner = startRunner(world, policy, WILLING, NO_FAULTS, 'one', 'until_idle', undefined, (ports) => ({
    ...ports,
    agentFor: (role) => {
      const agent = ports.agentFor(role);
      return {
        ...agent,
        run: (turn, hooks) => {
          const tokens = { input: 1, output: 0, cacheRead: 0, cacheWrite: 0, reasoning: 0 };
          hooks.onUsage({ key: 'wrong', model: 'm', ...tokens, costUsd: -0.01 });
          return agent.run(turn, hooks);
        },
      };
    },
  }));
  let isOver = false;
  void runner.done.then(() => {
    isOver = true;
  });
  await world.time.play(() => isOver, 24 * HOUR);
  const booked = await world.store.usage();
  expect(booked.length).toBeGreaterThan(0);
  expect(booked.filter(({ costUsd }) => (costUsd ?? 0) < 0)).toEqual([]);
  expect(await world.store.spendSince(0)).toMatchObject({ complete: false });
  expect(world.violations).toEqual([]);
});
