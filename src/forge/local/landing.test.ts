import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { compiled } from '../../../test/support/compiled.ts';
import { LABELS } from '../../../test/support/labels.ts';
import { hasLfs } from '../../../test/support/lfs.ts';
import { type Scratch, scratch } from '../../../test/support/local-people.ts';
import type { Candidate } from '../../core/event.ts';
import { openGit } from '../../git/git.ts';
import { trySignature } from '../../git/signing.ts';
import { localForge } from './local.ts';

let s: Scratch;
beforeEach(async () => {
  s = await scratch();
  s.write('.gitignore', 'ignored.txt\nbuild/\n');
  s.write('old.txt', 'old\n');
  s.sh(['add', '.']);
  s.sh(['commit', '-q', '-m', 'More']);
});
afterEach(() => s.dispose());

const CHANGE = { 'README.md': 'changed\n', 'new dir/ä b.txt': 'new\n', 'old.txt': null };

/** A pull request that is ready to land. */
async function ready(files: Record<string, string | null> = CHANGE, branch = 'loop/1-a') {
  const baseSha = (await s.forge.trunk()).sha;
  const sha = await s.people.commit(baseSha, files);
  await s.forge.push(branch, sha, null);
  const pull = await s.forge.ensurePull({ issue: null, branch, title: 'T', body: 'B', marker: branch });
  const built = await s.forge.buildCandidate({
    headSha: sha,
    baseSha,
    method: 'squash',
    message: 'Do it',
    task: branch,
  });
  if (built.kind !== 'clean') throw new Error(built.kind);
  return { pull: pull.number, candidate: built.candidate };
}

const status = (cwd?: string) => s.sh(['status', '--porcelain'], cwd);
const head = () => s.sh(['rev-parse', 'main']).trim();

describe('a clean checkout of trunk', () => {
  it('is brought to the merge: files, index and branch', async () => {
    const { pull, candidate } = await ready();
    expect(await s.forge.mergeBlocker()).toBeNull();
    expect(await s.forge.land(pull, candidate)).toEqual({ kind: 'landed', sha: candidate.sha });
    expect(head()).toBe(candidate.sha);
    expect(status()).toBe('');
    expect(s.read('new dir/ä b.txt')).toBe('new\n');
    expect(s.read('README.md')).toBe('changed\n');
    expect(existsSync(join(s.root, 'old.txt'))).toBe(false);
    expect(s.sh(['log', '-1', '--format=%an <%ae> %cn %s']).trim()).toBe('Ada <ada@example.com> Ada Do it');
    expect(readdirSync(join(s.root, '.git')).filter((name) => /lock|forge-loop/.test(name))).toEqual([]);
  });

  it('may hold untracked and ignored files that the merge leaves alone', async () => {
    s.write('notes.txt', 'mine\n');
    s.write('ignored.txt', 'mine\n');
    s.write('.forge/frontier.yaml', 'direction: x\n');
    const { pull, candidate } = await ready();
    expect((await s.forge.land(pull, candidate)).kind).toBe('landed');
    expect(s.read('notes.txt')).toBe('mine\n');
    expect(status()).toBe('?? notes.txt\n');
  });

  it('is clean even if its files were touched, and if people track something under .forge', async () => {
    s.write('.forge/frontier.yaml', 'direction: x\n');
    s.sh(['add', '-f', '.forge/frontier.yaml']);
    s.sh(['commit', '-q', '-m', 'Track the frontier']);
    s.write('.forge/frontier.yaml', 'direction: y\n');
    s.write('README.md', 'hello\n');
    const { pull, candidate } = await ready();
    expect((await s.forge.land(pull, candidate)).kind).toBe('landed');
    expect(s.read('.forge/frontier.yaml')).toBe('direction: y\n');
    expect(s.read('README.md')).toBe('changed\n');
  });

  it('in a linked worktree is moved too, and other checkouts are not', async () => {
    const linked = join(s.root, '..', 'linked wörk');
    s.sh(['checkout', '-q', '-b', 'side']);
    s.write('README.md', 'edited on the side\n');
    s.sh(['worktree', 'add', '-q', linked, 'main']);
    const { pull, candidate } = await ready();
    expect((await s.forge.land(pull, candidate)).kind).toBe('landed');
    expect(status(linked)).toBe('');
    expect(readFileSync(join(linked, 'README.md'), 'utf8')).toBe('changed\n');
    expect(s.read('README.md')).toBe('edited on the side\n');

    writeFileSync(join(linked, 'README.md'), 'dirty\n');
    const next = await ready({ 'README.md': 'x\n' }, 'loop/2-b');
    expect(await s.forge.land(next.pull, next.candidate)).toMatchObject({
      kind: 'dirty_checkout',
      detail: expect.stringContaining('README.md'),
    });
  });

  it('in a task’s own worktree is never touched and never blocks', async () => {
    const workspaceRoot = join(s.root, '..', 'workspaces');
    s.sh(['checkout', '-q', '--detach']);
    s.sh(['worktree', 'add', '-q', join(workspaceRoot, 'task'), 'main']);
    writeFileSync(join(workspaceRoot, 'task', 'README.md'), 'agent at work\n');
    const git = await openGit(s.root);
    const forge = await localForge({ git, root: s.root, now: Date.now, labels: LABELS, workspaceRoot });
    const { pull, candidate } = await ready();
    expect(await forge.mergeBlocker()).toBeNull();
    expect((await forge.land(pull, candidate)).kind).toBe('landed');
    expect(readFileSync(join(workspaceRoot, 'task', 'README.md'), 'utf8')).toBe('agent at work\n');
  });
});

