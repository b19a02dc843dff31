/** `replay`: every step of a task on a page, one of them whole, or one after the other by the keys of a terminal. */
import { statSync } from 'node:fs';
import type { Context } from '../context.ts';
import type { LoopEvent } from '../core/event.ts';
import { eventLine } from '../core/words/event-line.ts';
import { shortSha } from '../core/words/short-sha.ts';
import { clock } from '../core/words/wall-time.ts';
import { count } from '../core/words/words.ts';
import { UsageError, UserError } from '../errors.ts';
import { perform, type Result } from '../operations.ts';
import type { Session } from './commands.ts';
import { EXIT } from './exit.ts';
import { openKeyboard } from './keys.ts';
import { cut, table } from './layout.ts';
import { type Terminal, untilInterrupted } from './terminal.ts';

type Replayed = Result<'replay'>;
type StepView = Replayed['steps'][number];

export async function showReplay(
  own: Session,
  given: string | undefined,
  { at, verify }: { at?: string | undefined; verify: boolean },
): Promise<number> {
  const { context, terminal } = own;
  const isFile = given !== undefined && (looksLikePath(given) || (await isOnlyFile(context, given)));
  if (verify && !isFile) return showVerified(own, given);
  if (given === undefined) throw new UsageError('replay: name a task, or a file that `task export` made.');
  const ask = (at?: string): Promise<Replayed> =>
    isFile
      ? perform(context, 'replay.file', { file: given, at })
      : perform(context, 'replay', { task: given, at });
  const replayed = await ask(at);
  if (terminal.json) terminal.print(JSON.stringify(verify ? replayed.differences : replayed, null, 2));
  else if (verify) terminal.print(differencesText(replayed.differences));
  else if (at === undefined && terminal.isTty && process.stdin.isTTY)
    await stepThrough(replayed, ask, terminal);
  else terminal.print(replayedText(replayed, terminal));
  return verify && replayed.differences.length > 0 ? EXIT.failed : EXIT.done;
}

const looksLikePath = (given: string): boolean => /[/\\]|\.json(\.gz)?$/.test(given);

/** A task is meant before a file that happens to have its name. */
async function isOnlyFile(context: Context, given: string): Promise<boolean> {
  if (!statSync(given, { throwIfNoEntry: false })?.isFile()) return false;
  return perform(context, 'task.show', { task: given }).then(
    () => false,
    (problem) => {
      if (problem instanceof UserError) return true;
      throw problem;
    },
  );
}

async function showVerified({ context, terminal }: Session, task: string | undefined): Promise<number> {
  const verified = await perform(context, 'replay.verify', task === undefined ? {} : { task });
  terminal.print(terminal.json ? JSON.stringify(verified, null, 2) : verifiedText(verified));
  return verified.differences.length > 0 ? EXIT.failed : EXIT.done;
}

export function verifiedText({ events, rows, differences }: Result<'replay.verify'>): string {
  const compared = [
    count(rows.tasks, 'task'),
    count(rows.turns, 'turn'),
    count(rows.plans, 'plan'),
    ...(rows.loop > 0 ? ["the loop's own row"] : []),
  ];
  const said = `Events up to ${events} folded again and compared with ${compared.join(', ')}.`;
  return `${said}\n${differencesText(differences)}`;
}

const differencesText = (
  differences: readonly (Replayed['differences'][number] & { row?: string })[],
): string =>
  differences.length === 0
    ? 'Every row is what its events say.'
    : differences
        .map(({ row, field, stored, folded }) => {
          const where = [row, field].filter(Boolean).join(' ');
          return `${where}: the row has ${shown(stored)}, the events say ${shown(folded)}`;
        })
        .join('\n');

const shown = (value: unknown): string => cut(JSON.stringify(value), 200);

export const replayedText = (replayed: Replayed, terminal: Terminal): string =>
  replayed.at === null ? replayText(replayed, terminal) : stepText(replayed, terminal);

