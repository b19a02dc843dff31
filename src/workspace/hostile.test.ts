/**
 * Agents that turn their workspace against the host. Whatever they leave, every operation either works or refuses;
 * nothing of theirs is run, no ref of the operator moves, nothing outside the workspaces changes.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import {
  appendFile,
  cp,
  mkdir,
  readdir,
  readFile,
  readlink,
  rename,
  rm,
  symlink,
  truncate,
  writeFile,
} from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { deflateSync } from 'node:zlib';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { WorkspaceRefused } from '../errors.ts';
import { cloneWorkspaces } from './clone.ts';
import { makeScene, removeTemplate, type Scene } from './contract.ts';

let scene: Scene;
let path: string;
let canary: string;
/** A program that leaves the canary behind. */
let evil: string;

beforeEach(async () => {
  scene = await makeScene(cloneWorkspaces);
  path = scene.workspaces.path(scene.spec);
  canary = join(scene.dir, 'canary');
  evil = join(scene.dir, 'evil');
  await writeFile(evil, `#!/bin/sh\ntouch '${canary}'\ncat\n`, { mode: 0o755 });
  await mkdir(join(scene.dir, 'outside'));
  await writeFile(join(scene.dir, 'outside', 'secret.txt'), 'secret\n');
});
afterEach(() => scene.dispose());
afterAll(removeTemplate);

type Outcome = { saved: string } | { refused: string };

/** Lets the agent attack, then does everything the loop ever does with a workspace. Answers what the checkpoint did. */
async function survive(attack: () => Promise<void>): Promise<Outcome> {
  await scene.workspaces.prepare(scene.spec);
  await writeFile(join(path, 'work.txt'), 'work\n');
  await attack();
  await rm(canary, { force: true });
  const outside = await everythingOutside();
  const refs = operatorRefs();

  const { workspaces, spec } = scene;
  await tolerateRefusal(workspaces.probe(spec));
  await tolerateRefusal(workspaces.verify(spec));
  const outcome = await workspaces.checkpoint(spec, 'work').then(
    (result): Outcome => ({ saved: result.head.sha }),
    (error: unknown): Outcome => {
      if (error instanceof WorkspaceRefused) return { refused: error.message };
      throw error;
    },
  );
  await tolerateRefusal(workspaces.probe(spec));
  await tolerateRefusal(workspaces.orphans([]));
  await tolerateRefusal(workspaces.mergeTrunk(spec, scene.run(['rev-parse', 'main']).trim()));
  await tolerateRefusal(workspaces.prepare(spec));
  if ('saved' in outcome) await (await workspaces.export(outcome.saved, 'critic')).dispose();
  await tolerateRefusal(workspaces.adopt(spec, scene.run(['rev-parse', spec.branch]).trim()));
  await tolerateRefusal(workspaces.reap(spec));

  expect(existsSync(canary)).toBe(false);
  expect(operatorRefs()).toBe(refs);
  expect(await everythingOutside()).toEqual(outside);
  scene.run(['fsck', '--connectivity-only']);
  return outcome;
}

async function tolerateRefusal(operation: Promise<unknown>): Promise<void> {
  await operation.catch((error) => {
    if (!(error instanceof WorkspaceRefused)) throw error;
  });
}

function operatorRefs(): string {
  const all = scene.run(['for-each-ref', '--format=%(refname) %(objectname)']);
  const head = scene.run(['symbolic-ref', 'HEAD']);
  return (
    head +
    all
      .split('\n')
      .filter((line) => !/^refs\/(heads\/loop|forge)\//.test(line))
      .join('\n')
  );
}

/** What a checkpoint may write to: objects, its own refs and their logs, its index. Everything else is outside. */
const INSIDE =
  /^(work spaces|my repo ñ\/\.git\/(objects|refs\/heads\/loop|refs\/forge|logs\/refs\/heads\/loop|forge-loop))(\/|$)/;

async function everythingOutside(folder = scene.dir): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const at = join(folder, entry.name);
    const name = relative(scene.dir, at);
    if (INSIDE.test(name)) continue;
    if (entry.isDirectory()) Object.assign(found, { [name]: 'directory' }, await everythingOutside(at));
    else if (entry.isSymbolicLink()) found[name] = `link ${await readlink(at)}`;
    else if (entry.isFile()) found[name] = await readFile(at, 'utf8');
  }
  return found;
}

