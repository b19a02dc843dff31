/** A task's story again: from the database of this repository, or from the file of an exported task. */
import type { Context } from '../context.ts';
import type { EventData, LoopEvent } from '../core/event.ts';
import { nameOfTask, type Task } from '../core/task.ts';
import {
  cameOf,
  changedBy,
  type Difference,
  differencesOf,
  type Step,
  stepAt,
  turnOf,
} from '../core/tell/replay.ts';
import { UserError } from '../errors.ts';
import { iso } from '../view.ts';
import { commitsAt, type Recording, recordingOf, stepsIn } from './recording.ts';
import { findTask } from './reference.ts';
import { readExport } from './task-export.ts';

interface StepView {
  step: number;
  seq: number;
  at: string;
  type: LoopEvent['type'];
  data: LoopEvent['data'];
  state: Task['state'];
  why: string;
  hold: string | null;
  /** The fields of the row that it changed. */
  changed: string[];
}

interface StepDetail extends StepView {
  /** The turn it is about or happens in, and what its agent was told; `text` is null where the prompt is not kept. */
  asked: (Pick<EventData['turn_started'], 'role' | 'turn' | 'prompt'> & { text: string | null }) | null;
  /** The later step by which what began here is over. */
  cameOf: Pick<StepView, 'step' | 'type' | 'data'> | null;
  /** The work at this point; `patch` is null where the commits are gone. */
  diff: { base: string; head: string; patch: string | null } | null;
  /** The whole row after it. */
  row: Task;
}

interface Replayed {
  task: string;
  name: string;
  title: string;
  steps: StepView[];
  /** The one that was asked for. */
  at: StepDetail | null;
  /** Where the row is not what its events say. */
  differences: Difference[];
}

export async function replayTask(
  context: Context,
  input: { task: string; at?: string | undefined },
): Promise<Replayed> {
  const store = await context.reading();
  const { task } = await findTask(store, input.task);
  return replay(await recordingOf(context, store!, task), input.at);
}

/** Of a file that somebody sent: nothing in it is believed to be whole. */
export async function replayFile(
  _context: Context,
  input: { file: string; at?: string | undefined },
): Promise<Replayed> {
  return replay(await readExport(input.file), input.at);
}

async function replay(recording: Recording, at: string | undefined): Promise<Replayed> {
  const { row, events } = recording;
  const steps = stepsIn(recording);
  const step = at === undefined ? null : stepAt(steps, at);
  if (at !== undefined && !step)
    throw new UserError(
      `There is no step ${at}.`,
      `Give a step (1 to ${steps.length}), an event of this task (e${events[0]?.seq}), or a type of event, such as ${steps.at(-1)?.event.type}.`,
    );
  return {
    task: row.id,
    name: nameOfTask(row),
    title: row.contract.title,
    steps: steps.map(viewOf),
    at: step && (await detailOf(recording, steps, step)),
    differences: differencesOf(plain(row), plain(steps.at(-1)?.task ?? null)),
  };
}

const viewOf = (one: Step): StepView => {
  const { step, event, task } = one;
  const { seq, at, type, data } = event;
  const { state, why, hold } = task;
  return {
    step,
    seq,
    at: iso(at)!,
    type,
    data,
    state,
    why,
    hold: hold?.reason ?? null,
    changed: changedBy(one),
  };
};

async function detailOf(recording: Recording, steps: readonly Step[], step: Step): Promise<StepDetail> {
  const turn = turnOf(steps, step);
  const after = cameOf(steps, step);
  const commits = commitsAt(step.task);
  return {
    ...viewOf(step),
    asked: turn && {
      role: turn.role,
      turn: turn.turn,
      prompt: turn.prompt,
      text: await recording.prompt(turn),
    },
    cameOf: after && { step: after.step, type: after.event.type, data: after.event.data },
    diff: commits && { ...commits, patch: await recording.patch(commits.base, commits.head) },
    row: step.task,
  };
}

const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));
