/** `logs`: a transcript of a task's agents, and with `--follow` what is new in it. */

import { turnName } from '../core/role.ts';
import { clock } from '../core/words/wall-time.ts';
import { follow } from '../operations/follow.ts';
import { perform, type Result } from '../operations.ts';
import type { Session } from './commands.ts';
import { type Terminal, untilInterrupted } from './terminal.ts';

type Turn = Result<'logs'>['turns'][number];
type Entry = Turn['entries'][number];

const LOOK_EVERY_MS = 500;
/** Of what one call gave. */
const MOST_LINES = 20;

export async function showLogs(
  { context, terminal }: Session,
  input: Record<string, unknown>,
  follows: boolean,
): Promise<number> {
  if (!follows) {
    const logs = await perform(context, 'logs', input);
    terminal.print(terminal.json ? JSON.stringify(logs, null, 2) : logsText(logs, terminal));
    return 0;
  }
  const tell = teller(terminal);
  const look = () => perform(context, 'logs', input);
  for await (const { turns } of follow(look, LOOK_EVERY_MS, untilInterrupted()))
    for (const turn of turns) tell(turn);
  return 0;
}

/** Prints what of a turn was not printed yet. As JSON, a line for each entry, with its turn. */
function teller({ json, print, ...terminal }: Terminal): (turn: Turn) => void {
  const seen = new Map<string, { offset: number; over: boolean }>();
  return (turn) => {
    const { role, turn: number, sessionId, entries } = turn;
    const key = `${role} ${number} ${sessionId}`;
    const before = seen.get(key);
    const over = turn.endedAt !== null;
    const news = entries.filter(({ offset }) => offset > (before?.offset ?? -1));
    seen.set(key, { offset: news.at(-1)?.offset ?? before?.offset ?? -1, over });
    const named = { role, turn: number, sessionId };
    if (json) for (const one of news) print(JSON.stringify({ ...named, ...one }));
    else {
      if (!before) print(headingOf(turn, terminal));
      for (const one of news) print(entryText(one, terminal));
      if (before && over && !before.over) print(endOf(turn, terminal));
    }
  };
}

type Painted = Pick<Terminal, 'paint'>;

export const logsText = ({ name, turns }: Result<'logs'>, terminal: Terminal): string =>
  turns.length === 0
    ? `No turn of ${name} has been started.`
    : turns
        .map((turn) =>
          [
            headingOf(turn, terminal),
            ...turn.entries.map((one) => entryText(one, terminal)),
            ...(turn.entries.length === 0 ? [terminal.paint.dim('Nothing of it is kept.')] : []),
            ...(turn.endedAt === null ? [] : [endOf(turn, terminal)]),
          ].join('\n'),
        )
        .join('\n\n');

const headingOf = (turn: Turn, { paint }: Painted): string =>
  paint.bold(`== ${turn.role}, ${turnName(turn)} (${turn.prompt}), ${clock(turn.startedAt)}`);

const endOf = ({ status, startedAt, endedAt }: Turn, { paint }: Painted): string => {
  const seconds = (Date.parse(endedAt!) - Date.parse(startedAt)) / 1000;
  return paint.dim(`-- ${(status ?? 'ended').replaceAll('_', ' ')} after ${seconds.toFixed(1)} s`);
};

function entryText({ kind, tool, text, at }: Entry, { paint }: Painted): string {
  switch (kind) {
    case 'said':
      return text;
    case 'tool':
      return `${paint.cyan(`> ${tool}`)}${text === '' ? '' : ` ${text}`}`;
    case 'output':
      return at === null ? text : paint.dim(indented(text));
    case 'refused':
      return paint.yellow(`! refused ${tool}: ${text}`);
    case 'retrying':
      return paint.yellow(`! tries again: ${text}`);
    case 'compacted':
      return paint.yellow(`! compacted its conversation: ${text}`);
    case 'cut':
      return paint.yellow(`! ${text}`);
    default:
      return kind satisfies never;
  }
}

function indented(text: string): string {
  const lines = text.trimEnd().split('\n');
  const shown = lines.slice(0, MOST_LINES).map((line) => `  ${line}`);
  const more = lines.length - shown.length;
  return [...shown, ...(more > 0 ? [`  … ${more} more lines`] : [])].join('\n');
}