const agent = (...args: string[]) => scene.run(args, path).trim();
const inGit = (...parts: string[]) => join(path, '.git', ...parts);
const operatorGit = (...parts: string[]) => join(scene.repo, '.git', ...parts);
const show = (name: string) => scene.run(['show', `${scene.spec.branch}:${name}`]);

async function evilHooks(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  for (const hook of [
    'pre-commit',
    'commit-msg',
    'prepare-commit-msg',
    'post-commit',
    'post-checkout',
    'post-merge',
    'post-rewrite',
    'post-index-change',
    'reference-transaction',
    'pre-push',
    'update',
    'pre-receive',
    'post-receive',
    'fsmonitor-watchman',
  ]) {
    await writeFile(join(folder, hook), `#!/bin/sh\ntouch '${canary}'\n`, { mode: 0o755 });
  }
}

/** Every setting by which a git directory makes git start a program. */
async function evilConfig(file: string): Promise<void> {
  await appendFile(
    file,
    `[core]
	hooksPath = ${join(dirname(file), 'hooks')}
	fsmonitor = "'${evil}'"
	sshCommand = "'${evil}'"
	pager = "'${evil}'"
	editor = "'${evil}'"
	alternateRefsCommand = "'${evil}'"
[filter "bad"]
	clean = "'${evil}'"
	smudge = "'${evil}'"
	process = "'${evil}'"
	required = true
[diff]
	external = "'${evil}'"
[diff "bad"]
	command = "'${evil}'"
	textconv = "'${evil}'"
[merge "bad"]
	driver = "'${evil}'"
[gpg]
	program = ${evil}
[commit]
	gpgSign = true
[credential]
	helper = "!'${evil}'"
[uploadpack]
	packObjectsHook = ${evil}
`,
  );
}

const ATTRIBUTES = '* filter=bad diff=bad merge=bad\n';

/** A complete repository of the agent's with everything armed. */
async function evilRepository(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  scene.run(['init', '-q'], folder);
  await writeFile(join(folder, 'f.txt'), 'f\n');
  scene.run(['add', 'f.txt'], folder);
  scene.run(['commit', '-q', '-m', 'x'], folder);
  await evilHooks(join(folder, '.git', 'hooks'));
  await evilConfig(join(folder, '.git', 'config'));
}

describe('a git directory that was replaced (dispatch 14)', () => {
  it('by a file that points at the operator’s repository', async () => {
    const outcome = await survive(async () => {
      await rm(inGit(), { recursive: true });
      await writeFile(inGit(), `gitdir: ${operatorGit()}\n`);
    });
    expect(outcome).toHaveProperty('refused');
  });

  it('by a link to the operator’s repository', async () => {
    const outcome = await survive(async () => {
      await rm(inGit(), { recursive: true });
      await symlink(operatorGit(), inGit());
    });
    expect(outcome).toHaveProperty('refused');
  });

  it('by an armed repository of the agent’s', async () => {
    const outcome = await survive(async () => {
      await evilRepository(join(scene.dir, 'armed'));
      await rm(inGit(), { recursive: true });
      await rename(join(scene.dir, 'armed', '.git'), inGit());
    });
    expect(outcome).toHaveProperty('refused');
  });

  it('by nothing', async () => {
    expect(await survive(() => rm(inGit(), { recursive: true }))).toHaveProperty('refused');
  });

  it('through a redirected common directory', async () => {
    const outcome = await survive(async () => {
      await evilRepository(join(scene.dir, 'armed'));
      await writeFile(inGit('commondir'), `${join(scene.dir, 'armed', '.git')}\n`);
    });
    expect(outcome).toEqual({ refused: expect.stringContaining('commondir') });
  });

  it('together with the workspace, by a link to the operator’s checkout', async () => {
    const outcome = await survive(async () => {
      await rename(path, join(scene.root, 'aside'));
      await symlink(scene.repo, path);
    });
    expect(outcome).toHaveProperty('refused');
    expect(existsSync(join(scene.repo, 'readme.md'))).toBe(true);
  });
});

