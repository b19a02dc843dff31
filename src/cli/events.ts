/** Events as they were recorded: all of them, or as they happen. */
import { setTimeout as wait } from 'node:timers/promises';
import type { EventData } from '../core/event.ts';
import type { EventView } from '../operations/loop.ts';
import { perform } from '../operations.ts';
import { clock } from './clock.ts';
import type { Session } from './commands.ts';
import { conditionLines, decisionLine } from './conditions.ts';
import type { Terminal } from './terminal.ts';

const LOOK_EVERY_MS = 300;

export async function showEvents(
  { context, terminal }: Session,
  options: Record<string, unknown>,
): Promise<number> {
  const { task, type, last, follow } = options;
  const first = await perform(context, 'events', { task, type, last });
  for (const one of first) terminal.print(lineOf(one, terminal));
  if (first.length === 0 && type !== undefined && !follow)
    terminal.note(`No event of type ${type} was recorded.`);
  if (!follow) return 0;

  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort());
  process.stdout.once('close', () => stop.abort());
  let after = first.at(-1)?.seq ?? (await perform(context, 'events', { last: 1 })).at(-1)?.seq ?? 0;
  while (!stop.signal.aborted) {
    for (const one of await perform(context, 'events', { task, type, after })) {
      terminal.print(lineOf(one, terminal));
      after = one.seq;
    }
    await wait(LOOK_EVERY_MS, null, { signal: stop.signal }).catch(() => null);
  }
  return 0;
}

function lineOf(one: EventView, { json, paint, columns }: Terminal): string {
  if (json) return JSON.stringify(one);
  const { seq, at, type, task, data } = one;
  const head = `${paint.dim(String(seq).padStart(5))}  ${clock(at)}  ${(task ?? '-').padEnd(8)}  ${paint.cyan(type)}`;
  if (type === 'merge_decided') {
    const decided = data as EventData['merge_decided'];
    const lines = [
      decisionLine(decided, paint),
      ...conditionLines(decided, paint).map((line) => `       ${line}`),
    ];
    return `${head}  ${lines.join('\n')}`;
  }
  const text = JSON.stringify(data);
  const room = columns === null ? 160 : Math.max(20, columns - 60);
  const shown = text.length > room ? `${text.slice(0, room)}…` : text;
  return `${head}  ${paint.dim(shown)}`;
}
