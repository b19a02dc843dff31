/** Events as they were recorded: all of them, or as they happen. */
import type { EventData } from '../core/event.ts';
import { conditionLines, decisionLine } from '../core/words/conditions.ts';
import { clock } from '../core/words/wall-time.ts';
import { eventsAfter, follow } from '../operations/follow.ts';
import type { EventView } from '../operations/loop.ts';
import { perform } from '../operations.ts';
import type { Session } from './commands.ts';
import { cut } from './layout.ts';
import { type Terminal, untilInterrupted } from './terminal.ts';

const LOOK_EVERY_MS = 300;

export async function showEvents(
  { context, terminal }: Session,
  options: Record<string, unknown>,
): Promise<number> {
  const { task, type, last, follow: follows } = options;
  const newest = follows ? (await perform(context, 'events', { last: 1 })).at(-1)?.seq : undefined;
  const first = await perform(context, 'events', { task, type, last });
  for (const one of first) terminal.print(lineOf(one, terminal));
  if (first.length === 0 && type !== undefined && !follows)
    terminal.note(`No event of type ${type} was recorded.`);
  if (!follows) return 0;

  const read = (after: number) => perform(context, 'events', { task, type, after });
  const look = eventsAfter(first.at(-1)?.seq ?? newest ?? 0, read);
  for await (const news of follow(look, LOOK_EVERY_MS, untilInterrupted()))
    for (const one of news) terminal.print(lineOf(one, terminal));
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
  return columns === null
    ? `${head}  ${paint.dim(cut(text, 160))}`
    : cut(`${head}  ${paint.dim(text)}`, columns);
}