describe('programs configured in the workspace (dispatch 14)', () => {
  it('hooks, filters, fsmonitor and drivers of the clone are not run', async () => {
    const outcome = await survive(async () => {
      await evilHooks(inGit('hooks'));
      await evilConfig(inGit('config'));
      await writeFile(join(path, '.gitattributes'), ATTRIBUTES);
      await writeFile(inGit('info', 'attributes'), ATTRIBUTES);
    });
    expect(outcome).toHaveProperty('saved');
    expect(show('work.txt')).toBe('work\n');
  });

  it('programs of the operator’s that the work names in attributes are not run', async () => {
    await evilHooks(operatorGit('hooks'));
    await evilConfig(operatorGit('config'));
    scene.workspaces = await scene.reopen();
    const outcome = await survive(async () => {
      await writeFile(join(path, '.gitattributes'), ATTRIBUTES);
      execFileSync('git', ['--git-dir', inGit(), 'add', '.gitattributes'], { cwd: path });
      agent('commit', '-q', '-m', 'attributes');
    });
    expect(outcome).toHaveProperty('saved');
    expect(show('work.txt')).toBe('work\n');
  });

  it('the clone’s exclude file does not hide work, and its index does not either', async () => {
    const outcome = await survive(async () => {
      await writeFile(inGit('info', 'exclude'), '*\n');
      await writeFile(join(path, 'readme.md'), 'changed\n');
      agent('update-index', '--assume-unchanged', 'readme.md');
      agent('update-index', '--skip-worktree', 'src/a.txt');
    });
    expect(outcome).toHaveProperty('saved');
    expect(show('work.txt')).toBe('work\n');
    expect(show('readme.md')).toBe('changed\n');
  });
});

describe('repositories in the workspace (dispatch 14)', () => {
  it('a nested one is refused by name and not entered', async () => {
    const outcome = await survive(() => evilRepository(join(path, 'deep', 'nested')));
    expect(outcome).toEqual({ refused: expect.stringContaining('deep/nested') });
  });

  it('one inside a tracked folder is refused too', async () => {
    const outcome = await survive(() => evilRepository(join(path, 'src')));
    expect(outcome).toEqual({ refused: expect.stringContaining('src') });
  });

  it('one that the agent committed as a link is refused by name', async () => {
    const outcome = await survive(async () => {
      await evilRepository(join(path, 'nested'));
      await rm(join(path, 'nested', '.git', 'config'));
      agent('add', 'nested');
      agent('commit', '-q', '-m', 'nested');
      await rm(join(path, 'nested'), { recursive: true });
    });
    expect(outcome).toEqual({ refused: expect.stringContaining('nested') });
  });

  it('an ignored one is left alone', async () => {
    const outcome = await survive(() => evilRepository(join(path, 'ignored', 'cache')));
    expect(outcome).toHaveProperty('saved');
    expect(show('work.txt')).toBe('work\n');
  });

  it('a submodule of trunk can be armed and changed without effect', async () => {
    await evilRepository(join(scene.dir, 'library'));
    const commit = scene.run(['rev-parse', 'HEAD'], join(scene.dir, 'library')).trim();
    scene.run(['update-index', '--add', '--cacheinfo', `160000,${commit},library`]);
    await writeFile(
      join(scene.repo, '.gitmodules'),
      `[submodule "library"]\n\tpath = library\n\turl = ../library\n`,
    );
    scene.run(['add', '.gitmodules']);
    scene.run(['commit', '-q', '-m', 'submodule']);
    scene.spec.baseSha = scene.run(['rev-parse', 'HEAD']).trim();
    const outcome = await survive(async () => {
      await cp(join(scene.dir, 'library'), join(path, 'library'), { recursive: true });
      await writeFile(join(path, 'library', '.gitattributes'), ATTRIBUTES);
      await writeFile(join(path, 'library', 'f.txt'), 'g\n');
    });
    expect(outcome).toHaveProperty('saved');
    expect(scene.run(['diff', '--name-only', 'main', scene.spec.branch])).toBe('work.txt\n');
    expect(scene.run(['ls-tree', scene.spec.branch, 'library'])).toContain(commit);
  });

  it('submodule addresses that are commands are not followed', async () => {
    const modules = `[submodule "x"]\n\tpath = x\n\turl = ext::'${evil}'\n\tignore = none\n`;
    expect(await survive(() => writeFile(join(path, '.gitmodules'), modules))).toHaveProperty('saved');
  });

  it.each(['work tree', 'commit'])(
    'submodule settings that are commands are refused in a %s',
    async (where) => {
      const outcome = await survive(async () => {
        await writeFile(join(path, '.gitmodules'), `[submodule "x"]\n\tpath = x\n\tupdate = !'${evil}'\n`);
        if (where === 'commit') agent('add', '.gitmodules');
        if (where === 'commit') agent('commit', '-q', '-m', 'modules');
      });
      expect(outcome).toEqual({ refused: expect.stringContaining('gitmodules') });
    },
  );
});

