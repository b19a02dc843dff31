/**
 * One task as one file that replays on another machine: what one attaches to a bug report. Events, row, findings, money,
 * prompts and the diffs; no file of the project besides, no setting, and every secret that is known or looks like one struck out.
 */
import { readFile } from 'node:fs/promises';
import { gunzipSync } from 'node:zlib';
import { z } from 'zod';
import type { Context } from '../context.ts';
import { redactValue } from '../core/access/redact.ts';
import type { Finding } from '../core/change/findings.ts';
import type { LoopEvent } from '../core/event.ts';
import { turnName } from '../core/role.ts';
import type { Task } from '../core/task.ts';
import { UserError, whyUnreadable } from '../errors.ts';
import type { UsageDelta } from '../store/store.ts';
import { iso } from '../view.ts';
import { commitsAt, type Recording, recordingOf, stepsIn } from './recording.ts';
import { findTask } from './reference.ts';

const FORMAT = 'forge-loop task 1';

interface Exported {
  format: typeof FORMAT;
  /** The version of forge-loop whose runner was started last. */
  version: string | null;
  exportedAt: string;
  row: Task;
  events: LoopEvent[];
  findings: Finding[];
  usage: UsageDelta[];
  /** Of the turns whose prompt is kept; by `promptKey`. */
  prompts: Record<string, string>;
  /** By base and head. */
  patches: Record<string, string>;
}

export async function exportTask(context: Context, input: { task: string }): Promise<Exported> {
  const store = await context.reading();
  const { task: row } = await findTask(store, input.task);
  const recording = await recordingOf(context, store!, row);
  const [started] = await store!.events({ type: 'runner_started', last: 1 });
  const prompts: Exported['prompts'] = {};
  const patches: Exported['patches'] = {};
  for (const { event, task } of stepsIn(recording)) {
    const prompt = event.type === 'turn_started' ? await recording.prompt(event.data) : null;
    if (event.type === 'turn_started' && prompt !== null) prompts[promptKey(event.data)] = prompt;
    const commits = commitsAt(task);
    const key = commits && patchKey(commits.base, commits.head);
    if (!commits || key === null || key in patches) continue;
    const patch = await recording.patch(commits.base, commits.head);
    if (patch !== null) patches[key] = patch;
  }
  const all: Exported = {
    format: FORMAT,
    version: started?.type === 'runner_started' ? started.data.version : null,
    exportedAt: iso(context.now())!,
    row,
    events: [...recording.events],
    findings: await store!.findings(row.id),
    usage: await store!.usage({ task: row.id }),
    prompts,
    patches,
  };
  return redactValue(all, context.redact);
}

type Turn = Parameters<Recording['prompt']>[0];

/** One conversation may have many turns, and a turn may be taken up in another. */
const promptKey = (turn: Turn): string => `${turnName(turn)} ${turn.sessionId}`;
const patchKey = (base: string, head: string): string => `${base}..${head}`;

/** Of what is unpacked; a file of a few kilobytes must not fill the memory. */
const MOST_BYTES = 512 * 1024 * 1024;

const exported = z.object({
  format: z.literal(FORMAT),
  row: z.looseObject({ id: z.string(), contract: z.looseObject({ title: z.string() }) }),
  events: z
    .array(
      z.object({
        seq: z.int(),
        at: z.number(),
        task: z.string().nullable(),
        type: z.string(),
        data: z.record(z.string(), z.unknown()),
      }),
    )
    .min(1),
  prompts: z.record(z.string(), z.string()).default({}),
  patches: z.record(z.string(), z.string()).default({}),
});

export async function readExport(file: string): Promise<Recording> {
  const { row, events, prompts, patches } = parse(file, await read(file));
  return {
    row: row as unknown as Task,
    events: events as LoopEvent[],
    prompt: async (turn) => prompts[promptKey(turn)] ?? null,
    patch: async (base, head) => patches[patchKey(base, head)] ?? null,
  };
}

async function read(file: string): Promise<string> {
  try {
    const bytes = await readFile(file);
    const isPacked = bytes[0] === 0x1f && bytes[1] === 0x8b;
    return (isPacked ? gunzipSync(bytes, { maxOutputLength: MOST_BYTES }) : bytes).toString('utf8');
  } catch (cause) {
    throw new UserError(`${file} can't be read: ${whyUnreadable(cause as Error)}`, null, { cause });
  }
}

function parse(file: string, text: string): z.output<typeof exported> {
  try {
    return exported.parse(JSON.parse(text));
  } catch (cause) {
    throw new UserError(
      `${file} is not a task that this version of forge-loop can replay.`,
      'Make one with `forge-loop task export <task>`.',
      { cause },
    );
  }
}
