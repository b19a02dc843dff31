import { describe, expect, test } from 'vitest';
import { likeness } from './same-finding.ts';

const CODE = 'function open() {\n  dialog.show();\n  focus(dialog);\n}';
const OTHER_CODE = 'export const close = () => {\n  store.clear();\n  history.back();\n};';
const at = (message: string, context: string | null = null, file = 'a.ts') => ({
  file,
  line: 3,
  message,
  context,
});

describe('the same defect, told again', () => {
  test.each<[string, string, string | null, string | null]>([
    ['word for word', 'The dialog has no role', null, null],
    ['with other small words', 'Still no role on the dialog', null, null],
    ['in another order and number', 'Roles are missing on these dialogs', null, null],
    ['with a line number', 'line 12: the dialog has no role', null, null],
    ['longer', 'The dialog has no role attribute', null, null],
    ['much longer, at the same code', 'The dialog has no role, so screen readers skip it', CODE, CODE],
    ['when the code around it was rewritten', 'The dialog has no role', CODE, OTHER_CODE],
    ['when the code moved and grew a little', 'The dialog lacks a proper role', CODE, `${CODE}\nreturn 1;`],
  ])('%s', (_what, again, before, after) => {
    expect(likeness(at('The dialog has no role', before), at(again, after))).toBeGreaterThan(0);
  });

  test.each<[string, string, string]>([
    ['names of code', '`parse()` does not check for null', 'parse() still lacks the null check'],
    ['inflection', 'Closing the store loses pending writes', 'Pending write lost when the store closes'],
    ['another language', 'Der Dialog schließt nicht mit Escape', 'Escape schließt den Dialog nicht'],
  ])('across %s', (_what, before, again) => {
    expect(likeness(at(before), at(again))).toBeGreaterThan(0);
  });
});

describe('two defects in one file', () => {
  test.each<[string, string, string, string | null, string | null]>([
    ['another thing is missing', 'The dialog has no role', 'The dialog has no label', null, null],
    ['so too at the very same code', 'The dialog has no role', 'The dialog has no label', CODE, CODE],
    [
      'another function',
      '`parse()` does not check for null',
      '`render()` does not check for null',
      null,
      null,
    ],
    ['another variable', 'userId is never validated here', 'tokenId is never validated here', null, null],
    ['another constant', 'MAX_TURNS is not enforced', 'MAX_ROUNDS is not enforced', null, null],
    ['nothing in common', 'Escape leaves it open', 'The token is logged', null, null],
    [
      'one common word',
      'The token is logged',
      'The token is never refreshed after an hour',
      CODE,
      OTHER_CODE,
    ],
    ['no words at all', '42!', '43?', null, null],
  ])('%s', (_what, one, other, before, after) => {
    expect(likeness(at(one, before), at(other, after))).toBe(0);
    expect(likeness(at(other, after), at(one, before))).toBe(0);
  });
});

test('another file, or none, is another finding', () => {
  expect(likeness(at('No role'), at('No role', null, 'b.ts'))).toBe(0);
  expect(likeness(at('No role'), { ...at('No role'), file: null })).toBe(0);
});

test('the same code counts more than the same line, the same line more than another', () => {
  const found = at('No role', CODE);
  const sameCode = likeness(found, { ...at('No role', CODE), line: 90 });
  const sameLine = likeness(found, at('No role', OTHER_CODE));
  const neither = likeness(found, { ...at('No role', OTHER_CODE), line: 90 });
  expect(sameCode).toBeGreaterThan(sameLine);
  expect(sameLine).toBeGreaterThan(neither);
});

test('a flood of words is compared at once', () => {
  expect(likeness(at('x(`a'.repeat(500_000)), at('`'.repeat(2_000_000)))).toBe(0);
});
