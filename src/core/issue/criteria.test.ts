import { describe, expect, test } from 'vitest';
import { extractCriteria, MAX_CRITERIA, MAX_TEXT, MAX_VERIFY } from './criteria.ts';

/** `text` or `text ⇒ command`, in order. */
const found = (body: string): string[] =>
  extractCriteria(body).map(({ text, verify }) => (verify === null ? text : `${text} ⇒ ${verify}`));

describe('criteria of an issue', () => {
  test.each<[string, string, string[]]>([
    ['prose has none', 'Clicking Revoke POSTs /tokens/1/revoke.', []],
    ['an empty text has none', '', []],
    [
      'checkboxes, whatever their bullet and state',
      '- [ ] one\n* [x] two\n+ [X] three\n1. [ ] four',
      ['one', 'two', 'three', 'four'],
    ],
    ['a list elsewhere is no criterion', 'Notes:\n- one\n- two', []],
    ['a link in brackets is no checkbox', '- [one](https://x)', []],
    ['an empty box is none', '- [ ] \n- [ ] two', ['two']],
    [
      'items below an acceptance heading',
      'Why.\n\n## Acceptance criteria\n\n- one\n- two\n\n## Out of scope\n- three',
      ['one', 'two'],
    ],
    ['a deeper heading stays in the section', '# Acceptance\n## CLI\n- one\n# Notes\n- two', ['one']],
    ['a bold line is a heading too', '**Acceptance:**\n- one\n**Notes**\n- two', ['one']],
    [
      'so is the word alone, until prose goes on',
      'Acceptance\n- one\n- two\n\nNon-goals\n- three',
      ['one', 'two'],
    ],
    ['a sentence that begins with the word is prose', 'Acceptance depends on the\n- weather', []],
    ['numbers count as items', '### Acceptance\n1. one\n2) two', ['one', 'two']],
    [
      'what is indented below an item belongs to it',
      '## Acceptance\n- the CLI:\n  - prints "x"\n  - exits 2\n  and says why\n- two',
      ['the CLI: • prints "x" • exits 2 and says why', 'two'],
    ],
    [
      'a wrapped line goes with its item',
      '- [ ] one that is\nlonger than a line\n\nprose',
      ['one that is longer than a line'],
    ],
    ['a nested checkbox is its own', '- [ ] one\n  - [ ] two', ['one', 'two']],
    ['lines may end as on Windows', '- [ ] one\r\n  verify: a\r\n- [ ] two\r\n', ['one ⇒ a', 'two']],
    [
      'given, when, then',
      'Given a token\nWhen Revoke is clicked\nThen a dialog opens\nAnd it has focus\n\nProse.',
      ['Given a token When Revoke is clicked Then a dialog opens And it has focus'],
    ],
    [
      'one after another',
      'Given a\nThen b\nGiven c\nWhen d\nThen e\n\nAnd so on.',
      ['Given a Then b', 'Given c When d Then e'],
    ],
    ['without a then it is prose', 'Given a\nAnd b\nWhen c\n\nWhen we are done, we go home.', []],
    ['in one sentence', 'When it is empty, then it exits 2.', ['When it is empty, then it exits 2.']],
    [
      'as list items they are one criterion',
      '## Acceptance\n- Given a\n- When b\n- Then c\n- d\n- When e it fs\n- When g it hs',
      ['Given a When b Then c', 'd', 'When e it fs', 'When g it hs'],
    ],
    [
      'inside Gherkin',
      '```gherkin\nScenario: x\n  Given a\n  When b\n  Then c\n```',
      ['Given a When b Then c'],
    ],
    [
      'other code is not read',
      '```\n- [ ] one\nverify: rm\n```\n~~~sh\n- [ ] two\n~~~\n- [ ] three',
      ['three'],
    ],
    ['comments are not read', '<!--\n- [ ] one\n-->\n<!-- - [ ] two -->\n- [ ] three', ['three']],
    [
      'no command is taken from a comment that begins within a line',
      '- [ ] one <!-- verify: a # -->\n- [ ] two <!--\n  verify: b #\n  -->\n- [ ] three verify: c',
      ['one <!-- verify a # -->', 'two <!-- verify b # -->', 'three ⇒ c'],
    ],
    [
      'nor from a tag',
      '- [ ] one <i title="verify: a #"></i>\n- [ ] two <b\n  title=\'\n  verify: b #\'>\n- [ ] three verify: c',
      ['one <i title="verify a #"></i>', "two <b title=' verify b #'>", 'three ⇒ c'],
    ],
    [
      'a command may have such signs itself, and text may speak of them',
      "- [ ] no `<!--` is left verify: a <in.txt\n- [ ] nor `-->` verify: b > out\n- [ ] x verify: grep '<b>' y",
      ['no `<!--` is left ⇒ a <in.txt', 'nor `-->` ⇒ b > out', "x ⇒ grep '<b>' y"],
    ],
  ])('%s', (_what, body, expected) => {
    expect(found(body)).toEqual(expected);
  });

  test.each<[string, string, string[]]>([
    [
      'at the end of an item',
      '- [ ] it revokes; verify: npm test -- revoke',
      ['it revokes ⇒ npm test -- revoke'],
    ],
    ['in brackets and backticks', '- [ ] it revokes (verify: `npm test`)', ['it revokes ⇒ npm test']],
    ['wholly in backticks', '- [ ] it revokes (`verify: npm test`)', ['it revokes ⇒ npm test']],
    ['wholly in backticks, below', '- [ ] it revokes\n  `verify: npm test`', ['it revokes ⇒ npm test']],
    ['in bold', '- [ ] it revokes **verify:** npm test', ['it revokes ⇒ npm test']],
    ['in bold, below', '- [ ] it revokes\n  __Verify__: `npm test`', ['it revokes ⇒ npm test']],
    [
      'on an indented line below',
      '- [ ] it revokes\n  verify: `npm test`\n- [ ] b',
      ['it revokes ⇒ npm test', 'b'],
    ],
    ['as an item below', '- [ ] it revokes\n  - Verify: npm test', ['it revokes ⇒ npm test']],
    ['after a blank line, if indented', '- [ ] a\n\n  verify: x', ['a ⇒ x']],
    ['several must all pass', '- [ ] a\n  verify: x\n  verify: y', ['a ⇒ x && y']],
    ['below a scenario', 'Given a\nThen b\n  verify: x', ['Given a Then b ⇒ x']],
    ['an item anywhere that names its check counts', 'Notes\n- a, verify: x', ['a ⇒ x']],
    [
      'standing alone it is its own criterion',
      'Prose.\n\nverify: npm test',
      ['`npm test` passes ⇒ npm test'],
    ],
    ['the last one counts', '- [ ] it prints "verify: a" verify: b', ['it prints "verify: a" ⇒ b']],
    ['a word that ends so is none', '- [ ] re-verify: x', ['re-verify: x']],
  ])('verify %s', (_what, body, expected) => {
    expect(found(body)).toEqual(expected);
  });

  test('are numbered in the order of the text', () => {
    expect(extractCriteria('- [ ] a\n- [ ] b').map(({ id }) => id)).toEqual(['c1', 'c2']);
  });
});

