import { describe, expect, test } from 'vitest';
import type { Choice } from '../../core/tell/choices.ts';
import type { Row, Sight } from './page.ts';
import { begin, followed, placeOf, press, type State } from './state.ts';

const choice = (change: Partial<Choice> = {}): Choice => ({
  operation: 'task.approve',
  input: { task: 'a' },
  label: 'Approve',
  says: 'It counts as approved.',
  settles: true,
  ends: false,
  ...change,
});
const row = (name: string, choices: Choice[] = []): Row => ({
  cells: [name],
  opens: { page: 'task', of: name },
  choices,
});
const sight = (change: Partial<Sight> = {}): Sight => ({
  ...{ title: '', rows: [], text: '', choices: [], links: [], readsFromEnd: false },
  ...change,
});
const list = sight({ rows: [row('a', [choice()]), row('b'), row('c')] });
const size = { page: 10, lines: 0 };

const typed = (keys: readonly string[], seen: Sight = list, from: State = begin()): State =>
  keys.reduce((state, key) => press(state, key, seen, size).state, from);

describe('a key', () => {
  test('moves among rows, and never past them', () => {
    expect(placeOf(typed(['j'])).row).toBe(1);
    expect(placeOf(typed(['j', 'j', 'j', 'j'])).row).toBe(2);
    expect(placeOf(typed(['k'])).row).toBe(0);
    expect(placeOf(typed(['G'])).row).toBe(2);
    expect(placeOf(typed(['space'])).row).toBe(2);
  });

  test('opens a row, and esc goes back to where one was', () => {
    const opened = typed(['j', 'return']);
    expect(placeOf(opened)).toMatchObject({ page: 'task', of: 'b' });
    expect(placeOf(typed(['escape'], list, opened))).toMatchObject({ page: 'board', row: 1 });
    expect(placeOf(typed(['escape']))).toMatchObject({ page: 'board' });
  });

  test('is about the row one is at, also when others came before it since', () => {
    const at = typed(['j']);
    const now = sight({ rows: [row('new'), row('a', [choice()]), row('b'), row('c')] });
    expect(placeOf(followed(at, list, now)).row).toBe(2);
    expect(followed(at, list, list)).toBe(at);
    const gone = sight({ rows: [row('a'), row('c')] });
    expect(followed(at, list, gone)).toBe(at);
  });

  test('goes to a page by its number', () => {
    expect(typed(['return', '3']).trail).toMatchObject([{ page: 'plans' }]);
  });

  test('does to the row one is at what can be done to it, and to others nothing', () => {
    const approve = { kind: 'perform', operation: 'task.approve', input: { task: 'a' }, label: 'Approve' };
    expect(press(begin(), 'a', list, size).effect).toEqual(approve);
    expect(press(typed(['j']), 'a', list, size).effect).toBeUndefined();
    expect(press(begin(), 'a', sight({ choices: [choice()] }), size).effect).toEqual(approve);
  });

  test('that ends a task is asked once more', () => {
    const cancel = choice({ operation: 'task.cancel', label: 'Cancel', ends: true });
    const seen = sight({ rows: [row('a', [cancel])] });
    const asked = press(begin(), 'x', seen, size);
    expect([asked.effect, asked.state.asking]).toEqual([undefined, cancel]);
    expect(press(asked.state, 'y', seen, size).effect).toMatchObject({ operation: 'task.cancel' });
    const left = press(asked.state, 'n', seen, size);
    expect([left.effect, left.state.asking]).toEqual([undefined, null]);
  });

  test('asks for the text that a choice needs, and sends it with the rest', () => {
    const tell = choice({
      operation: 'task.tell',
      label: 'Send back',
      asks: { field: 'text', label: 'What' },
    });
    const seen = sight({ rows: [row('a', [tell])] });
    const asked = typed(['m', 'return'], seen);
    expect(asked.form?.fields).toMatchObject([{ name: 'text', value: '' }]);
    const said = typed(['n', 'o', 'space', '2'], seen, asked);
    expect(press(said, 'return', seen, size).effect).toEqual({
      ...{ kind: 'perform', operation: 'task.tell', label: 'Send back', input: { task: 'a', text: 'no 2' } },
    });
  });

  test('scrolls a text; one that is read from its end is followed until one goes up', () => {
    const text = sight({ text: 'long', readsFromEnd: true });
    const at = { page: 10, lines: 100 };
    const up = press(begin(), 'k', text, at).state;
    expect(placeOf(up)).toMatchObject({ row: 89, isAtEnd: false });
    expect(placeOf(press(up, 'j', text, at).state)).toMatchObject({ row: 90, isAtEnd: true });
    expect(placeOf(press(begin(), 'g', text, at).state)).toMatchObject({ row: 0, isAtEnd: false });
  });

  test('q and Ctrl-C leave, also in the middle of a question', () => {
    expect(press(begin(), 'q', list, size).effect).toEqual({ kind: 'quit' });
    expect(press({ ...begin(), asking: choice() }, 'c-c', list, size).effect).toEqual({ kind: 'quit' });
  });

  test('the message of the last thing is gone with the next key', () => {
    const told = { ...begin(), message: { text: 'Done.', isProblem: false } };
    expect(press(told, 'j', list, size).state.message).toBeNull();
  });
});

describe('a plan', () => {
  const plans = { ...begin(), trail: [{ page: 'plans' as const, of: '', row: 0, isAtEnd: true }] };
  const stored = sight({
    rows: [{ cells: ['p'], opens: { page: 'plan', of: 'p1' }, choices: [], plan: 'p1' }],
  });

  test('is approved and edited by a key', () => {
    expect(press(plans, 'a', stored, size).effect).toMatchObject({
      operation: 'plan.approve',
      input: { plan: 'p1' },
    });
    expect(press(plans, 'e', stored, size).effect).toEqual({ kind: 'edit', plan: 'p1' });
  });

  test('is started with a mode and models', () => {
    const form = typed(['s', 'right', 'down', 'space', 'down', 'o', 'p', 'u', 's'], stored, plans);
    expect(press(form, 'return', stored, size).effect).toEqual({
      kind: 'start',
      file: null,
      input: { plan: 'p1', mode: 'session', pullRequest: true, model: 'opus' },
    });
    expect(press(form, 'escape', stored, size).state.form).toBeNull();
  });

  test('is loaded from a file, which has to be named', () => {
    const asked = typed(['l'], stored, plans);
    const early = press(asked, 'return', stored, size);
    expect([early.effect, early.state.form?.at]).toEqual([undefined, 0]);
    const named = typed(
      [...'my plan.mdx'].map((one) => (one === ' ' ? 'space' : one)),
      stored,
      asked,
    );
    const fixed = typed(['backspace'], stored, named);
    expect(press(fixed, 'return', stored, size).effect).toMatchObject({ kind: 'start', file: 'my plan.md' });
  });
});
