/** Repositories that need more than git itself: Git LFS, signed commits, a filter that nobody runs. */
import { execFileSync } from 'node:child_process';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { expectMergedOnce } from '../support/e2e/merged-once.ts';
import { cloneOfTrunk, paid } from '../support/e2e/trunk.ts';
import { test, type World } from '../support/e2e/world.ts';
import { hasLfs } from '../support/lfs.ts';

// git-lfs is a program of its own, which not every machine has.
describe.skipIf(!hasLfs)('Git LFS with signed commits', () => {
  test('what the agent commits whole lands as a signed pointer, and is real wherever a command runs', async ({
    world,
  }) => {
    // In the operator's own configuration, so that a clone has it too.
    writeFileSync(join(world.env.HOME!, '.gitconfig'), '');
    world.git('lfs', 'install', '--skip-repo');
    world.write('.gitattributes', '*.bin filter=lfs diff=lfs merge=lfs -text\n');
    world.write('big.bin', 'x'.repeat(3000));
    sign(world);
    const commands = [
      'test $(cat *.bin | wc -c) -ge 3000',
      'test -z "$(git status --porcelain)"',
      'ls done-*.txt',
    ];
    world.settings({ gate: { commands } });
    const raw = '-c filter.lfs.process= -c filter.lfs.clean= -c filter.lfs.required=false';
    world.script({
      when: { role: 'coder' },
      steps: [
        { write: { 'done-1.txt': 'done\n', 'big.bin': 'y'.repeat(5000) } },
        {
          shell: `git ${raw} add -A && git ${raw} commit -qm "All of it" && test $(git cat-file -s HEAD:big.bin) = 5000`,
        },
      ],
    });
    const issue = await world.issue({});
    await world.settle();
    await expectMergedOnce(world, issue);
    expect(cloneOfTrunk(world).red(...commands)).toEqual([]);
    expect(await paid(world)).toEqual({ coder: 1, critic: 1 });
    expect(world.git('cat-file', 'blob', 'main:big.bin')).toMatch(
      /^version https:\/\/git-lfs.*size 5000\n$/s,
    );
    expect(statSync(join(world.root, 'big.bin')).size).toBe(5000);
    expect(world.git('status', '--porcelain')).toBe('');
    expect(world.git('log', '-1', '--format=%G?', 'main').trim()).toBe('G');
    const { checks } = await doctor(world);
    expect(checks).toContainEqual(expect.objectContaining({ name: 'signing', level: 'ok' }));
    expect(checks).toContainEqual(expect.objectContaining({ name: 'lfs', level: 'ok' }));
  });
});

test('a filter that is not run is named before anything is spent', async ({ world }) => {
  world.write('.gitattributes', '*.key filter=git-crypt\n');
  world.write('secret.key', 'sealed\n');
  world.settings({});
  const words = 'secret.key: filter=git-crypt, and forge-loop does not run it';
  expect((await doctor(world)).checks).toContainEqual(
    expect.objectContaining({ name: 'filters', level: 'fail', what: words }),
  );
  expect((await world.cli('init', '--yes')).stdout).toContain(words);
  const issue = await world.issue({});
  await world.settle(3);
  expect(await world.task(issue)).toMatchObject({
    turns: 0,
    workspace: null,
    hold: { reason: 'filter_unsupported', detail: words },
  });
  world.write('.gitattributes', '');
  world.commit('Do without the filter');
  await world.settle();
  await expectMergedOnce(world, issue);
});

async function doctor(world: World): Promise<{ checks: { name: string; level: string; what: string }[] }> {
  return JSON.parse((await world.cli('doctor', '--json')).stdout);
}

function sign(world: World): void {
  const key = join(world.folder, 'key');
  execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', key]);
  writeFileSync(join(world.folder, 'signers'), `op@example.com ${readFileSync(`${key}.pub`, 'utf8')}`);
  world.git('config', 'gpg.format', 'ssh');
  world.git('config', 'user.signingkey', key);
  world.git('config', 'gpg.ssh.allowedSignersFile', join(world.folder, 'signers'));
  world.git('config', 'commit.gpgsign', 'true');
}
