/** The loop as a whole: hold it, let it go on, stop it, read what happened. */
import type { Context } from '../context.ts';
import { event, type LoopEvent } from '../core/event.ts';
import { iso, isRunnerAlive } from '../view.ts';
import { findTask } from './reference.ts';
import { type Asked, ask } from './tasks.ts';

export interface LoopAnswer {
  paused: string | null;
  /** Another try of a deploy that did not succeed is due. */
  deployAgain: boolean;
  stopRequested: 'drain' | 'now' | null;
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

export async function resume(
  context: Context,
  input: { task?: string | undefined },
): Promise<LoopAnswer | Asked> {
  if (input.task !== undefined) return ask(context, input.task, 'resume');
  const by = await context.operator();
  const { deploy, accountLimits } = await (await context.writing()).loop();
  const last = deploy?.last?.status;
  const again = last === 'failed' || last === 'interrupted' ? { deployAgain: by } : {};
  const released = accountLimits.map(({ account }) => event('account_released', { account, by }));
  return change(context, { pausedBy: null, ...again }, [event('loop_resumed', { by }), ...released]);
}

/** Without a runner there is nothing to stop, and nothing is remembered against the next one. */
export async function stop(context: Context, input: { now: boolean }): Promise<LoopAnswer> {
  const reader = await context.reading();
  if (!reader || !(await isRunnerAlive(reader, context)))
    return {
      paused: (await reader?.loop())?.pausedBy ?? null,
      deployAgain: false,
      stopRequested: null,
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
    runnerAlive: await isRunnerAlive(store, context),
  };
}

export interface EventView {
  seq: number;
  at: string;
  type: LoopEvent['type'];
  task: string | null;
  data: LoopEvent['data'];
}

export async function events(
  context: Context,
  input: {
    task?: string | undefined;
    type?: string | undefined;
    last?: number | undefined;
    after?: number | undefined;
  },
): Promise<EventView[]> {
  const store = await context.reading();
  if (!store) return [];
  const { type, last, after } = input;
  const task = input.task === undefined ? undefined : (await findTask(store, input.task)).task.id;
  const found = await store.events({
    ...(task === undefined ? {} : { task }),
    ...(type === undefined ? {} : { type }),
    ...(last === undefined ? {} : { last }),
    ...(after === undefined ? {} : { after }),
  });
  return found.map(({ seq, at, type, task, data }) => ({ seq, at: iso(at)!, type, task, data }));
}
