/** Where one is in the full screen, and what a key does there. Pure: what is to be done to the loop is an effect. */
import type { Choice } from '../../core/tell/choices.ts';
import { choiceForm, type Form, pressInForm, startForm } from './form.ts';
import { type Place, type Row, type Sight, TABS } from './page.ts';

export interface State {
  /** The way here; the last is where one is. */
  trail: readonly At[];
  /** Asked once more before it is done. */
  asking: Choice | null;
  form: Form | null;
  /** What came of the last thing one did. */
  message: { text: string; isProblem: boolean } | null;
}

interface At extends Place {
  /** The row one is at, or the first line that is shown. */
  row: number;
  /** Of a text that is read from its end: it is followed while one is there. */
  isAtEnd: boolean;
}

export type Effect =
  | { kind: 'perform'; operation: string; input: Record<string, unknown>; label: string }
  /** With the text of `file`, which whoever performs it reads. */
  | { kind: 'start'; input: Record<string, unknown>; file: string | null }
  | { kind: 'edit'; plan: string }
  | { kind: 'pause' }
  | { kind: 'quit' };

interface Pressed {
  state: State;
  effect?: Effect;
}

const arrive = (place: Place): At => ({ ...place, row: 0, isAtEnd: true });

export const begin = (): State => ({
  trail: [arrive({ page: 'board', of: '' })],
  asking: null,
  form: null,
  message: null,
});

export const placeOf = ({ trail }: State): At => trail.at(-1)!;

/** `page`: how many rows or lines fit on the screen. `lines`: how many the text has. */
export function press(
  state: State,
  key: string,
  sight: Sight,
  { page, lines }: { page: number; lines: number },
): Pressed {
  if (key === 'c-c') return { state, effect: { kind: 'quit' } };
  if (state.asking) return answer(state, key, state.asking);
  if (state.form) return inForm(state, state.form, key);
  const plain = { ...state, message: null };
  const tab = TABS[Number(key) - 1];
  if (tab) return { state: { ...plain, trail: [arrive({ page: tab.page, of: '' })] } };
  const at = placeOf(state);
  const rows = sight.rows;
  const row = rows[at.row];
  const plan = row?.plan ?? sight.plan;
  const choices = rows.length > 0 ? (row?.choices ?? []) : sight.choices;
  const chosen = choices.find((choice) => keyOf(choice) === key);
  if (chosen) return choose(plain, chosen);
  const link = sight.links.find((one) => one.key === key);
  if (link) return { state: open(plain, link.opens) };
  const isFollowed = rows.length === 0 && sight.readsFromEnd && at.isAtEnd;
  const moved = moveTo(at, key, { count: rows.length || lines, page, isList: rows.length > 0, isFollowed });
  if (moved) return { state: { ...plain, trail: [...state.trail.slice(0, -1), moved] } };
  switch (key) {
    case 'q':
      return { state, effect: { kind: 'quit' } };
    case '?':
      return { state: at.page === 'help' ? back(plain) : open(plain, { page: 'help', of: '' }) };
    case 'escape':
    case 'backspace':
    case 'left':
    case 'h':
      return { state: back(plain) };
    case 'return':
    case 'enter':
    case 'right':
    case 'l':
      if (row?.opens && !(key === 'l' && at.page === 'plans')) return { state: open(plain, row.opens) };
      return key === 'l' && at.page === 'plans'
        ? { state: { ...plain, form: startForm(null) } }
        : { state: plain };
    case 'P':
      return { state: plain, effect: { kind: 'pause' } };
    default:
      return plan === undefined ? { state: plain } : ofPlan(plain, key, plan);
  }
}

function ofPlan(state: State, key: string, plan: string): Pressed {
  switch (key) {
    case 'a':
      return {
        state,
        effect: { kind: 'perform', operation: 'plan.approve', input: { plan }, label: 'Approve' },
      };
    case 'e':
      return { state, effect: { kind: 'edit', plan } };
    case 's':
      return { state: { ...state, form: startForm(plan) } };
    default:
      return { state };
  }
}