describe('links that leave the workspace (dispatch 14)', () => {
  it('in the work tree are stored as links, never followed', async () => {
    const outcome = await survive(async () => {
      await symlink(join(scene.dir, 'outside', 'secret.txt'), join(path, 'file-link'));
      await symlink(join(scene.dir, 'outside'), join(path, 'folder-link'));
      await rm(join(path, '.gitignore'));
      await symlink(join(scene.dir, 'outside', 'secret.txt'), join(path, '.gitignore'));
    });
    expect(outcome).toHaveProperty('saved');
    expect(show('file-link')).toBe(join(scene.dir, 'outside', 'secret.txt'));
    expect(scene.run(['ls-tree', '-r', '--name-only', scene.spec.branch])).not.toContain('folder-link/');
  });

  it('are not written through when trunk or a person changes what is behind them', async () => {
    const { workspaces, spec } = scene;
    await workspaces.prepare(spec);
    await rename(join(path, 'src'), join(path, 'moved'));
    await symlink(join(scene.dir, 'outside'), join(path, 'src'));
    await writeFile(join(scene.repo, 'src', 'a.txt'), 'changed on trunk\n');
    await writeFile(join(scene.repo, 'src', 'secret.txt'), 'overwritten\n');
    scene.run(['add', '.']);
    scene.run(['commit', '-q', '-m', 'trunk']);
    const trunk = scene.run(['rev-parse', 'HEAD']).trim();
    const outside = await everythingOutside();
    await workspaces.mergeTrunk(spec, trunk);
    expect(await everythingOutside()).toEqual(outside);
    await workspaces.checkpoint(spec, 'merge');
    scene.run(['update-ref', `refs/heads/${spec.branch}`, trunk]);
    const before = await everythingOutside();
    await workspaces.adopt(spec, trunk);
    expect(await everythingOutside()).toEqual(before);
    expect(await readFile(join(path, 'src', 'secret.txt'), 'utf8')).toBe('overwritten\n');
  });

  const places: [string, () => string, () => string, 'saved' | 'refused'][] = [
    ['objects', () => inGit('objects'), () => operatorGit('objects'), 'refused'],
    ['objects/info', () => inGit('objects', 'info'), () => join(scene.dir, 'outside'), 'refused'],
    ['objects/pack', () => inGit('objects', 'pack'), () => operatorGit('objects', 'pack'), 'refused'],
    ['refs', () => inGit('refs'), () => operatorGit('refs'), 'refused'],
    [
      'the folder of its branch',
      () => inGit('refs', 'heads', 'loop'),
      () => operatorGit('refs', 'heads'),
      'refused',
    ],
    [
      'its branch',
      () => inGit('refs', 'heads', 'loop', '7-add-thing'),
      () => operatorGit('refs', 'heads', 'main'),
      'refused',
    ],
    ['HEAD', () => inGit('HEAD'), () => operatorGit('HEAD'), 'refused'],
    ['packed-refs', () => inGit('packed-refs'), () => join(scene.dir, 'outside', 'secret.txt'), 'saved'],
    ['index', () => inGit('index'), () => join(scene.dir, 'outside', 'secret.txt'), 'saved'],
    ['index.lock', () => inGit('index.lock'), () => join(scene.dir, 'outside', 'secret.txt'), 'saved'],
    ['rebase-merge', () => inGit('rebase-merge'), () => join(scene.dir, 'outside'), 'saved'],
  ];
  it.each(places)('in place of %s in the git directory are not followed', async (_, from, to, expected) => {
    const outcome = await survive(async () => {
      await rm(from(), { recursive: true, force: true });
      await symlink(to(), from());
    });
    expect(outcome).toHaveProperty(expected);
  });
});