describe('caps are said', () => {
  const boxes = (count: number) => Array.from({ length: count }, (_, index) => `- [ ] n${index}`).join('\n');

  test('as many as fit are listed whole', () => {
    expect(found(boxes(MAX_CRITERIA)).at(-1)).toBe(`n${MAX_CRITERIA - 1}`);
  });

  test('the rest is one criterion that says how many there are', () => {
    const criteria = extractCriteria(boxes(MAX_CRITERIA + 7));
    expect(criteria).toHaveLength(MAX_CRITERIA);
    expect(criteria.at(-1)).toMatchObject({ id: `c${MAX_CRITERIA}`, verify: null });
    expect(criteria.at(-1)?.text).toContain('The 8 further criteria');
  });

  test('a long text is cut and says so', () => {
    const [only] = extractCriteria(`- [ ] ${'x'.repeat(MAX_TEXT + 1)}`);
    expect(only?.text).toBe(`${'x'.repeat(MAX_TEXT)}… (cut; the issue has the rest)`);
  });

  test('a long command is not run and says so; it is never cut', () => {
    const [only] = extractCriteria(`- [ ] a\n  verify: ${'x'.repeat(MAX_VERIFY + 1)}`);
    expect(only).toMatchObject({ verify: null });
    expect(only?.text).toContain('is not run');
  });
});

/** A quadratic reading of these would take minutes, and the test's own limit would end it. */
test.each([
  ['boxes', '- [ ] a verify: b\n'],
  ['scenarios that never conclude', 'Given a\nAnd b\nWhen c\n'],
  ['steps', 'And a\n'],
  ['one endless item', '  more verify: x\n'],
  ['blank lines', ' \n'],
  ['headings', '# acceptance\n'],
  ['brackets in one line', ' ('],
  ['marks in one line', 'verify:'],
  ['ticks in one line', '`'],
])('a text of nothing but %s is read at once', (_what, part) => {
  const flood = part.repeat(Math.ceil(1_000_000 / part.length));
  expect(extractCriteria(`- [ ] first\n\n- [ ] second ${flood}`)[0]).toEqual({
    id: 'c1',
    text: 'first',
    verify: null,
  });
});
