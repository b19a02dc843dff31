/** Trees that are used again: what was left in one is not seen by the next, and what was planted is not run. */
import { type ChildProcess, execFileSync, type SpawnOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { compiled } from '../../test/support/compiled.ts';
import { cloneWorkspaces } from './clone.ts';
import { makeScene, removeTemplate, type Scene } from './contract.ts';
import type { Stage } from './workspace.ts';

let scene: Scene;
let first: Stage;

beforeEach(async () => {
  scene = await makeScene(cloneWorkspaces);
  symlinkSync('readme.md', join(scene.repo, 'link'));
  scene.run(['add', '.']);
  scene.run(['commit', '-q', '-m', 'three']);
  first = await stage();
});
afterEach(() => scene.dispose());
afterAll(removeTemplate);

const stage = (at = 'main'): Promise<Stage> => scene.workspaces.stage(at, 'gate');
const inFirst = (...parts: string[]): string => join(first.path, ...parts);
const again = async (at = 'main'): Promise<Stage> => {
  await first.dispose();
  const next = await stage(at);
  expect(next.path, 'it is the same one').toBe(first.path);
  return next;
};

/** Everything that is in a tree, as bytes: its kind, its mode, what is in it. */
function contents(tree: string): string[] {
  const seen: string[] = [];
  const walk = (folder: Buffer, below: string): void => {
    for (const entry of readdirSync(folder, { withFileTypes: true, encoding: 'buffer' })) {
      const path = `${below}${entry.name.toString('latin1')}`;
      if (path === '.git') continue;
      const at = Buffer.concat([folder, Buffer.from('/'), entry.name]);
      const { mode } = lstatSync(at);
      seen.push(`${path} ${mode.toString(8)} ${entry.isFile() ? readFileSync(at, 'latin1') : ''}`);
      if (entry.isDirectory()) walk(at, `${path}/`);
    }
  };
  walk(Buffer.from(tree), '');
  return seen.sort();
}

describe('leaves nothing for the next', () => {
  const outside = (): string => join(scene.dir, 'outside');
  const LEFT: [string, () => void][] = [
    ['a file', () => writeFileSync(inFirst('src', 'left.txt'), 'x')],
    [
      'an ignored folder',
      () => {
        mkdirSync(inFirst('ignored'));
        writeFileSync(inFirst('ignored', 'x.log'), 'x');
      },
    ],
    ['an empty folder', () => mkdirSync(inFirst('src', 'empty'))],
    [
      'a folder nobody may write to',
      () => {
        mkdirSync(inFirst('src', 'shut'));
        writeFileSync(inFirst('src', 'shut', 'x'), 'x');
        chmodSync(inFirst('src', 'shut'), 0o500);
      },
    ],
    [
      'a tracked folder nobody may look into',
      () => {
        writeFileSync(inFirst('src', 'x'), 'x');
        chmodSync(inFirst('src'), 0o000);
      },
    ],
    ['a repository', () => scene.run(['init', '-q', inFirst('src')])],
    ['a pipe', () => execFileSync('mkfifo', [inFirst('.gitattributes')])],
    [
      'names that are no text',
      () => {
        const folder = Buffer.concat([Buffer.from(inFirst('odd-')), Buffer.from([0xff, 0x0a])]);
        mkdirSync(folder);
        writeFileSync(Buffer.concat([folder, Buffer.from('/\n"x')]), 'x');
        chmodSync(folder, 0o500);
      },
    ],
    ['an edit', () => writeFileSync(inFirst('readme.md'), 'edited')],
    [
      'an edit of the same size and time',
      () => {
        const { atime, mtime } = statSync(inFirst('src', 'a.txt'));
        writeFileSync(inFirst('src', 'a.txt'), 'b\n');
        utimesSync(inFirst('src', 'a.txt'), atime, mtime);
      },
    ],
    ['another mode', () => chmodSync(inFirst('readme.md'), 0o777)],
    ['a removed file', () => unlinkSync(inFirst('readme.md'))],
    ['a removed folder', () => rmSync(inFirst('src'), { recursive: true })],
    ['a second name of a file', () => linkSync(inFirst('readme.md'), join(scene.dir, 'second name'))],
    [
      'a link in the place of a file, to the same text',
      () => {
        renameSync(inFirst('readme.md'), outside());
        symlinkSync(outside(), inFirst('readme.md'));
      },
    ],
    [
      'a link in the place of a folder, to the same files',
      () => {
        renameSync(inFirst('src'), outside());
        symlinkSync(outside(), inFirst('src'));
      },
    ],
    [
      'a folder in the place of a file, and of a link',
      () => {
        for (const name of ['readme.md', 'link']) {
          unlinkSync(inFirst(name));
          mkdirSync(inFirst(name));
          writeFileSync(inFirst(name, 'x'), 'x');
          chmodSync(inFirst(name), 0o500);
        }
      },
    ],
    [
      'a link in the place of the tree',
      () => {
        renameSync(first.path, outside());
        symlinkSync(outside(), first.path);
      },
    ],
    ['no tree at all', () => rmSync(first.path, { recursive: true })],
    ['something in its home', () => writeFileSync(join(first.home, '.npmrc'), 'x')],
  ];

  test.each(LEFT)('%s', async (_what, leave) => {
    const fresh = contents(first.path);
    leave();
    const moved = lstatSync(outside(), { throwIfNoEntry: false })?.isDirectory() ? contents(outside()) : null;
    const next = await again();
    expect(contents(next.path)).toEqual(fresh);
    expect(readdirSync(next.home)).toEqual([]);
    expect(scene.run(['status', '--porcelain', '--ignored'], next.path)).toBe('');
    if (moved) expect(contents(outside()), 'nothing was written through a link').toEqual(moved);
    await next.dispose();
  });

  test('files of the commit before', async () => {
    const fresh = contents(first.path);
    const other = await again('main~2');
    expect(readdirSync(other.path).sort()).toEqual(['.git', '.gitignore', 'readme.md', 'src']);
    await other.dispose();
    const next = await stage();
    expect(contents(next.path)).toEqual(fresh);
    await next.dispose();
  });

  test('of its repository: refs, config, hooks and objects are new', async () => {
    const refs = scene.run(['show-ref', '--head'], first.path);
    scene.run(['commit', '-q', '--allow-empty', '-m', 'mine'], first.path);
    scene.run(['branch', 'left'], first.path);
    scene.run(['config', 'alias.left', 'log'], first.path);
    writeFileSync(inFirst('.git', 'hooks', 'post-checkout'), '#!/bin/sh\n');
    const next = await again();
    expect(scene.run(['show-ref', '--head'], next.path)).toBe(refs);
    expect(scene.run(['config', '--list', '--local'], next.path)).not.toContain('left');
    expect(readdirSync(join(next.path, '.git', 'hooks'))).toEqual([]);
    expect(scene.run(['count-objects'], next.path)).toMatch(/^0 objects/);
    await next.dispose();
  });
});

test('only files that differ are written again', async () => {
  const { ino } = statSync(inFirst('readme.md'));
  const changed = statSync(inFirst('src', 'a.txt'));
  writeFileSync(inFirst('src', 'a.txt'), 'touched');
  const next = await again();
  expect(statSync(join(next.path, 'readme.md')).ino).toBe(ino);
  expect(statSync(join(next.path, 'src', 'a.txt')).ctimeMs).not.toBe(changed.ctimeMs);
  await next.dispose();
});

test('what the operator prefers for their own checkout does not hide a touched file', async () => {
  scene.run(['config', 'core.trustctime', 'false']);
  scene.run(['config', 'core.checkStat', 'minimal']);
  scene.run(['config', 'core.ignoreStat', 'true']);
  await first.dispose();
  first = await stage();
  const { atime, mtime, ctimeMs } = statSync(inFirst('src', 'a.txt'));
  // git knows times to the second, and compares the content of a file that is as young as its index. A file's time comes
  // from a coarser clock than ours, and as a Date it is rounded up.
  const secondOf = (timeMs: number) => Math.floor(timeMs / 1000);
  const fileSecond = () => {
    writeFileSync(join(scene.dir, 'clock'), '');
    return secondOf(statSync(join(scene.dir, 'clock')).mtimeMs);
  };
  await expect.poll(fileSecond, { timeout: 60_000 }).toBeGreaterThan(secondOf(ctimeMs));
  const indexes = join(scene.repo, '.git', 'forge-loop');
  const now = new Date();
  for (const name of readdirSync(indexes)) utimesSync(join(indexes, name), now, now);
  writeFileSync(inFirst('src', 'a.txt'), 'b\n');
  utimesSync(inFirst('src', 'a.txt'), atime, mtime);
  const next = await again();
  expect(readFileSync(join(next.path, 'src', 'a.txt'), 'utf8')).toBe('a\n');
  await next.dispose();
});

test('nothing that was planted in one is run when it is put away and used again', async () => {
  const ran = join(scene.dir, 'ran');
  const plant = join(scene.dir, 'plant.sh');
  writeFileSync(plant, `#!/bin/sh\necho x >> '${ran}'\ncat\n`, { mode: 0o755 });
  for (const hook of ['post-checkout', 'post-index-change', 'reference-transaction', 'fsmonitor-watchman'])
    writeFileSync(inFirst('.git', 'hooks', hook), `#!/bin/sh\n'${plant}'\n`, { mode: 0o755 });
  for (const [key, value] of Object.entries({
    'core.fsmonitor': plant,
    'core.hooksPath': inFirst('.git', 'hooks'),
    'filter.evil.smudge': plant,
    'filter.evil.clean': plant,
    'filter.evil.process': plant,
  }))
    scene.run(['config', key, value], first.path);
  mkdirSync(inFirst('.git', 'info'), { recursive: true });
  writeFileSync(inFirst('.git', 'info', 'attributes'), '* filter=evil\n');
  writeFileSync(inFirst('.gitattributes'), '* filter=evil\n');
  writeFileSync(inFirst('readme.md'), 'touched');
  rmSync(ran, { force: true });
  const next = await again('main~1');
  expect(existsSync(ran)).toBe(false);
  await next.dispose();
});

describe('more than one at a time', () => {
  test('each has a tree of its own; when all are in use, a throwaway is made, and goes', async () => {
    const trees = [first, ...(await Promise.all([stage(), stage(), stage(), stage(), stage()]))];
    expect(new Set(trees.map(({ path }) => path)).size).toBe(trees.length);
    for (const tree of trees) expect(scene.run(['status', '--porcelain'], tree.path)).toBe('');
    for (const tree of trees) await tree.dispose();
    const left = trees.filter(({ path }) => existsSync(path));
    expect(left.length, 'the kept ones are few').toBeLessThanOrEqual(4);
    expect(await scene.workspaces.orphans([])).toEqual([]);
  });

  test('who comes again has the path of before, unless it is taken', async () => {
    const copy = (near?: string) => scene.workspaces.export('main', 'critic', near);
    const second = await copy();
    const { path } = second;
    await first.dispose();
    await second.dispose();
    const mine = await copy(path);
    expect(mine.path).toBe(path);
    const other = await copy(path);
    expect(other.path).not.toBe(path);
    await mine.dispose();
    await other.dispose();
  });

  test('who comes again in the same session waits until its path is free', async () => {
    const { signal } = new AbortController();
    const mine = await scene.workspaces.export('main', 'critic-a');
    await mine.dispose();
    const other = await scene.workspaces.export('main', 'critic-b', mine.path);
    expect(other.path).toBe(mine.path);
    const again = scene.workspaces.export('main', 'critic-a', mine.path, signal);
    const elsewhere = await scene.workspaces.export('main', 'critic-c', mine.path);
    expect(elsewhere.path, 'it is taken').not.toBe(mine.path);
    await other.dispose();
    expect((await again).path).toBe(mine.path);
    await (await again).dispose();
    await elsewhere.dispose();
  });

  test('whose runner stops does not wait', async () => {
    const mine = await scene.workspaces.export('main', 'critic-a');
    const again = await scene.workspaces.export('main', 'critic-a', mine.path, AbortSignal.abort());
    expect(again.path).not.toBe(mine.path);
    await again.dispose();
    await mine.dispose();
  });

  test('a place to which somebody may come back is the last that others take', async () => {
    await first.dispose();
    const visits: string[] = [];
    for (const visitor of ['critic-a', 'critic-b', 'critic-c']) {
      const tree = await scene.workspaces.export('main', visitor);
      visits.push(tree.path);
      await tree.dispose();
    }
    expect(new Set(visits).size).toBe(3);
    const gate = await stage();
    expect(visits).not.toContain(gate.path);
    await gate.dispose();
    const back = await scene.workspaces.export('main', 'critic-b');
    expect(back.path, 'its own, whatever it asks for').toBe(visits[1]);
    await back.dispose();
  });

  test('who puts one away twice takes nothing from the next', async () => {
    const next = await again();
    writeFileSync(join(next.path, 'made.txt'), 'x');
    await first.dispose();
    expect(existsSync(join(next.path, 'made.txt'))).toBe(true);
    const third = await stage();
    expect(third.path).not.toBe(next.path);
    await third.dispose();
    await next.dispose();
  });

  test('two runners never have the same one', async () => {
    const other = await scene.reopen();
    const theirs = await other.stage('main', 'gate');
    expect(theirs.path).not.toBe(first.path);
    await theirs.dispose();
  });

  test('a throwaway of a killed runner goes with the next one, one of another host stays', async () => {
    const all = await Promise.all([stage(), stage(), stage(), stage()]);
    const folder = dirname(all.map(({ path }) => path).find((path) => path.includes('/exports/'))!);
    const [purpose, commit, host] = basename(folder).split('.');
    const dead = join(dirname(folder), `${purpose}.${commit}.${host}.999999999.abc`);
    const foreign = join(dirname(folder), `${purpose}.${commit}.elsewhere.999999999.abc`);
    for (const made of [dead, foreign]) mkdirSync(made);
    const next = await stage();
    expect([existsSync(dead), existsSync(foreign), existsSync(folder)]).toEqual([false, true, true]);
    for (const tree of [...all, next]) await tree.dispose();
  });
});

describe('a runner that is killed', () => {
  let program: { folder: string; script: string };

  beforeAll(() => {
    program = compiled('test/support/tree-user.ts');
  });
  afterAll(() => rmSync(program.folder, { recursive: true }));

  /** Another runner opens a tree and is killed before its git number `at`, or when it has the tree. */
  async function killedAt(at: number): Promise<string> {
    const job = { repo: scene.repo, root: scene.root, commit: 'main~2', at };
    const child = spawn(process.execPath, [program.script, JSON.stringify(job)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [said] = await once(child.stdout, 'data');
    child.kill('SIGKILL');
    await once(child, 'exit');
    return String(said).trim();
  }

  test('at whatever step: its tree is used again, and is like a new one', async () => {
    const fresh = contents(first.path);
    await first.dispose();
    const seen = new Set<string>();
    for (let at = 1; !seen.has('opened'); at++) {
      seen.add(await killedAt(at));
      const next = await stage();
      expect(next.path, 'taken up again').toBe(first.path);
      expect(contents(next.path)).toEqual(fresh);
      expect(scene.run(['status', '--porcelain', '--ignored'], next.path)).toBe('');
      await next.dispose();
    }
    expect([...seen]).toEqual(expect.arrayContaining(['ls-files', 'read-tree', 'opened']));
  });

  // Elsewhere the process table does not tell where a process works.
  test.runIf(process.platform === 'linux')(
    'and left a process there: nobody else is put beside it',
    async () => {
      await first.dispose();
      const stay = async (options: SpawnOptions): Promise<ChildProcess> => {
        const child = spawn('sleep', ['1000'], options);
        await once(child, 'spawn');
        return child;
      };
      for (const options of [{ cwd: first.path }, { env: { ...process.env, GIT_WORK_TREE: first.path } }]) {
        const left = await stay(options);
        const next = await stage();
        expect(next.path).not.toBe(first.path);
        await next.dispose();
        left.kill('SIGKILL');
        await once(left, 'exit');
      }
      const last = await stage();
      expect(last.path).toBe(first.path);
      await last.dispose();
    },
  );
});
