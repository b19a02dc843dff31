/** The full screen: looks again every second and after each thing that was done, draws, and does what keys ask for. */
import { readFileSync } from 'node:fs';
import type { Context } from '../../context.ts';
import { UserError } from '../../errors.ts';
import { OPERATIONS, type OperationName, perform } from '../../operations.ts';
import type { Snapshot } from '../../view.ts';
import { type Keyboard, openKeyboard } from '../keys.ts';
import { editPlan } from '../plan-edit.ts';
import { type FullScreen, type Terminal, untilInterrupted } from '../terminal.ts';
import { TEXT } from '../text.ts';
import { frame, textLines } from './frame.ts';
import { look, type Place, type Sight, seenAs } from './page.ts';
import { begin, type Effect, followed, movedTo, placeOf, press, type State } from './state.ts';

const LOOK_EVERY_MS = 1000;

interface Session {
  context: Context;
  terminal: Terminal;
  screen: FullScreen;
  edit(path: string): Promise<void>;
}

export async function showScreen(own: Session): Promise<number> {
  const stop = untilInterrupted();
  const keyboard = openKeyboard(stop);
  own.screen.enter();
  keyboard.take();
  try {
    await live(own, keyboard, stop);
  } finally {
    keyboard.release();
    own.screen.leave();
  }
  return 0;
}

async function live(own: Session, keyboard: Keyboard, stop: AbortSignal): Promise<void> {
  const { context, terminal, screen } = own;
  const style = { paint: terminal.paint, unicode: screen.unicode };
  let state = begin();
  let now = await perform(context, 'status', { live: true });
  let seen = await sightOf(own, placeOf(state));
  const drawn = () => frame(state, seen, now, screen.size, style);
  const draw = (): void => screen.draw(drawn().lines);
  screen.onResize(draw, stop);
  draw();
  let pressed = keyboard.next();
  while (!stop.aborted) {
    const shown = placeOf(state);
    const due = wait(LOOK_EVERY_MS);
    const key = await Promise.race([pressed, due.over]);
    due.cancel();
    if (key !== undefined) {
      pressed = keyboard.next();
      if (key === null) return;
      const lines = textLines(seen, screen.size.columns).length;
      const { state: next, effect } = press(state, key, seen, { page: drawn().room, lines });
      state = next;
      if (effect?.kind === 'quit') return;
      if (effect) state = await carryOut(own, keyboard, state, effect, now);
      // What was under the cursor is drawn at once; what is behind a key is asked for first.
      if (!effect && isSame(placeOf(state), shown)) {
        draw();
        continue;
      }
    }
    // A database that is locked for a moment ends nothing: what was seen before stays.
    now = await perform(context, 'status', { live: true }).catch(() => now);
    const before = seen;
    seen = await sightOf(own, placeOf(state));
    if (isSame(placeOf(state), shown)) state = followed(state, before, seen);
    draw();
  }
}

const isSame = (one: Place, other: Place): boolean =>
  one.page === other.page && one.of === other.of && one.file === other.file;

/** What can't be shown is said in its place: a task that is gone, a database that is locked. */
async function sightOf({ context, terminal, screen }: Session, place: Place): Promise<Sight> {
  try {
    return seenAs(await look(context, place, terminal), screen.shown);
  } catch (problem) {
    const text = screen.shown(problemText(problem));
    return { title: place.page, rows: [], text, choices: [], links: [], readsFromEnd: false };
  }
}

async function carryOut(
  own: Session,
  keyboard: Keyboard,
  state: State,
  effect: Exclude<Effect, { kind: 'quit' }>,
  now: Snapshot,
): Promise<State> {
  try {
    const { text, opens } = await done(own, keyboard, effect, now);
    const next = { ...state, message: { text: own.screen.shown(text), isProblem: false } };
    return opens ? movedTo(next, opens) : next;
  } catch (problem) {
    return { ...state, message: { text: own.screen.shown(problemText(problem)), isProblem: true } };
  }
}

async function done(
  { context, terminal, screen, edit }: Session,
  keyboard: Keyboard,
  effect: Exclude<Effect, { kind: 'quit' }>,
  now: Snapshot,
): Promise<Done> {
  const said = async (name: OperationName, input: Record<string, unknown>): Promise<Done> => {
    const result = await perform(context, name, input);
    return told((TEXT[name] as (result: unknown, terminal: Terminal) => string)(result, terminal));
  };
  switch (effect.kind) {
    case 'perform':
      return said(nameOf(effect.operation), effect.input);
    case 'pause':
      return now.paused === null ? said('pause', {}) : said('resume', {});
    case 'start': {
      const { file, input } = effect;
      return said('loop.start', file === null ? input : { ...input, file, text: readFileSync(file, 'utf8') });
    }
    case 'edit': {
      keyboard.release();
      screen.leave();
      try {
        const edited = await editPlan(context, effect.plan, { file: undefined, edit });
        // The text that was edited is archived.
        return { ...told(TEXT['plan.edit'](edited, terminal)), opens: { page: 'plan', of: edited.id } };
      } finally {
        screen.enter();
        keyboard.take();
      }
    }
    default:
      return effect satisfies never;
  }
}

function nameOf(operation: string): OperationName {
  if (operation in OPERATIONS) return operation as OperationName;
  throw new Error(`there is no operation ${operation}`);
}

/** What came of it, in a line, and where to go with that. */
interface Done {
  text: string;
  opens?: Place;
}

const told = (text: string): Done => ({
  text: text.split('\n').find((line) => line.trim() !== '') ?? 'Done.',
});

function problemText(problem: unknown): string {
  const { message } = problem as Error;
  const hint = problem instanceof UserError ? problem.hint : null;
  return [message, hint].filter(Boolean).join(' ').replaceAll('\n', ' ');
}

function wait(ms: number): { over: Promise<undefined>; cancel(): void } {
  let cancel = (): void => {};
  const over = new Promise<undefined>((resolve) => {
    const timer = setTimeout(() => resolve(undefined), ms);
    cancel = () => clearTimeout(timer);
  });
  return { over, cancel };
}
