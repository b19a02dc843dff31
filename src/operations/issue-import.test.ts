import { expect, test } from 'vitest';
import { openedRepository } from '../../test/support/opened-repository.ts';
import { perform } from '../operations.ts';

const here = openedRepository();

test('each file becomes an issue, with its labels and priority, and says whether it could be checked', async () => {
  const files = [
    { file: 'a.md', text: '# Add greet\n\n`greet("Ann")` returns "Hello, Ann".\n' },
    { file: 'b.md', text: '---\ntitle: Make it nicer\nlabels: [ui]\npriority: 2\n---\nPlease.\n' },
  ];
  const made = await perform(here.context, 'issue.import', { files, ready: true });
  expect(made).toEqual([
    { file: 'a.md', number: 1, title: 'Add greet', decision: 'ready' },
    { file: 'b.md', number: 2, title: 'Make it nicer', decision: 'declined' },
  ]);
  expect(await perform(here.context, 'issue.list')).toMatchObject([
    { number: 1, labels: ['loop:ready'], body: '`greet("Ann")` returns "Hello, Ann".' },
    { number: 2, labels: ['ui', 'loop:ready'], priority: 2, body: 'Please.' },
  ]);
});

test.each([
  ['no title', { file: 'b.md', text: '\n\n' }, 'b.md has no title'],
  ['a broken front matter', { file: 'b.md', text: '---\ntitle: [x\n---\nText\n' }, 'b.md:2: '],
])('%s: none of them is written', async (_what, bad, says) => {
  const files = [{ file: 'a.md', text: 'Add greet\n' }, bad];
  await expect(perform(here.context, 'issue.import', { files })).rejects.toThrow(says);
  expect(await perform(here.context, 'issue.list')).toEqual([]);
});
