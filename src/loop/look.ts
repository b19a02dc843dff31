/** Look and decide, for one task; and say when its budget is nearly spent. */

import { decide } from '../core/decide.ts';
import type { Decision, Facts } from '../core/decision.ts';
import { isInLine } from '../core/line/line.ts';
import { spent } from '../core/money/budget.ts';
import { needsSlot, type Task } from '../core/task.ts';
import { warnOfTaskBudget } from './budget-warning.ts';
import type { Driver, Work } from './driver.ts';
import { readLoopLimit } from './loop-limit.ts';
import { issueOf, observe } from './observe.ts';
import { whyPaused } from './paused.ts';

interface Seen {
  facts: Facts;
  decision: Decision;
}

/** What follows for a task of which nothing runs; null when everything stops. `stuck` is an effect that can't be performed now. */
export const look = (work: Work, task: Task, stuck: string | null = null): Promise<Decision | null> =>
  work.driver.looks.pass({ rank: isInLine(task) ? 2 : 1 }, async () =>
    work.driver.closing ? null : lookNow(work, task, stuck),
  );

async function lookNow(work: Work, task: Task, stuck: string | null): Promise<Decision> {
  const { driver } = work;
  const { ports } = driver;
  const loop = await ports.store.loop();
  const around = { ...surrounding(driver), paused: whyPaused(driver, loop), loop, inFlight: null, stuck };
  // What was seen of its issue during a turn will do to keep the turn's work safe; what else follows rests on what is so now.
  const maySave = needsSlot(task);
  const facts = await observe(ports, task, around, maySave ? 'lately' : 'now');
  let decision = await concluded(work, task, facts);
  if (maySave && !onlySaves(decision))
    decision = await concluded(work, task, { ...facts, issue: await issueOf(ports, task, 'now') });
  if (!settlesMerge(decision)) return decision;
  // It rests on what is so now, not on what was so a moment ago.
  ports.forge.doubt?.();
  return concluded(work, task, await observe(ports, task, around, 'now'));
}

/** May the run go on? With `known` only the spending is in question: the forge's last answers stand. */
export async function lookAtRun(
  work: Work,
  task: Task,
  inFlight: NonNullable<Facts['inFlight']>,
  known: Facts | null,
): Promise<Seen> {
  const { driver } = work;
  const { ports } = driver;
  const { store } = ports;
  const facts = known
    ? {
        ...known,
        inFlight,
        spend: await store.spend(task.id),
        requests: await store.requests(task.id),
        loopLimit: await readLoopLimit(ports),
      }
    : await observe(
        ports,
        task,
        { ...surrounding(driver), paused: null, loop: await store.loop(), inFlight, stuck: null },
        'lately',
      );
  return { facts, decision: await concluded(work, task, facts) };
}

const surrounding = ({ eligible, trunkTree, order, waitsForPlace }: Driver) => ({
  eligible,
  trunkTree,
  order,
  waitsForPlace,
});

async function concluded({ driver: { ports }, warned }: Work, task: Task, facts: Facts): Promise<Decision> {
  const now = ports.clock.now();
  const decision = decide(task, facts, ports.settings.policy(), now);
  const { inFlight } = facts;
  const inFlightMs = inFlight?.action.kind === 'turn' ? now - inFlight.startedAt : 0;
  await warnOfTaskBudget(ports, task, spent(task, facts.spend, inFlightMs), warned);
  return decision;
}

const settlesMerge = (decision: Decision): boolean =>
  decision.kind === 'act' && decision.events.some(({ type }) => type === 'merge_decided');

/** Nothing of it begins or ends anything: the work is kept safe and looked at. */
const onlySaves = (decision: Decision): boolean =>
  decision.kind === 'act' &&
  decision.actions.length > 0 &&
  decision.actions.every(({ kind }) => kind === 'checkpoint' || kind === 'merge_in' || kind === 'gate');
