import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openedRepository } from '../../test/support/opened-repository.ts';
import { perform } from '../operations.ts';

const here = openedRepository();

async function used(): Promise<void> {
  await here.context.excludeForge();
  await here.ready('One');
  await here.taskOf(1, 'aaaa0001');
  here.git('branch', 'loop/1-s');
  here.git('branch', 'mine');
  here.git('update-ref', 'refs/forge/aaaa0001/base', 'HEAD');
}

test('shows first what would go, and removes nothing', async () => {
  await used();
  const found = await perform(here.context, 'uninstall');
  expect(found).toMatchObject({
    removed: false,
    branches: [{ name: 'loop/1-s', isLanded: true }],
    refs: 1,
    exclude: expect.stringMatching(/info\/exclude$/),
  });
  expect(found.folders[0]).toMatchObject({
    what: 'the database, logs and 1 issue with its pull requests',
  });
  expect(found.left[0]).toBe(join(here.root, 'WORKFLOW.md'));
  expect(existsSync(join(here.root, '.forge/issues'))).toBe(true);
});

test('with yes it takes the loop away, and leaves what people wrote', async () => {
  await used();
  const { folders } = await perform(here.context, 'uninstall', { yes: true });
  for (const { path } of folders) expect(existsSync(path), path).toBe(false);
  expect(here.git('for-each-ref', '--format=%(refname)')).toBe('refs/heads/main\nrefs/heads/mine');
  expect(readFileSync(join(here.root, '.git/info/exclude'), 'utf8')).not.toContain('.forge');
  expect(existsSync(join(here.root, 'WORKFLOW.md'))).toBe(true);
  await here.reopen();
  expect(await perform(here.context, 'uninstall')).toMatchObject({ folders: [], branches: [], refs: 0 });
});

test('not while a runner is at work', async () => {
  await used();
  await here.leaseOf('aaaa0001');
  await expect(perform(here.context, 'uninstall', { yes: true })).rejects.toThrow('A runner is at work here');
  expect(existsSync(join(here.root, '.forge'))).toBe(true);
});
