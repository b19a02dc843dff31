/** What `init` writes down. */
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { openedRepository } from '../../test/support/opened-repository.ts';
import { openContext } from '../main.ts';
import { perform } from '../operations.ts';

const here = openedRepository();

describe('init', () => {
  test.each([
    ['the branch that is checked out', () => here.git('switch', '-q', '-c', 'work'), {}, 'work'],
    [
      'the default branch of origin before that',
      () => {
        here.git('update-ref', 'refs/remotes/origin/develop', 'HEAD');
        here.git('symbolic-ref', 'refs/remotes/origin/HEAD', 'refs/remotes/origin/develop');
      },
      {},
      'develop',
    ],
    ['the one that is named', () => here.git('branch', 'release'), { trunk: 'release' }, 'release'],
    ['none when HEAD is detached', () => here.git('checkout', '-q', '--detach'), {}, null],
  ])('writes trunk down: %s', async (_, arrange, input, trunk) => {
    rmSync(join(here.root, 'WORKFLOW.md'));
    arrange();
    expect(await perform(here.context, 'init', { command: 'x', ...input })).toMatchObject({
      written: true,
      trunk,
    });
    const { settings } = await (await openContext(here.root)).settings();
    expect(settings.tracker.trunk).toBe(trunk);
  });

  test('refuses a trunk that is no branch', async () => {
    rmSync(join(here.root, 'WORKFLOW.md'));
    await expect(perform(here.context, 'init', { trunk: 'nowhere' })).rejects.toThrow(
      'There is no branch nowhere',
    );
    expect(existsSync(join(here.root, 'WORKFLOW.md'))).toBe(false);
  });

  test('never overwrites', async () => {
    const before = readFileSync(join(here.root, 'WORKFLOW.md'), 'utf8');
    expect(await perform(here.context, 'init', { command: 'other' })).toMatchObject({ written: false });
    expect(readFileSync(join(here.root, 'WORKFLOW.md'), 'utf8')).toBe(before);
  });
});
