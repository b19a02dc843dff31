import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, realpath, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { GitFailed } from '../errors.ts';
import { commitTree } from './commit.ts';
import { type Git, openGit } from './git.ts';
import { firstParents, isAncestor, mergeBase, remembered } from './objects.ts';
import { worktreesOf } from './worktrees.ts';

let dir: string;
let git: Git;
const sh = (...args: string[]): string =>
  execFileSync('git', args, {
    cwd: dir,
    encoding: 'utf8',
    env: { ...process.env, GIT_CONFIG_GLOBAL: '/dev/null' },
  }).trim();
let tree: string;
const commit = (name: string, ...parents: string[]): string =>
  sh('commit-tree', tree, '-m', name, ...parents.flatMap((parent) => ['-p', parent]));

beforeAll(async () => {
  dir = await realpath(await mkdtemp(join(tmpdir(), 'forge-objects-')));
  sh('init', '-q', '-b', 'main');
  sh('config', 'user.name', 'Ada');
  sh('config', 'user.email', 'ada@example.com');
  tree = sh('write-tree');
  git = await openGit(dir);
});
afterAll(async () => {
  await git.close();
  await rm(dir, { recursive: true, force: true });
});

describe('history', () => {
  it('is told as git tells it, near and far, across forks, merges and strangers', async () => {
    const base = commit('base');
    const line = (name: string, from: string, count: number): string[] => {
      const made = [from];
      for (let n = 0; n < count; n++) made.push(commit(`${name} ${n}`, made.at(-1)!));
      return made.slice(1);
    };
    const trunk = line('trunk', base, 4);
    const side = line('side', trunk[1]!, 3);
    const merged = commit('merged', trunk[3]!, side[2]!);
    const crossed = [commit('x', trunk[3]!, side[2]!), commit('y', side[2]!, trunk[3]!)];
    const after = line('after', merged, 2);
    const far = line('far', base, 40);
    const stranger = commit('stranger');
    const all = [
      base,
      ...trunk,
      ...side,
      merged,
      ...crossed,
      ...after,
      far[5]!,
      far[38]!,
      far[39]!,
      stranger,
    ];
    for (const { one, other, bases, listed } of toldByGit(all)) {
      const found = await mergeBase(git, one, other);
      expect(found === null ? [] : bases, `${one} ${other}`).toEqual(bases);
      if (found !== null) expect(bases).toContain(found);
      expect(await isAncestor(git, one, other)).toBe(bases.includes(one));
      expect(await firstParents(git, one, other)).toEqual(listed);
    }
  });

  it('of a commit made here follows from that of its parent', async () => {
    const base = commit('before');
    const [trunk, side, inside] = [commit('trunk', base), commit('side', base), commit('inside', base)];
    const known = [base, trunk, side, inside, commit('ahead', trunk)];
    for (const other of known) await mergeBase(git, other, trunk);
    const made = await commitTree(git, { tree, parents: [trunk], message: 'made' });
    for (const other of known)
      expect(await mergeBase(git, other, made)).toBe(sh('merge-base', other, made) || null);
    const later = commit('later', made);
    expect(await mergeBase(git, later, made)).toBe(made);
    const both = await commitTree(git, { tree, parents: [made, side], message: 'both' });
    expect(await mergeBase(git, side, both)).toBe(side);
  });

  it('of many that wait costs no question to git, however often trunk moves on by what is made here', async () => {
    const base = commit('where all begin');
    let asked = 0;
    const counting = Object.assign(
      (...given: Parameters<Git>) => {
        if (given[0][0] === 'merge-base') asked += 1;
        return git(...given);
      },
      { ...git },
    ) as Git;
    const made = (message: string, parent: string) =>
      commitTree(counting, { tree, parents: [parent], message });
    const waiting: string[] = [];
    for (let n = 0; n < 110; n++) waiting.push(await made(`waits ${n}`, base));
    let trunk = base;
    for (let n = 0; n < 60; n++) trunk = await made(`landed ${n}`, trunk);
    for (const head of waiting) expect(await mergeBase(counting, head, trunk)).toBe(base);
    expect(asked).toBe(0);

    // One that nobody knew before may contain whatever was made since: git is asked, and no more when trunk moves on.
    const stranger = commit('by hand', base);
    for (const at of [base, trunk, await made('landed next', trunk)])
      expect(await mergeBase(counting, at, stranger)).toBe(base);
    expect(asked).toBe(2);
    const onTop = commit('by hand, on top of it', trunk);
    const [parent, next] = [await made('one more', trunk), await made('and another', trunk)];
    for (const at of [parent, next]) expect(await mergeBase(counting, onTop, at)).toBe(trunk);
  });

  it('is asked once by those who ask together', async () => {
    const [one, other] = [commit('one'), commit('another')];
    let asked = 0;
    const ask = async () => `answer ${++asked}`;
    const answers = await Promise.all([1, 2].map(() => remembered(git, 'together', [one, other], ask)));
    expect(answers).toEqual(['answer 1', 'answer 1']);
    const fails = () => Promise.reject(new Error('no'));
    await expect(remembered(git, 'failing', [one], fails)).rejects.toThrow('no');
    expect(await remembered(git, 'failing', [one], ask)).toBe('answer 2');
  });

  it('forgets what it learned first when it knows much, and nothing else', async () => {
    const one = commit('one');
    let asked = 0;
    const ask = async () => {
      asked += 1;
      return 'answer';
    };
    for (let fact = 0; fact <= 5000; fact++) await remembered(git, `fact ${fact}`, [one], ask);
    for (let fact = 1; fact <= 5000; fact++) await remembered(git, `fact ${fact}`, [one], ask);
    expect(asked).toBe(5001);
    await remembered(git, 'fact 0', [one], ask);
    expect(asked).toBe(5002);
  });

  /** All pairs in one shell, which starts hundreds of gits with less ado than node does. */
  const toldByGit = (all: readonly string[]) => {
    const pairs = all.flatMap((one) => all.map((other) => ({ one, other })));
    const ask =
      'while read one other; do git merge-base --all $one $other; echo -; git rev-list --first-parent $one..$other; echo =; done';
    const input = pairs.map(({ one, other }) => `${one} ${other}\n`).join('');
    const answers = execFileSync('sh', ['-c', ask], { cwd: dir, encoding: 'utf8', input }).split('=\n');
    return pairs.map((pair, at) => {
      const [bases, listed] = answers[at]!.split('-\n').map((told) => told.split('\n').filter(Boolean));
      return { ...pair, bases: bases!, listed: listed! };
    });
  };

  it('does not remember that a commit was missing', async () => {
    const [parent, older] = [commit('parent'), '1'.repeat(40)];
    await expect(isAncestor(git, older, parent)).rejects.toBeInstanceOf(GitFailed);
    const child = commit('child', parent);
    expect(await git.sizes([child, '2'.repeat(40), tree])).toEqual([expect.any(Number), null, 0]);
    expect(await isAncestor(git, parent, child)).toBe(true);
  });
});

