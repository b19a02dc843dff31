/**
 * A night on virtual time with the real runner: issues whose coders take minutes, a slow gate, work that conflicts and work
 * that is red only together with another.
 *
 * The ideal is what no schedule could beat: slots, gates and line never wait for each other, every issue takes its first
 * turn and, if it met another, one revision; each turn is tested once in its slot, each landing once in line.
 */
import type { Agent } from '../../src/agent/agent.ts';
import type { EventData, LoopEvent } from '../../src/core/event.ts';
import { testPolicy } from '../support/policy.ts';
import { simAgent, WILLING } from './agent.ts';
import { type Random, seeded } from './random.ts';
import { CLASH, redFiles } from './repository.ts';
import { startRunner } from './runner.ts';
import { NO_FAULTS } from './story.ts';
import { createTimeline } from './time.ts';
import { addIssue, createWorld, type World } from './world.ts';

export const SLOTS = 10;
const GATES = 8;
const MINUTE = 60_000;
const GATE_MS = 5 * MINUTE;
const HOUR = 60 * MINUTE;

interface Asked {
  issues: number;
  /** `merge.queue.ahead`. */
  ahead: number;
  seed: number;
  /** Whether issues that conflict name the file they have in common. */
  areNamed: boolean;
}

export interface Night {
  issues: number;
  merged: number;
  took: number;
  /** The least time for the turns that had to be taken. */
  ideal: number;
  /** Of the ideal pace, what was reached. */
  ratio: number;
  /** How often a coder had to work conflicts out. */
  conflicts: number;
  /** Gates of candidates that were started, and those that were for nothing. */
  gates: number;
  longestWait: number;
}

export async function playNight({ issues, ahead, seed, areNamed }: Asked): Promise<Night> {
  const time = createTimeline(0);
  const world = createWorld(time, seeded(seed));
  world.gateMs = () => GATE_MS;
  const patience = { turnTimeoutMs: HOUR, stallTimeoutMs: 0 };
  const policy = testPolicy({
    maxConcurrent: SLOTS,
    critic: { parallel: SLOTS },
    spec: { expand: 'off' },
    sandbox: { kind: 'none' },
    gate: { commands: ['./ci/test.sh'], maxConcurrent: GATES },
    merge: { queue: { ahead, batch: false } },
  });
  for (const role of Object.values(policy.agents)) Object.assign(role, patience);
  for (let number = 1; number <= issues; number++) {
    const shared = areNamed ? sharedBy(number) : null;
    addIssue(world, number, 'sure', shared === null ? [] : [`Changes \`${shared}\`.`]);
  }
  // Neighbours are worked on at the same time, or they would never meet.
  for (const issue of world.issues.values()) issue.priority = null;
  const { agent, turns } = nightAgent(world, seed);
  const runner = startRunner(world, policy, WILLING, NO_FAULTS, 'night', 'until_idle', agent);
  let finished = false;
  void runner.done.then(() => {
    finished = true;
  });
  await time.play(() => finished, 1000 * HOUR);
  if (world.violations.length > 0) throw new Error(world.violations.join('\n'));

  const events = await world.store.events();
  const merges = events.filter(({ type }) => type === 'merge_observed');
  const needed = turns.filter(({ number }) => number <= 2);
  const slots = needed.reduce((sum, { took }) => sum + took + GATE_MS, 0) / SLOTS;
  const gates = ((needed.length + issues) * GATE_MS) / GATES;
  const line = (issues * GATE_MS) / ahead;
  const [took, ideal] = [merges.at(-1)!.at, Math.max(slots, gates, line)];
  return {
    ...{ issues, took, ideal },
    merged: merges.length,
    ratio: (ideal / took) * (merges.length / issues),
    conflicts: events.filter((one) => one.type === 'work_updated' && one.data.conflicts.length > 0).length,
    gates: events.filter(isCandidateGate).length,
    longestWait: Math.max(...merges.map((merge) => merge.at - approvedAt(events, merge))),
  };
}

const isCandidateGate = ({ type, data }: LoopEvent): boolean =>
  (type === 'gate_completed' || type === 'gate_cut_off') &&
  (data as EventData['gate_cut_off']).scope === 'candidate' &&
  !('reused' in data);

const approvedAt = (events: readonly LoopEvent[], { task, seq }: LoopEvent): number =>
  events.findLast((one) => one.task === task && one.seq < seq && one.type === 'verdict_recorded')!.at;

/** Every fifth issue conflicts with the one before it. */
const sharedBy = (issue: number): string | null =>
  issue % 5 < 2 ? `pair-${Math.floor(issue / 5)}.txt` : null;

/** Every tenth issue is red only together with the one before. */
function nightAgent(world: World, seed: number): { agent: Agent; turns: { number: number; took: number }[] } {
  const { time } = world;
  const inner = simAgent(world, WILLING);
  const turns: { number: number; took: number }[] = [];
  const run: Agent['run'] = async (turn, hooks) => {
    const issue = turn.issue!;
    const random = seeded(seed * 1_000_000 + issue * 100 + turn.number);
    if (turn.role !== 'coder') {
      await time.sleep(between(random, 1, 3));
      return inner.run(turn, hooks);
    }
    const startedAt = time.now();
    const { files } = world.workspaces.get(turn.cwd)!;
    const shared = sharedBy(issue);
    if (shared !== null) files[shared] ??= `good ${issue}`;
    if (issue % 10 === 7 || issue % 10 === 8)
      files[`clash-${issue}.txt`] ??= `${CLASH} ${Math.floor(issue / 10)}`;
    if (redFiles(files).length > 0 && turn.number > 1) files[`clash-${issue}.txt`] = 'good mended';
    await time.sleep(between(random, 2, 40));
    const result = await inner.run(turn, hooks);
    turns.push({ number: turn.number, took: time.now() - startedAt });
    return result;
  };
  return { agent: { ...inner, run }, turns };
}

const between = (random: Random, from: number, to: number): number =>
  (from + random() * (to - from)) * MINUTE;