describe('a checkout that is elsewhere', () => {
  for (const [where, go] of [
    ['on a detached HEAD', ['checkout', '-q', '--detach']],
    ['on another branch', ['checkout', '-q', '-b', 'side']],
  ] as const) {
    it(`${where} is not touched, however dirty`, async () => {
      s.sh(go);
      const at = s.sh(['rev-parse', 'HEAD']);
      s.write('README.md', 'half done\n');
      const { pull, candidate } = await ready();
      expect(await s.forge.mergeBlocker()).toBeNull();
      expect(await s.forge.land(pull, candidate)).toEqual({ kind: 'landed', sha: candidate.sha });
      expect(head()).toBe(candidate.sha);
      expect(s.sh(['rev-parse', 'HEAD'])).toBe(at);
      expect(status()).toBe(' M README.md\n');
    });
  }
});

describe('a dirty checkout of trunk', () => {
  const blocked = async (detail: RegExp, files: Record<string, string> | undefined = undefined) => {
    const { pull, candidate } = await ready(files);
    const before = status();
    expect(await s.forge.mergeBlocker(candidate.headSha), 'known before anything is built').toMatch(detail);
    expect(await s.forge.land(pull, candidate)).toMatchObject({
      kind: 'dirty_checkout',
      detail: expect.stringMatching(detail),
    });
    expect(head()).toBe(candidate.trunk);
    expect(status()).toBe(before);
    expect((await s.forge.pull(pull))?.state).toBe('open');
    return { pull, candidate };
  };

  it('makes the merge wait, says why, and lets it land when it is clean again', async () => {
    s.write('README.md', 'half done\n');
    const { pull, candidate } = await blocked(
      /uncommitted changes in README\.md, which the merge changes too; commit or stash/,
    );
    expect(s.read('README.md')).toBe('half done\n');
    s.sh(['checkout', '-q', '--', 'README.md']);
    expect((await s.forge.land(pull, candidate)).kind).toBe('landed');
  });

  it('is seen to be dirty by an edit of the same length in the same instant as the last commit', async () => {
    for (let round = 0; round < 6; round++) {
      s.write('README.md', `${100 + round} a\n`);
      s.sh(['commit', '-q', '-am', 'Again']);
      s.write('README.md', `${100 + round} b\n`);
      const { pull, candidate } = await ready({ 'README.md': `${round}\n` }, `loop/${round}-x`);
      expect((await s.forge.land(pull, candidate)).kind).toBe('dirty_checkout');
    }
  });

  it('waits for a file that was deleted and that the merge changes', async () => {
    rmSync(join(s.root, 'README.md'));
    const { pull, candidate } = await blocked(/uncommitted changes in README\.md/);
    s.sh(['checkout', '-q', '--', 'README.md']);
    expect((await s.forge.land(pull, candidate)).kind).toBe('landed');
  });

  it('waits for what is only staged', async () => {
    s.write('README.md', 'x\n');
    s.sh(['add', 'README.md']);
    await blocked(/README\.md/);
  });

  it('keeps edits of files that the merge leaves alone, staged or not, and lands', async () => {
    s.write('.gitignore', 'ignored.txt\nbuild/\nmine\n');
    s.write('staged.txt', 'x\n');
    s.sh(['add', 'staged.txt']);
    const before = status();
    expect(before).toBe(' M .gitignore\nA  staged.txt\n');
    const { pull, candidate } = await ready();
    expect(await s.forge.mergeBlocker(candidate.headSha)).toBeNull();
    expect(await s.forge.land(pull, candidate)).toEqual({ kind: 'landed', sha: candidate.sha });
    expect(s.read('README.md')).toBe('changed\n');
    expect(status()).toBe(before);
    expect(s.read('.gitignore')).toContain('mine');
  });

  it('names five files and counts the rest', async () => {
    for (let n = 1; n <= 7; n++) s.write(`f${n}`, 'x\n');
    s.sh(['add', '.']);
    const files = Object.fromEntries([1, 2, 3, 4, 5, 6, 7].map((n) => [`f${n}`, 'theirs\n']));
    await blocked(/f1, f2, f3, f4, f5 and 2 more/, files);
  });

  for (const [what, path] of [
    ['an untracked file', 'new dir/ä b.txt'],
    ['a file where a folder is needed', 'new dir'],
  ] as const) {
    it(`waits for ${what} that would be overwritten`, async () => {
      s.write(path, 'mine\n');
      await blocked(/would overwrite new dir/);
      expect(s.read(path)).toBe('mine\n');
    });
  }

  it('waits for an ignored file that would be overwritten', async () => {
    s.write('ignored.txt', 'my secret\n');
    const { pull, candidate } = await ready({ 'ignored.txt': 'from the branch\n' });
    expect(await s.forge.land(pull, candidate)).toMatchObject({
      kind: 'dirty_checkout',
      detail: expect.stringMatching(/ignored\.txt/),
    });
    expect(s.read('ignored.txt')).toBe('my secret\n');
  });

  it('waits for files in a folder that would become a file, and for a link that leads elsewhere', async () => {
    s.write('build/out.txt', 'mine\n');
    const one = await ready({ build: 'a file now\n' });
    expect(await s.forge.land(one.pull, one.candidate)).toMatchObject({
      kind: 'dirty_checkout',
      detail: expect.stringMatching(/build\/out\.txt/),
    });
    mkdirSync(join(s.root, '..', 'elsewhere'));
    symlinkSync(join('..', 'elsewhere'), join(s.root, 'new dir'));
    const two = await ready(CHANGE, 'loop/2-b');
    expect((await s.forge.land(two.pull, two.candidate)).kind).toBe('dirty_checkout');
    expect(lstatSync(join(s.root, 'new dir')).isSymbolicLink()).toBe(true);
  });

  it('waits while a merge is under way', async () => {
    s.sh(['checkout', '-q', '-b', 'side']);
    s.sh(['commit', '-q', '--allow-empty', '-m', 'side']);
    s.sh(['checkout', '-q', 'main']);
    s.sh(['merge', '-q', '--no-ff', '--no-commit', 'side']);
    await blocked(/in the middle of a merge/);
  });

  it('waits while trunk itself is being rebased', async () => {
    s.sh(['checkout', '-q', '-b', 'upstream', 'HEAD~1']);
    s.write('old.txt', 'conflicting\n');
    s.sh(['add', '.']);
    s.sh(['commit', '-q', '-m', 'Conflicting']);
    s.sh(['checkout', '-q', 'main']);
    expect(() => s.sh(['rebase', 'upstream'])).toThrow();
    expect(await s.forge.mergeBlocker()).toMatch(/main is being rebased/);
    await blocked(/main is being rebased/);
  });

  it('waits while git is busy in it', async () => {
    s.write('.git/index.lock', '');
    expect(await s.forge.mergeBlocker()).toMatch(/git is busy/);
    await blocked(/git is busy in .*index\.lock/);
    expect(existsSync(join(s.root, '.git', 'index.lock'))).toBe(true);
  });
});

