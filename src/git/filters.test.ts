import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Scratch, scratch } from '../../test/support/local-people.ts';
import { unsupportedFilters } from './filters.ts';
import { openGit } from './git.ts';

let s: Scratch;
beforeEach(async () => {
  s = await scratch();
});
afterEach(() => s.dispose());

/** What a repository with these attributes is found to need. */
async function found(attributes: Record<string, string>) {
  for (const [path, text] of Object.entries({ 'a.key': 'a', 'sub/b.key': 'b', ...attributes }))
    s.write(path, text);
  s.sh(['add', '.']);
  s.sh(['commit', '-q', '-m', 'Attributes']);
  return unsupportedFilters(await openGit(s.root), 'HEAD');
}

test('names the filter and the paths that have it, wherever the attribute is set', async () => {
  const crypt = { filter: 'git-crypt', paths: ['a.key', 'sub/b.key'] };
  expect(await found({ '.gitattributes': '*.key filter=git-crypt diff=git-crypt\n' })).toEqual([crypt]);
  const other = { filter: 'other', paths: ['sub/b.key'] };
  expect(await found({ 'sub/.gitattributes': '[attr]sealed filter=other\nb.key filter=other\n' })).toEqual([
    { ...crypt, paths: ['a.key'] },
    other,
  ]);
});

test('finds nothing where no tracked path has one', async () => {
  expect(await found({})).toEqual([]);
  expect(await found({ '.gitattributes': '*.psd filter=git-crypt\n*.key -filter\n' })).toEqual([]);
});

test('takes Git LFS for unsupported until the operator has set it up', async () => {
  s.sh(['config', 'filter.lfs.clean', 'something else']);
  expect(await found({ '.gitattributes': '*.key filter=lfs\n' })).toEqual([
    { filter: 'lfs', paths: ['a.key', 'sub/b.key'] },
  ]);
  for (const [name, value] of [
    ['clean', 'git-lfs clean -- %f'],
    ['smudge', 'git-lfs smudge -- %f'],
    ['process', 'git-lfs filter-process'],
  ] as const)
    s.sh(['config', `filter.lfs.${name}`, value]);
  expect(await unsupportedFilters(await openGit(s.root), 'HEAD')).toEqual([]);
});
