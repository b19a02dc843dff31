/** What `init` answers while it asks. */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openedRepository } from '../../test/support/opened-repository.ts';
import { branchesOf } from '../operations/init.ts';
import { branchProblem, initialise } from './init.ts';
import { painter, type Terminal } from './terminal.ts';

const here = openedRepository();

test('a branch is asked for until it is one, here or at origin', async () => {
  here.git('branch', 'release');
  here.git('update-ref', 'refs/remotes/origin/team/next', 'HEAD');
  here.git('symbolic-ref', 'refs/remotes/origin/HEAD', 'refs/remotes/origin/team/next');
  const branches = await branchesOf(here.context);
  for (const name of ['main', 'release', 'team/next'])
    expect(branchProblem(name, branches), name).toBeUndefined();
  expect(branchProblem('relaese', branches)).toBe('There is no branch relaese.');
  expect(branchProblem('HEAD', branches)).toBe('There is no branch HEAD.');
  expect(branchProblem('', branches)).toContain('HEAD is detached');
});

test('the branch that a repository without a commit begins with is one', async () => {
  here.git('switch', '-q', '--orphan', 'first');
  here.git('branch', '-D', 'main');
  expect([...(await branchesOf(here.context))]).toEqual(['first']);
});

test('a branch that is given and not there is refused before anything is run', async () => {
  rmSync(join(here.root, 'WORKFLOW.md'));
  writeFileSync(join(here.root, 'package.json'), '{"scripts":{"test":"true"}}');
  const said: string[] = [];
  const note = (text: string): void => void said.push(text);
  const terminal = {
    note,
    paint: painter(false),
    columns: null,
    isTty: false,
    json: false,
  } as never as Terminal;
  await expect(
    initialise({ context: here.context, terminal }, { trunk: 'nowhere', yes: true }),
  ).rejects.toThrow('There is no branch nowhere');
  expect(said).toEqual([]);
});