describe('candidates', () => {
  it('land only as they were tested', async () => {
    const { pull, candidate } = await ready();
    const other = await s.people.commit(candidate.trunk, { 'evil.txt': 'x\n' });
    expect(await s.forge.land(pull, { ...candidate, sha: other })).toMatchObject({ kind: 'refused' });
    const stray = s.sh(['commit-tree', candidate.tree, '-m', 'stray']).trim();
    expect(await s.forge.land(pull, { ...candidate, sha: stray })).toMatchObject({ kind: 'refused' });
    expect(await s.forge.land(pull, { ...candidate, sha: '1'.repeat(40) })).toMatchObject({
      kind: 'refused',
    });
    expect(await s.forge.land(99, candidate)).toMatchObject({ kind: 'refused' });
    expect(head()).toBe(candidate.trunk);
  });

  it('are pinned until their task is over, and need the operator’s name', async () => {
    const { candidate } = await ready();
    expect(s.sh(['rev-parse', 'refs/forge/loop/1-a/candidate']).trim()).toBe(candidate.sha);
    s.sh(['config', '--unset', 'user.name']);
    s.sh(['config', '--unset', 'user.email']);
    const forge = await localForge({
      git: await openGit(s.root),
      root: s.root,
      now: Date.now,
      labels: LABELS,
    });
    const global = process.env.GIT_CONFIG_GLOBAL;
    process.env.GIT_CONFIG_GLOBAL = '/dev/null';
    try {
      const { headSha, trunk: baseSha } = candidate;
      const input = { headSha, baseSha, method: 'squash', message: 'm', task: 't' } as const;
      await expect(forge.buildCandidate(input)).rejects.toThrow(/does not know who you are/);
      expect((await forge.check()).map((problem) => problem.what).join()).toContain('who you are');
    } finally {
      if (global === undefined) delete process.env.GIT_CONFIG_GLOBAL;
      else process.env.GIT_CONFIG_GLOBAL = global;
    }
  });
});