describe('names and refs that are not what they should be (dispatch 14)', () => {
  it.each([
    'ref: refs/heads/../../../../outside/secret.txt',
    'ref: refs/heads/main\nref: refs/heads/x',
    'ref: /etc/passwd',
    'ref: refs/heads/loop/..',
    'ref: refs/heads/.hidden',
    `${'0'.repeat(39)}`,
    '',
    '--upload-pack=touch',
  ])('HEAD saying %j is refused', async (content) => {
    expect(await survive(() => writeFile(inGit('HEAD'), content))).toHaveProperty('refused');
  });

  it('a HEAD or branch without end is not read', async () => {
    const branch = inGit('refs', 'heads', 'loop', '7-add-thing');
    expect(await survive(() => truncate(branch, 1e12))).toEqual({
      refused: expect.stringContaining('bytes'),
    });
  });

  it('a HEAD at something that is no commit is refused', async () => {
    const outcome = await survive(async () => {
      await writeFile(inGit('HEAD'), `${agent('rev-parse', 'HEAD^{tree}')}\n`);
    });
    expect(outcome).toEqual({ refused: expect.stringContaining('not a commit') });
  });

  it('a HEAD at a commit of the operator’s that lacks the base is refused', async () => {
    const outcome = await survive(async () => {
      await writeFile(inGit('HEAD'), `${agent('rev-parse', 'HEAD~1')}\n`);
    });
    expect(outcome).toHaveProperty('refused');
  });

  it.each(['HEAD', 'packed-refs', 'objects/info/alternates', 'MERGE_HEAD'])(
    'a pipe as %s does not hang the host',
    async (name) => {
      const outcome = await survive(async () => {
        await rm(inGit(name), { force: true });
        if (name === 'packed-refs') await rm(inGit('refs', 'heads', 'loop', '7-add-thing'));
        execFileSync('mkfifo', [inGit(name)]);
      });
      expect(outcome).toHaveProperty('refused');
    },
  );

  it.each(['.gitignore', 'src/.gitattributes'])('a pipe as %s does not hang the host', async (name) => {
    const outcome = await survive(async () => {
      await rm(join(path, name), { force: true });
      execFileSync('mkfifo', [join(path, name)]);
    });
    expect(outcome).toEqual({ refused: expect.stringContaining(name) });
  });
});