function replayText({ name, title, steps, differences }: Replayed, { paint, columns }: Terminal): string {
  const rows = steps.map((one) => [
    paint.dim(String(one.step).padStart(4)),
    paint.dim(`e${one.seq}`),
    clock(one.at),
    one.state + (one.hold ? paint.yellow(` (${one.hold})`) : ''),
    sayingOf(one, paint),
  ]);
  return [
    paint.bold(`${name} ${title}`),
    table(rows, columns),
    ...(differences.length > 0 ? [paint.red(differencesText(differences))] : []),
  ].join('\n');
}

/** What `run` said of it then; of what it passed over, the bare event. */
function sayingOf({ seq, at, type, data }: StepView, paint: Terminal['paint']): string {
  const event = { seq, at: Date.parse(at), task: null, type, data } as LoopEvent;
  const said = eventLine(event, () => undefined, paint);
  const bare =
    event.type === 'worker_state_transition'
      ? `${event.data.from} → ${event.data.to}: ${event.data.why}`
      : `${type} ${paint.dim(JSON.stringify(data).slice(0, 300))}`;
  // The time stands before it.
  return said === null ? bare : said.slice(said.indexOf('  ') + 2).replace(/\n\s*/g, ' ');
}

function stepText({ name, title, steps, at }: Replayed, { paint }: Terminal): string {
  const { step, seq, type, data, state, why, hold, changed, asked, cameOf, diff } = at!;
  const head = (text: string): string => paint.bold(`\n${text}`);
  return [
    paint.bold(`${name} ${title}`),
    `${paint.dim(`step ${step} of ${steps.length}, event ${seq}, ${clock(at!.at)}`)}  ${paint.cyan(type)}`,
    sayingOf(at!, paint),
    `${paint.dim('state')}    ${state}${hold ? paint.yellow(` (held: ${hold})`) : ''}: ${why}`,
    `${paint.dim('changed')}  ${changed.join(', ') || 'nothing in its row'}`,
    JSON.stringify(data, null, 2),
    ...(cameOf
      ? [head(`What came of it: step ${cameOf.step}, ${cameOf.type}`), JSON.stringify(cameOf.data, null, 2)]
      : []),
    ...(asked
      ? [
          head(`What was asked: ${asked.role}, turn ${asked.turn} (${asked.prompt})`),
          asked.text ?? 'The prompt is no longer kept.',
        ]
      : []),
    ...(diff
      ? [
          head(`The work then: ${shortSha(diff.base)}..${shortSha(diff.head)}`),
          diff.patch === null
            ? 'These commits are no longer in this repository.'
            : diff.patch.trimEnd() || 'No change.',
        ]
      : []),
  ].join('\n');
}

const KEYS = 'n or Enter: next, p: back, g and G: first and last, q: quit';

async function stepThrough(
  { steps }: Replayed,
  ask: (at: string) => Promise<Replayed>,
  terminal: Terminal,
): Promise<void> {
  let at = 1;
  const show = async (): Promise<void> => {
    const text = fitting(stepText(await ask(String(at)), terminal), at, terminal);
    terminal.redraw(`${text}\n\n${terminal.paint.dim(KEYS)}`);
  };
  const keyboard = openKeyboard(untilInterrupted());
  keyboard.take();
  try {
    for (;;) {
      await show();
      const key = await keyboard.next();
      if (key === null || key === 'q' || key === 'c-c') return;
      const to: Record<string, number> = { p: at - 1, left: at - 1, up: at - 1, g: 1, G: steps.length };
      const next = NEXT.has(key) ? at + 1 : (to[key] ?? at);
      at = Math.min(Math.max(next, 1), steps.length);
    }
  } finally {
    keyboard.release();
  }
}

/** Its beginning says what it is: that must not scroll away. */
function fitting(text: string, step: number, { columns }: Terminal): string {
  const room = Math.max(5, process.stdout.rows - 4);
  const lines = text.split('\n').map((line) => (columns === null ? line : cut(line, columns)));
  if (lines.length <= room) return lines.join('\n');
  const more = `… ${lines.length - room} more lines: forge-loop replay … --at ${step} shows them all`;
  return [...lines.slice(0, room), more].join('\n');
}

const NEXT: ReadonlySet<string> = new Set(['n', 'return', 'enter', 'space', 'right', 'down']);