describe('branches of others', () => {
  it('are not deleted while somebody has them checked out, or while nothing else keeps their work', async () => {
    const sha = await s.people.commit((await s.forge.trunk()).sha, { 'a.txt': 'a\n' });
    await s.forge.push('loop/1-a', sha, null);
    await s.forge.deleteBranch('loop/1-a');
    expect((await s.forge.branchHead('loop/1-a'))?.sha).toBe(sha);
    await s.forge.ensurePull({ issue: null, branch: 'loop/1-a', title: 'T', body: '', marker: 'm' });
    s.sh(['worktree', 'add', '-q', join(s.root, '..', 'review'), 'loop/1-a']);
    await s.forge.deleteBranch('loop/1-a');
    expect((await s.forge.branchHead('loop/1-a'))?.sha).toBe(sha);
  });

  it('trunk is never pushed to', async () => {
    const sha = await s.people.commit((await s.forge.trunk()).sha, { 'a.txt': 'a\n' });
    await expect(s.forge.push('main', sha, head())).rejects.toThrow(/main is trunk/);
  });
});

describe('with a remote', () => {
  it('merges locally and leaves origin alone', async () => {
    const origin = join(s.root, '..', 'origin.git');
    s.sh(['clone', '-q', '--bare', s.root, origin]);
    s.sh(['remote', 'add', 'origin', origin]);
    s.sh(['fetch', '-q', 'origin']);
    s.sh(['remote', 'set-head', 'origin', 'main']);
    const { pull, candidate } = await ready();
    rmSync(origin, { recursive: true });
    expect((await s.forge.land(pull, candidate)).kind).toBe('landed');
    expect(s.sh(['rev-parse', 'origin/main']).trim()).toBe(candidate.trunk);
  });
});

