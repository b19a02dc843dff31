import { describe, expect, test } from 'vitest';
import { markdownLines, replaceComments } from './markdown.ts';

/** One letter a line: Text, blank (_), Code, Fence, comment (H for hidden), heading (its level), Item. */
const shape = (markdown: string): string =>
  markdownLines(markdown)
    .map((line) => {
      if (line.kind === 'heading') return line.level;
      if (line.kind === 'code') return line.isFence ? 'F' : 'C';
      return line.text === '' ? '_' : { text: 'T', comment: 'H', item: 'I' }[line.kind];
    })
    .join('');

describe('Markdown', () => {
  test.each<[string, string, string]>([
    ['nothing', '', '_'],
    ['headings and items', '# a\n###### b\n#c\n- d\n2) e\n-f\n\ntext', '16TIIT_T'],
    ['a fence of backticks', '```sh\n# a\n- b\n<!--\n```\n# c', 'FCCCF1'],
    ['a fence of tildes', '~~~\n```\n~~~\ntext', 'FCFT'],
    ['a longer fence', '````\n```\ncode\n```\n`````\ntext', 'FCCCFT'],
    ['a fence with something behind it closes nothing', '```\n```js\n```', 'FCF'],
    ['code within a line is no fence', '```a``` b\ntext', 'TT'],
    ['a fence that is never closed', '```\na\n\nb', 'FCCC'],
    ['a fence that is indented as code', '    ```\ntext\n```\n    ```\n```', 'TTFCF'],
    ['a fence below an item', '- a\n    - b\n\n      ```\n      code\n      ```\n- c', 'II_FCFI'],
    ['a fence after the list', '- a\n\ntext\n\n     ```\ntext', 'I_T_TT'],
    ['a comment', '<!-- a -->\n<!--\n# b\n```\n-->\n# c', 'HHHHH1'],
    ['a comment that is never closed', 'a\n<!-- b\n- c', 'THH'],
    ['a comment within a line', 'a <!-- b\n- c -->', 'TI'],
    ['lines that end as on Windows', '```\r\na\r\n```\r\n# b\r\n', 'FCF1_'],
  ])('%s', (_what, markdown, expected) => {
    expect(shape(markdown)).toBe(expected);
  });

  test('says what stands in a heading, in an item and behind a fence', () => {
    expect(markdownLines('  ## A title\n   1. [ ] one \n~~~~ gherkin x\ncode')).toMatchObject([
      { kind: 'heading', level: 2, title: 'A title', indent: 2 },
      { kind: 'item', said: '[ ] one', indent: 3, raw: '   1. [ ] one ' },
      { kind: 'code', info: 'gherkin x' },
      { kind: 'code', info: 'gherkin x', text: 'code' },
    ]);
  });

  test.each(['#', '-', '~~~'])('a line is read in one pass, whatever stands behind %s', (mark) => {
    expect(shape(`${mark} ${' '.repeat(300_000)}a\u2028b`)).toBe({ '#': '1', '-': 'I', '~~~': 'F' }[mark]);
  });

  test('a comment on a line of its own marks a place, unless it is code', () => {
    const mark = '<!-- mark -->';
    const lines = markdownLines(`a\n${mark}\n~~~\n${mark}\n~~~\nb ${mark}\n\`${mark}\``);
    const marked = lines.flatMap(({ kind, text }, at) => (kind === 'comment' && text === mark ? at : []));
    expect(marked).toEqual([1]);
  });
});

test.each<[string, string, string]>([
  ['one', 'a <!-- b --> c', 'a * c'],
  ['several over lines', '<!-- a\n\nb -->c<!---->', '*c*'],
  ['one that is never closed', 'a <!-- b --> <!-- c', 'a * <!-- c'],
  ['one within backticks', 'a `<!--` b `-->`', 'a `<!--` b `-->`'],
])('comments: %s', (_what, markdown, expected) => {
  expect(replaceComments(markdown, () => '*')).toBe(expected);
});