describe('names', () => {
  const asked = ['refs/heads/loop/n', 'refs/tags/n', 'refs/heads/alias', 'refs/remotes/o/n'].flatMap(
    (ref) => [ref, `${ref}^{commit}`, `${ref}^{tree}`],
  );
  const byGit = (): (string | null)[] => {
    const said = execFileSync('git', ['cat-file', '--batch-check=%(objectname)'], {
      cwd: dir,
      encoding: 'utf8',
      input: asked.map((name) => `${name}\n`).join(''),
    });
    return said
      .split('\n')
      .slice(0, -1)
      .map((line) => (line.endsWith(' missing') ? null : line));
  };

  it('stand for what git says, after every move that somebody else makes', async () => {
    const [one, two, three] = [commit('n1'), commit('n2'), commit('n3')];
    const moves: string[][] = [
      ['update-ref', 'refs/heads/loop/n', one],
      ['update-ref', 'refs/heads/loop/n', two],
      ['symbolic-ref', 'refs/heads/alias', 'refs/heads/loop/n'],
      ['tag', '-a', '-m', 'a tag', 'n', one],
      ['update-ref', 'refs/heads/loop/n', one],
      ['pack-refs', '--all'],
      ['update-ref', 'refs/heads/loop/n', three],
      ['update-ref', 'refs/remotes/o/n', three],
      ['symbolic-ref', 'refs/heads/alias', 'refs/remotes/o/n'],
      ['update-ref', '-d', 'refs/heads/loop/n'],
      ['tag', '-d', 'n'],
      ['update-ref', 'refs/heads/loop/n', two],
    ];
    for (const move of moves) {
      sh(...move);
      const expected = byGit();
      // The second answer may come from what the first one taught.
      for (const time of ['first', 'second'])
        expect(await git.resolveAll(asked), `${move.join(' ')}, ${time}`).toEqual(expected);
    }
  });

  it('stand for nothing when they name an object that is not there', async () => {
    const gone = 'd'.repeat(40);
    await mkdir(join(dir, '.git/refs/heads/loop'), { recursive: true });
    await writeFile(join(dir, '.git/refs/heads/loop/broken'), `${gone}\n`);
    for (const name of ['refs/heads/loop/broken', gone])
      expect(await git.resolveAll([name, `${name}^{commit}`])).toEqual([null, null]);
  });

  it('tell when an object goes that only its id names', async () => {
    const brief = commit('brief');
    expect(await git.resolve(brief)).toBe(brief);
    await rm(join(dir, '.git/objects', brief.slice(0, 2), brief.slice(2)));
    expect(await git.resolve(brief)).toBeNull();
  });
});