describe('a process that dies while it lands', () => {
  let program: ReturnType<typeof compiled>;
  beforeAll(() => {
    program = compiled('test/support/forge-process.ts');
  });
  afterAll(() => rmSync(program.folder, { recursive: true, force: true }));

  const dieAt = async (pull: number, candidate: Candidate, when: string, command: string) => {
    const args = [program.script, 'land', s.root, String(pull), JSON.stringify(candidate), when, command];
    const child = spawn(process.execPath, args, { stdio: 'inherit' });
    const [, signal] = await once(child, 'exit');
    expect(signal).toBe('SIGKILL');
  };
  const whole = (candidate: Candidate) => {
    expect(head()).toBe(candidate.sha);
    expect(status()).toBe('');
    expect(s.read('README.md')).toBe('changed\n');
    expect(existsSync(join(s.root, 'old.txt'))).toBe(false);
    expect(readdirSync(join(s.root, '.git')).filter((name) => /lock|forge-loop/.test(name))).toEqual([]);
  };

  for (const [when, command] of [
    ['before', 'update-ref -m forge-loop: merge'],
    ['after', 'update-ref -m forge-loop: merge'],
    ['after', 'read-tree -m -u'],
  ] as const) {
    it(`${when} ${command}: the next one finishes it`, async () => {
      const { pull, candidate } = await ready();
      await dieAt(pull, candidate, when, command);
      expect(() => s.sh(['commit', '-q', '--allow-empty', '-m', 'from stale files'])).toThrow(/index\.lock/);
      expect(await s.forge.mergeBlocker()).toBeNull();
      expect((await s.forge.check())[0]?.what).toMatch(/was cut short/);
      expect(await s.forge.land(pull, candidate)).toEqual({ kind: 'landed', sha: candidate.sha });
      whole(candidate);
      expect((await s.forge.pull(pull))?.state).toBe('merged');
    });
  }

  it('with half of the files written: the next one writes the rest', async () => {
    const { pull, candidate } = await ready();
    await dieAt(pull, candidate, 'after', 'update-ref -m forge-loop: merge');
    s.write('README.md', 'changed\n');
    s.write('new dir/ä b.txt', 'new\n');
    expect(await s.forge.land(pull, candidate)).toEqual({ kind: 'landed', sha: candidate.sha });
    whole(candidate);
  });

  it('and a person who edits meanwhile: their edits are kept, the rest is finished, and it is said', async () => {
    const { pull, candidate } = await ready();
    await dieAt(pull, candidate, 'after', 'update-ref -m forge-loop: merge');
    s.write('README.md', 'my edit\n');
    s.write('old.txt', 'my other edit\n');
    s.write('mine.txt', 'mine\n');
    const result = await s.forge.land(pull, candidate);
    expect(result).toMatchObject({
      kind: 'landed',
      note: expect.stringMatching(/README\.md .*left as it is/),
    });
    expect(s.read('README.md')).toBe('my edit\n');
    expect(s.read('old.txt')).toBe('my other edit\n');
    expect(s.read('new dir/ä b.txt')).toBe('new\n');
    expect(status()).toBe(' M README.md\n?? mine.txt\n?? old.txt\n');
  });

  it('and a person who removes the lock: the checkout still catches up, unless it was edited', async () => {
    const { pull, candidate } = await ready();
    await dieAt(pull, candidate, 'after', 'update-ref -m forge-loop: merge');
    rmSync(join(s.root, '.git', 'index.lock'));
    s.write('README.md', 'my edit\n');
    const left = await s.forge.land(pull, candidate);
    expect(left).toMatchObject({ kind: 'landed', note: expect.stringContaining('left behind') });
    expect(s.read('README.md')).toBe('my edit\n');

    s.sh(['checkout', '-q', '--', 'README.md']);
    rmSync(join(s.root, '.git', 'index.lock'), { force: true });
    expect(await s.forge.land(pull, candidate)).toEqual({ kind: 'landed', sha: candidate.sha });
    expect(status()).toBe('');
  });

  it('before trunk moved, and another merge goes first: the lock is gone and nothing is lost', async () => {
    const { pull, candidate } = await ready();
    await dieAt(pull, candidate, 'before', 'update-ref -m forge-loop: merge');
    const other = await ready({ 'x.txt': 'x\n' }, 'loop/2-b');
    expect((await s.forge.land(other.pull, other.candidate)).kind).toBe('landed');
    expect(await s.forge.land(pull, candidate)).toEqual({ kind: 'trunk_moved' });
    expect(status()).toBe('');
  });
});