describe('forged objects (dispatch 14)', () => {
  it('alternates that lead elsewhere are refused', async () => {
    const outcome = await survive(() =>
      appendFile(inGit('objects', 'info', 'alternates'), `${join(scene.dir, 'outside')}\n`),
    );
    expect(outcome).toEqual({ refused: expect.stringContaining('alternates') });
  });

  it('a pipe in place of an object does not hang the host', async () => {
    const outcome = await survive(async () => {
      agent('add', '.');
      agent('commit', '-q', '-m', 'mine');
      const object = looseObject(agent('rev-parse', 'HEAD'));
      await rm(object);
      execFileSync('mkfifo', [object]);
    });
    expect(outcome).toHaveProperty('refused');
  });

  it('a commit whose files are missing is refused', async () => {
    const outcome = await survive(async () => {
      agent('add', '.');
      agent('commit', '-q', '-m', 'mine');
      await rm(looseObject(agent('rev-parse', 'HEAD:work.txt')));
    });
    expect(outcome).toEqual({ refused: expect.stringContaining('history') });
  });

  it('an object under another’s name does not pass for it', async () => {
    const outcome = await survive(async () => {
      const blob = agent('rev-parse', 'HEAD:readme.md');
      const forged = looseObject(blob);
      await mkdir(dirname(forged), { recursive: true });
      await writeFile(forged, deflateSync(Buffer.from('blob 5\0evil\n')));
      agent('add', 'work.txt');
      agent('commit', '-q', '-m', 'mine');
    });
    expect(outcome).toHaveProperty('saved');
    expect(show('readme.md')).toBe('one\ntwo\nthree\nfour\nfive\n');
  });

  it('replace refs, grafts and a shallow file do not lend unrelated history a base', async () => {
    const outcome = await survive(async () => {
      agent('checkout', '-q', '--orphan', 'fresh');
      agent('commit', '-q', '-m', 'unrelated');
      const fake = agent('rev-parse', 'HEAD');
      const graft = agent('commit-tree', '-p', scene.spec.baseSha, '-m', 'looks right', 'HEAD^{tree}');
      agent('replace', fake, graft);
      await writeFile(inGit('info', 'grafts'), `${fake} ${scene.spec.baseSha}\n`);
      await writeFile(inGit('shallow'), `${fake}\n`);
      agent('update-ref', 'refs/heads/loop/7-add-thing', fake);
      await writeFile(inGit('HEAD'), 'ref: refs/heads/loop/7-add-thing\n');
    });
    expect(outcome).toEqual({ refused: expect.stringContaining(scene.spec.baseSha.slice(0, 10)) });
  });

  it('broken commit graphs and pack indexes beside the objects have no say', async () => {
    const outcome = await survive(async () => {
      agent('add', 'work.txt');
      agent('commit', '-q', '-m', 'mine');
      await writeFile(inGit('objects', 'info', 'commit-graph'), 'CGPH nonsense');
      await writeFile(inGit('objects', 'pack', 'multi-pack-index'), 'MIDX nonsense');
    });
    expect(outcome).toHaveProperty('saved');
    expect(show('work.txt')).toBe('work\n');
  });

  it.each(['.git', '..', '.GIT', 'git~1'])('a tree with an entry called %s is refused', async (name) => {
    const outcome = await survive(async () => {
      const hooks = await writeTree([['100755', 'pre-commit', agent('rev-parse', 'HEAD:readme.md')]]);
      const tree = await writeTree([['40000', name, hooks]]);
      agent('update-ref', 'HEAD', agent('commit-tree', '-p', 'HEAD', '-m', 'x', tree));
    });
    expect(outcome).toHaveProperty('refused');
  });

  function looseObject(sha: string): string {
    return inGit('objects', sha.slice(0, 2), sha.slice(2));
  }

  /** By hand: git itself would not write these. */
  async function writeTree(entries: [string, string, string][]): Promise<string> {
    const body = Buffer.concat(
      entries.map(([mode, name, sha]) =>
        Buffer.concat([Buffer.from(`${mode} ${name}\0`), Buffer.from(sha, 'hex')]),
      ),
    );
    const object = Buffer.concat([Buffer.from(`tree ${body.length}\0`), body]);
    const sha = createHash('sha1').update(object).digest('hex');
    await mkdir(dirname(looseObject(sha)), { recursive: true });
    await writeFile(looseObject(sha), deflateSync(object));
    return sha;
  }
});

describe('files that can’t be committed', () => {
  it('names the path and leaves the work where it is', async () => {
    await scene.workspaces.prepare(scene.spec);
    await writeFile(join(path, 'git~1'), 'x');
    await expect(scene.workspaces.checkpoint(scene.spec, 'work')).rejects.toThrow(/git~1 can't be committed/);
    await rm(join(path, 'git~1'));
    await scene.workspaces.checkpoint(scene.spec, 'work');
  });
});