describe('reading', () => {
  const blob = (content: string): string =>
    execFileSync('git', ['hash-object', '-w', '--stdin'], {
      cwd: dir,
      encoding: 'utf8',
      input: content,
    }).trim();

  it('answers many at once, large and small, each with its own', async () => {
    const texts = ['', 'short', 'ü\n'.repeat(1_000_000), `${'0'.repeat(40)} blob 3\n`, 'no line break'];
    const shas = texts.map(blob);
    const asked = [...shas, ...shas].map((sha) => git.text(sha));
    const sizes = git.sizes([...shas, 'nothing']);
    expect(await Promise.all(asked)).toEqual([...texts, ...texts]);
    expect(await sizes).toEqual([...texts.map((text) => Buffer.byteLength(text)), null]);
    expect(await git.text(tree)).toBeNull();
  });

  it('takes a name for one line and nothing more', async () => {
    const sha = blob('there');
    expect(await git.resolveAll([`${sha}\ninfo ${sha}`, '', `${sha} blob 5`, sha])).toEqual([
      null,
      null,
      null,
      sha,
    ]);
  });

  it('says why when git ends before it has answered, and goes on when it can', async () => {
    const sha = blob('there');
    await git.close();
    await rename(join(dir, '.git'), join(dir, 'away'));
    await expect(git.text(sha)).rejects.toThrow(/cat-file.*not a git repository/s);
    await rename(join(dir, 'away'), join(dir, '.git'));
    expect(await git.text(sha)).toBe('there');
  });
});

describe('moving refs', () => {
  it('moves all or nothing, and goes on after a refusal', async () => {
    const [one, two] = [commit('one'), commit('two')];
    await git.moveRefs([
      { ref: 'refs/forge/a', to: one, from: null },
      { ref: 'refs/forge/b', to: one },
    ]);
    const refused = git.moveRefs([
      { ref: 'refs/forge/a', to: two },
      { ref: 'refs/forge/b', to: two, from: two },
    ]);
    await expect(refused).rejects.toThrow(/expected/);
    expect(sh('for-each-ref', '--format=%(refname) %(objectname)', 'refs/forge')).toBe(
      `refs/forge/a ${one}\nrefs/forge/b ${one}`,
    );
    await expect(git.moveRefs([{ ref: 'refs/forge/a', to: two, from: null }])).rejects.toBeInstanceOf(
      GitFailed,
    );
    await git.moveRefs([
      { ref: 'refs/forge/a', to: two, from: one },
      { ref: 'refs/forge/b', to: null, from: one },
    ]);
    expect(await git.resolve('refs/forge/a')).toBe(two);
    expect(await git.resolve('refs/forge/b')).toBeNull();
  });

  it('never moves what a symbolic ref points to', async () => {
    const [one, two] = [commit('1'), commit('2')];
    sh('update-ref', 'refs/heads/theirs', one);
    sh('symbolic-ref', 'refs/heads/loop/trap', 'refs/heads/theirs');
    await git.moveRefs([{ ref: 'refs/heads/loop/trap', to: two }]);
    expect(sh('rev-parse', 'refs/heads/theirs')).toBe(one);
  });

  it('refuses a name that would be read as more than a name', async () => {
    await expect(git.moveRefs([{ ref: 'refs/forge/a\ndelete refs/heads/main', to: null }])).rejects.toThrow(
      /is not the name of a ref/,
    );
  });
});

describe('work trees', () => {
  it('are known anew when a branch is switched or a work tree added', async () => {
    sh('update-ref', 'refs/heads/main', commit('start'));
    expect(await worktreesOf(git)).toEqual([{ path: dir, branch: 'refs/heads/main' }]);
    sh('checkout', '-q', '-b', 'topic');
    expect(await worktreesOf(git)).toEqual([{ path: dir, branch: 'refs/heads/topic' }]);
    sh('worktree', 'add', '-q', '--detach', join(dir, 'linked'));
    expect(await worktreesOf(git)).toContainEqual({ path: join(dir, 'linked'), branch: null });
    sh('worktree', 'remove', '--force', join(dir, 'linked'));
    expect(await worktreesOf(git)).toEqual([{ path: dir, branch: 'refs/heads/topic' }]);
  });
});