describe('commit.gpgsign', () => {
  const keys = (passphrase: string) => {
    const key = join(s.root, '..', 'key');
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', passphrase, '-f', key]);
    writeFileSync(join(s.root, '..', 'signers'), `ada@example.com ${readFileSync(`${key}.pub`, 'utf8')}`);
    for (const [name, value] of [
      ['gpg.format', 'ssh'],
      ['user.signingkey', key],
      ['gpg.ssh.allowedSignersFile', join(s.root, '..', 'signers')],
      ['commit.gpgsign', 'true'],
    ] as const)
      s.sh(['config', name, value]);
  };
  const build = async (method: 'squash' | 'merge' | 'rebase') => {
    const baseSha = (await s.forge.trunk()).sha;
    const headSha = await s.people.commit(baseSha, CHANGE);
    return s.forge.buildCandidate({ headSha, baseSha, method, message: 'Do it', task: 't1' });
  };

  it.each(['squash', 'merge', 'rebase'] as const)(
    'signs what lands by %s, with the operator’s key',
    async (method) => {
      keys('');
      const built = await build(method);
      if (built.kind !== 'clean') throw new Error(built.kind);
      const { sha } = built.candidate;
      expect(s.sh(['log', '-1', '--format=%G? %GS', sha]).trim()).toBe('G ada@example.com');
    },
  );

  it('refuses in words when the key needs a passphrase', async () => {
    keys('secret');
    expect(await build('squash')).toEqual({
      kind: 'refused',
      detail: expect.stringMatching(/commit\.gpgsign is set, and git could not sign .*forge-loop doctor/s),
    });
    expect(await trySignature(await openGit(s.root))).toMatch(/could not sign/);
  });

  it('lets nothing land that was built before it was set', async () => {
    const { pull, candidate } = await ready();
    const before = head();
    keys('');
    expect(await s.forge.land(pull, candidate)).toEqual({
      kind: 'refused',
      detail: expect.stringContaining('is not signed'),
    });
    expect(head()).toBe(before);
    expect(await trySignature(await openGit(s.root))).toBeNull();
  });
});

// git-lfs is a program of its own, which not every machine has.
it.skipIf(!hasLfs)('a merge leaves the real content of files in Git LFS in the checkout', async () => {
  s.sh(['lfs', 'install', '--local', '--skip-repo']);
  s.write('.gitattributes', '*.bin filter=lfs diff=lfs merge=lfs -text\n');
  s.write('a.bin', 'one');
  s.sh(['add', '.']);
  s.sh(['commit', '-q', '-m', 'Large']);
  s.sh(['checkout', '-q', '-b', 'side']);
  s.write('a.bin', 'two');
  s.sh(['commit', '-q', '-am', 'Larger']);
  const pointer = s.sh(['show', 'side:a.bin']);
  s.sh(['checkout', '-q', 'main']);
  s.forge = await localForge({
    git: await openGit(s.root),
    root: s.root,
    now: () => 0,
    labels: LABELS,
  });
  const { pull, candidate } = await ready({ 'a.bin': pointer });
  expect(await s.forge.land(pull, candidate)).toEqual({ kind: 'landed', sha: candidate.sha });
  expect(s.read('a.bin')).toBe('two');
  expect(s.sh(['show', 'main:a.bin'])).toBe(pointer);
  expect(status()).toBe('');
});

it('a merge that moves a submodule says that the checkout’s own has to be updated', async () => {
  const lib = join(s.root, '..', 'lib');
  mkdirSync(lib);
  s.sh(['init', '-q', '-b', 'main'], lib);
  const commit = (name: string) => {
    s.sh(
      [
        '-c',
        'user.name=Ada',
        '-c',
        'user.email=ada@example.com',
        'commit',
        '-q',
        '--allow-empty',
        '-m',
        name,
      ],
      lib,
    );
    return s.sh(['rev-parse', 'HEAD'], lib).trim();
  };
  commit('one');
  s.sh(['-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', lib, 'lib']);
  s.sh(['commit', '-q', '-m', 'Use the library']);
  const trunk = head();
  s.sh(['update-index', '--cacheinfo', `160000,${commit('two')},lib`]);
  s.sh(['commit', '-q', '-m', 'Move it']);
  const moved = head();
  s.sh(['reset', '-q', '--hard', trunk]);
  await s.forge.push('loop/1-a', moved, null);
  const about = { issue: null, branch: 'loop/1-a', title: 'T', body: 'B', marker: 'm' };
  const pull = await s.forge.ensurePull(about);
  const built = await s.forge.buildCandidate({
    headSha: moved,
    baseSha: trunk,
    method: 'squash',
    message: 'Do it',
    task: 't1',
  });
  if (built.kind !== 'clean') throw new Error(built.kind);
  expect(await s.forge.land(pull.number, built.candidate)).toEqual({
    kind: 'landed',
    sha: built.candidate.sha,
    note: expect.stringMatching(/^lib in .* run: git submodule update$/),
  });
});
