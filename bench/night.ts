/**
 * A night on virtual time with the real runner: issues whose coders take minutes, a slow gate, work that conflicts and work
 * that is red only together with another. Merged per hour against the ideal, in line and one at a time.
 *
 * The ideal is what no schedule could beat: slots, gates and line never wait for each other, every issue takes its first
 * turn and, if it met another, one revision; each turn is tested once in its slot, each landing once in line.
 */
import type { Agent } from '../src/agent/agent.ts';
import type { EventData, LoopEvent } from '../src/core/event.ts';
import { simAgent, WILLING } from '../test/simulation/agent.ts';
import { type Random, seeded } from '../test/simulation/random.ts';
import { CLASH, redFiles } from '../test/simulation/repository.ts';
import { startRunner } from '../test/simulation/runner.ts';
import { NO_FAULTS } from '../test/simulation/story.ts';
import { createTimeline } from '../test/simulation/time.ts';
import { addIssue, createWorld, type World } from '../test/simulation/world.ts';
import { testPolicy } from '../test/support/policy.ts';
import type { Measured } from './measure.ts';

const ISSUES = 200;
const SLOTS = 10;
const GATES = 8;
const AHEAD = 3;
const MINUTE = 60_000;
const GATE_MS = 5 * MINUTE;
const HOUR = 60 * MINUTE;

interface Night {
  merged: number;
  took: number;
  /** The least time for the turns that had to be taken. */
  ideal: number;
  /** Gates of candidates that were started, and those that were for nothing. */
  gates: number;
  longestWait: number;
}

export async function night(): Promise<Measured[]> {
  const inLine = await play(AHEAD);
  const alone = await play(1);
  return [
    measured(`night of ${ISSUES} issues, ${SLOTS} slots, gate 5 min, ahead ${AHEAD}`, inLine, 0.9),
    measured('… one at a time', alone, null),
  ];
}

function measured(
  name: string,
  { merged, took, ideal, gates, longestWait }: Night,
  goal: number | null,
): Measured {
  const perHour = (span: number): string => ((merged * HOUR) / span).toFixed(1);
  const ratio = (ideal / took) * (merged / ISSUES);
  const details = `${(gates / merged).toFixed(2)} gates per merge, longest wait ${Math.round(longestWait / MINUTE)} min`;
  return {
    name,
    value: `${perHour(took)} merged per hour; ${details}`,
    against: `ideal ${perHour(ideal)}`,
    ratio,
    goal: goal === null ? 'baseline' : `≥ ${goal}`,
    met: goal === null ? null : ratio >= goal,
  };
}

async function play(ahead: number): Promise<Night> {
  const random = seeded(7);
  const time = createTimeline(0);
  const world = createWorld(time, random);
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
  for (let number = 1; number <= ISSUES; number++) addIssue(world, number, 'sure');
  // Neighbours are worked on at the same time, or they would never meet.
  for (const issue of world.issues.values()) issue.priority = null;
  const { agent, turns } = nightAgent(world);
  const runner = startRunner(world, policy, WILLING, NO_FAULTS, 'bench', 'until_idle', agent);
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
  const gates = ((needed.length + ISSUES) * GATE_MS) / GATES;
  const line = (ISSUES * GATE_MS) / AHEAD;
  return {
    merged: merges.length,
    took: merges.at(-1)!.at,
    ideal: Math.max(slots, gates, line),
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

/** Every fifth issue conflicts with the one before it, every tenth is red only together with the one before. */
function nightAgent(world: World): { agent: Agent; turns: { number: number; took: number }[] } {
  const { time } = world;
  const inner = simAgent(world, WILLING);
  const turns: { number: number; took: number }[] = [];
  const run: Agent['run'] = async (turn, hooks) => {
    const issue = turn.issue!;
    const random = seeded(issue * 100 + turn.number);
    if (turn.role !== 'coder') {
      await time.sleep(between(random, 1, 3));
      return inner.run(turn, hooks);
    }
    const startedAt = time.now();
    const { files } = world.workspaces.get(turn.cwd)!;
    if (issue % 5 < 2) files[`pair-${Math.floor(issue / 5)}.txt`] ??= `good ${issue}`;
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
