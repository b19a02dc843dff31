/** The loop as a whole: hold it, let it go on, stop it, read what happened. */
import type { Context } from '../context.ts';
import { event, type LoopEvent } from '../core/event.ts';
import { HOLDS, holdText } from '../core/hold.ts';
import { type LoopWait, loopWaits } from '../core/loop/loop-waits.ts';
import { refusal } from '../core/request.ts';
import { nameOfTask } from '../core/task.ts';
import { eventText } from '../core/words/event-line.ts';
import { PLAIN } from '../core/words/paint.ts';
import { UsageError } from '../errors.ts';
import { atWorkNow, iso, isRunnerAlive } from '../view.ts';
import { findTask } from './reference.ts';
import { type Asked, ask } from './tasks.ts';

export interface LoopAnswer {
  paused: string | null;
  /** Another try of a deploy that did not succeed is due. */
  deployAgain: boolean;
  stopRequested: 'drain' | 'now' | null;
  /** What is at work, in words: a stop waits for it. */
  atWork: string[];
  runnerAlive: boolean;
}

export async function pause(
  context: Context,
  input: { task?: string | undefined },
): Promise<LoopAnswer | Asked> {
  if (input.task !== undefined) return ask(context, input.task, 'pause');
  const by = await context.operator();
  return change(context, { pausedBy: by }, [event('loop_paused', { by })]);
}

/** What `resume` ended; what the loop waits for is tried again at once. */
interface Resumed extends LoopAnswer {
  ended: LoopWait['reason'][];
  /** The branch that was accepted with it; null when trunk is what it was. */
  trunk: { was: string; is: string } | null;
}

/** What `resume --all` did beside letting the loop go on. */
interface Released {
  /** Tasks that go on, each with what held it. */
  released: { task: string; issue: number | null; reason: string }[];
  /** Tasks for which something else has to be done first. */
  left: { task: string; issue: number | null; text: string }[];
}

export async function resume(
  context: Context,
  input: { task?: string | undefined; all: boolean },
): Promise<Resumed | Asked | (Resumed & Released)> {
  if (input.task !== undefined) {
    if (input.all) throw new UsageError('resume: name one task, or give --all.');
    return ask(context, input.task, 'resume');
  }
  const released = input.all ? await releaseAll(context) : {};
  return { ...(await resumeLoop(context)), ...released };
}

async function releaseAll(context: Context): Promise<Released> {
  const store = await context.writing();
  const found: Released = { released: [], left: [] };
  const by = await context.operator();
  for (const { task } of await store.tasks({ live: true })) {
    const { id, issue, hold } = task;
    if (refusal(task, 'resume', await store.requests(id)) !== null) continue;
    if (hold && !HOLDS[hold.reason].resumes) {
      found.left.push({ task: id, issue, text: holdText(hold, nameOfTask(task)) });
      continue;
    }
    await store.request({ task: id, kind: 'resume', by, at: context.now() });
    found.released.push({ task: id, issue, reason: hold?.reason ?? 'operator_pause' });
  }
  return found;
}

async function resumeLoop(context: Context): Promise<Resumed> {
  const by = await context.operator();
  const { policy } = (await context.settings()).settings;
  const loop = await (await context.writing()).loop();
  const { deploy, accountLimits, holds } = loop;
  const ended = loopWaits(loop, policy, null, context.now()).filter(({ resumes }) => resumes);
  const trunk = holds.find((one) => one.reason === 'trunk_changed');
  const last = deploy?.last?.status;
  const again = last === 'failed' || last === 'interrupted' ? { deployAgain: by } : {};
  const released = [
    event('gate_retry_requested', { by }),
    ...accountLimits.map(({ account }) => event('account_released', { account, by })),
    ...holds.map((hold) => event('loop_released', { ...hold, by })),
  ];
  const row = { pausedBy: null, ...again, ...(trunk && { trunk: trunk.is }) };
  return {
    ...(await change(context, row, [event('loop_resumed', { by }), ...released])),
    ended: [...new Set(ended.map(({ reason }) => reason))],
    trunk: trunk ? { was: trunk.was, is: trunk.is } : null,
  };
}

/** Without a runner there is nothing to stop, and nothing is remembered against the next one. */
export async function stop(context: Context, input: { now: boolean }): Promise<LoopAnswer> {
  const reader = await context.reading();
  if (!reader || !(await isRunnerAlive(reader, context)))
    return {
      paused: (await reader?.loop())?.pausedBy ?? null,
      deployAgain: false,
      stopRequested: null,
      atWork: [],
      runnerAlive: false,
    };
  const asked = event('loop_stop_requested', { by: await context.operator(), now: input.now });
  return change(context, { stop: input.now ? 'now' : 'drain' }, [asked]);
}

async function change(
  context: Context,
  ...[row, events]: [
    Parameters<Awaited<ReturnType<Context['writing']>>['updateLoop']>[0],
    ReturnType<typeof event>[],
  ]
): Promise<LoopAnswer> {
  const store = await context.writing();
  const { pausedBy, stop, deployAgain } = await store.updateLoop(row, events, context.now());
  return {
    paused: pausedBy,
    deployAgain: deployAgain !== null,
    stopRequested: stop === 'no' ? null : stop,
    atWork: (await atWorkNow(context, store)).map(({ text }) => text),
    runnerAlive: await isRunnerAlive(store, context),
  };
}

export interface EventView {
  seq: number;
  at: string;
  type: LoopEvent['type'];
  task: string | null;
  /** What people call the task. */
  name: string | null;
  data: LoopEvent['data'];
  /** In words, as `run` prints it; null for what only the log needs to know. */
  says: string | null;
}

export async function events(
  context: Context,
  input: {
    task?: string | undefined;
    type?: string | undefined;
    last?: number | undefined;
    after?: number | undefined;
    limit?: number | undefined;
  },
): Promise<EventView[]> {
  const store = await context.reading();
  if (!store) return [];
  const { type, last, after, limit } = input;
  const task = input.task === undefined ? undefined : (await findTask(store, input.task)).task.id;
  const found = await store.events({
    ...(task === undefined ? {} : { task }),
    ...(type === undefined ? {} : { type }),
    ...(last === undefined ? {} : { last }),
    ...(after === undefined ? {} : { after }),
    ...(limit === undefined ? {} : { limit }),
  });
  const names = new Map<string, { name: string; issue: number | null }>();
  for (const id of new Set(found.flatMap((one) => one.task ?? []))) {
    const stored = await store.task(id);
    if (stored) names.set(id, { name: nameOfTask(stored.task), issue: stored.task.issue });
  }
  return found.map((one) => {
    const { seq, at, type, task, data } = one;
    const name = (task !== null && names.get(task)?.name) || null;
    return { seq, at: iso(at)!, type, task, name, data, says: eventText(one, (id) => names.get(id), PLAIN) };
  });
}