const open = (state: State, place: Place): State => ({ ...state, trail: [...state.trail, arrive(place)] });

/** The same row as before, wherever it is by now: what is done next is done to that one. */
export function followed(state: State, before: Sight, now: Sight): State {
  const at = placeOf(state);
  const nameOf = ({ opens }: Row): string => JSON.stringify(opens);
  const row = before.rows[at.row];
  if (!row?.opens || (now.rows[at.row] && nameOf(now.rows[at.row]!) === nameOf(row))) return state;
  const found = now.rows.findIndex((one) => nameOf(one) === nameOf(row));
  return found < 0 ? state : { ...state, trail: [...state.trail.slice(0, -1), { ...at, row: found }] };
}

/** In place of the page one is on, if that is of the same kind: what one looked at is there under another name. */
export const movedTo = (state: State, place: Place): State => ({
  ...state,
  trail: [...(placeOf(state).page === place.page ? state.trail.slice(0, -1) : state.trail), arrive(place)],
});

const back = (state: State): State =>
  state.trail.length > 1 ? { ...state, trail: state.trail.slice(0, -1) } : state;

/** Null for a key that moves nothing. */
function moveTo(
  at: At,
  key: string,
  { count, page, isList, isFollowed }: { count: number; page: number; isList: boolean; isFollowed: boolean },
): At | null {
  const last = Math.max(0, isList ? count - 1 : count - page);
  const from = isFollowed ? last : at.row;
  const to: Record<string, number> = {
    ...{ j: from + 1, down: from + 1, k: from - 1, up: from - 1, g: 0, home: 0, G: last, end: last },
    ...{ space: from + page, pagedown: from + page, b: from - page, pageup: from - page },
  };
  if (to[key] === undefined) return null;
  const row = Math.min(Math.max(to[key], 0), last);
  return { ...at, row, isAtEnd: row === last };
}

/** One key for each thing that can be done to a task; what settles it and what is approved have the same. */
const KEYS: Record<Choice['operation'], string> = {
  ...{ 'task.approve': 'a', 'issue.ready': 'a', resume: 'r', 'task.retry': 'r', 'task.restart': 'c' },
  ...{ pause: 'p', 'task.cancel': 'x', 'task.abandon': 'X' },
  ...{ 'task.tell': 'm', 'issue.comment': 'm', 'findings.wontfix': 'w' },
};

export const keyOf = (choice: Choice): string => KEYS[choice.operation];

function choose(state: State, choice: Choice): Pressed {
  if (choice.asks) return { state: { ...state, form: choiceForm(choice, choice.asks) } };
  return choice.ends ? { state: { ...state, asking: choice } } : { state, effect: doing(choice) };
}

const doing = ({ operation, input, label }: Choice): Extract<Effect, { kind: 'perform' }> => ({
  ...{ kind: 'perform', operation, input, label },
});

function answer(state: State, key: string, asked: Choice): Pressed {
  const told = { ...state, asking: null };
  return key === 'y' ? { state: told, effect: doing(asked) } : { state: told };
}

function inForm(state: State, form: Form, key: string): Pressed {
  const { form: next, done } = pressInForm(form, key);
  if (next !== null) return { state: { ...state, form: next } };
  const left = { ...state, form: null };
  return done ? { state: left, effect: sending(form) } : { state: left };
}

function sending({ sends, fields }: Form): Effect {
  const value = (name: string): string => fields.find((field) => field.name === name)?.value.trim() ?? '';
  if (sends.kind === 'choice') {
    const { field } = sends.choice.asks!;
    const { input, ...rest } = doing(sends.choice);
    return { ...rest, input: { ...input, [field]: value(field) } };
  }
  const { plan } = sends;
  const input = {
    ...(plan !== null && { plan }),
    mode: value('mode'),
    pullRequest: value('pullRequest') === 'yes',
    ...(value('model') !== '' && { model: value('model') }),
    ...(value('auditorModel') !== '' && { auditorModel: value('auditorModel') }),
  };
  return { kind: 'start', input, file: plan === null ? value('file') : null };
}
