import { expect, test } from 'vitest';
import { draftIn } from './lint.ts';

test.each([
  ['the first line is the title', 'Add greet\n\ngreet() returns "hi"', 'Add greet', 'greet() returns "hi"'],
  ['a heading is a title too', '# Add greet\ngreet() returns "hi"', 'Add greet', 'greet() returns "hi"'],
  ['one line is only a title', 'Fix typo in README: teh → the', 'Fix typo in README: teh → the', ''],
  ['an issue file has its title in front', '---\ntitle: "A: B"\nlabels: []\n---\nbody\n', 'A: B', 'body'],
  ['front matter without a title', '---\nlabels: []\n---\n\n# T\nbody', 'T', 'body'],
  ['Windows line ends and a byte order mark', '\uFEFF# T\r\nbody\r\nmore', 'T', 'body\nmore'],
  ['a line across the page is no front matter', '---\n# T\nbody', '---', '# T\nbody'],
  ['nothing at all', '', '', ''],
])('%s', (_what, text, title, body) => {
  expect(draftIn(text)).toEqual({ title, body });
});
