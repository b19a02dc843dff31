/** Git LFS in workspaces and in the trees made of commits, through the operator's configuration. */
import { randomBytes } from 'node:crypto';
import { chmod, cp, mkdtemp, readFile, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { hasLfs } from '../../test/support/lfs.ts';
import { FetchFailed } from '../errors.ts';
import { openGit } from '../git/git.ts';
import { cloneWorkspaces } from './clone.ts';
import { makeScene, removeTemplate, type Scene } from './contract.ts';
import type { WorkspaceKey } from './workspace.ts';

// git-lfs is a program of its own, which not every machine has.
describe.skipIf(!hasLfs)('Git LFS', () => {
  let scene: Scene;
  let spec: WorkspaceKey;
  let path: string;
  const one = randomBytes(20_000);
  const two = randomBytes(30_000);
  const git = (args: readonly string[], cwd?: string) => scene.run(args, cwd).trim();
  const at = (commit: string, file = 'a.bin') => git(['cat-file', 'blob', `${commit}:${file}`]);
  const inWorkspace = (name = 'a.bin') => readFile(join(path, name));
  const store = () => join(scene.repo, '.git', 'lfs', 'objects');

  beforeEach(async () => {
    scene = await makeScene(cloneWorkspaces);
    git(['lfs', 'install', '--local']);
    await writeFile(join(scene.repo, '.gitattributes'), '*.bin filter=lfs diff=lfs merge=lfs -text\n');
    await writeFile(join(scene.repo, 'a.bin'), one);
    git(['add', '.']);
    git(['commit', '-q', '-m', 'Add a large file']);
    scene.workspaces = await scene.reopen();
    spec = { ...scene.spec, baseSha: git(['rev-parse', 'main']) };
    path = scene.workspaces.path(spec);
  });
  afterEach(() => scene.dispose());
  afterAll(removeTemplate);

  it('gives a workspace and every exported tree the real content', async () => {
    await scene.workspaces.prepare(spec);
    expect(await inWorkspace()).toEqual(one);
    const tree = await scene.workspaces.export(spec.baseSha, 'test');
    expect(await readFile(join(tree.path, 'a.bin'))).toEqual(one);
    await tree.dispose();
  });

  it('takes a change as a pointer, with its object in the operator’s store', async () => {
    await scene.workspaces.prepare(spec);
    await writeFile(join(path, 'a.bin'), two);
    const { head } = await scene.workspaces.checkpoint(spec, 'Change it\n');
    expect(at(head.sha)).toMatch(/^version https:\/\/git-lfs/);
    const tree = await scene.workspaces.export(head.sha, 'test');
    expect(await readFile(join(tree.path, 'a.bin'))).toEqual(two);
    await tree.dispose();
    expect(await scene.workspaces.checkpoint(spec, 'Again\n')).toMatchObject({ head });
  });

  it('makes a pointer of raw bytes that the agent committed, and keeps them out of the branch', async () => {
    await scene.workspaces.prepare(spec);
    await writeFile(join(path, 'a.bin'), two);
    await writeFile(join(path, 'b.txt'), 'b\n');
    const raw = ['-c', 'filter.lfs.clean=', '-c', 'filter.lfs.process=', '-c', 'filter.lfs.required=false'];
    git([...raw, 'add', '.'], path);
    git([...raw, 'commit', '-q', '-m', 'As it is'], path);
    const agents = git(['rev-parse', 'HEAD'], path);
    const { head } = await scene.workspaces.checkpoint(spec, 'Save it\n');
    expect(at(head.sha)).toMatch(/^version https:\/\/git-lfs/);
    expect(at(head.sha, 'b.txt')).toBe('b');
    expect(git(['rev-list', `${spec.baseSha}..${head.sha}`]).split('\n')).toEqual([head.sha]);
    expect(git(['for-each-ref', '--format=%(objectname)', 'refs/forge/t1/kept'])).toBe(agents);
    expect(git(['rev-parse', 'HEAD'], path)).toBe(head.sha);
    expect(await inWorkspace()).toEqual(two);

    git([...raw, 'add', '--renormalize', '.'], path);
    git([...raw, 'commit', '-q', '-m', 'As it is, again'], path);
    expect(await scene.workspaces.checkpoint(spec, 'Again\n')).toMatchObject({ head });
  });

  it('takes the agent’s own pointer, made by its own git-lfs', async () => {
    await scene.workspaces.prepare(spec);
    await writeFile(join(path, 'a.bin'), two);
    git(['add', '.'], path);
    git(['commit', '-q', '-m', 'Change it'], path);
    const agents = git(['rev-parse', 'HEAD'], path);
    expect(git(['cat-file', 'blob', 'HEAD:a.bin'], path)).toMatch(/^version/);
    const { head } = await scene.workspaces.checkpoint(spec, 'Save it\n');
    expect(head.sha).toBe(agents);
    const tree = await scene.workspaces.export(head.sha, 'test');
    expect(await readFile(join(tree.path, 'a.bin'))).toEqual(two);
    await tree.dispose();
  });

  it('refuses a pointer to an object that nobody has', async () => {
    await scene.workspaces.prepare(spec);
    const made = `version https://git-lfs.github.com/spec/v1\noid sha256:${'ab'.repeat(32)}\nsize 12\n`;
    await writeFile(join(path, 'c.bin'), made);
    await expect(scene.workspaces.checkpoint(spec, 'Save\n')).rejects.toThrow(
      /c\.bin is a Git LFS pointer to an object that is not here/,
    );
  });

  it('takes no server and no exception from a workspace’s .lfsconfig', async () => {
    await scene.workspaces.prepare(spec);
    const said = '[lfs]\n\turl = http://127.0.0.1:9/\n\tfetchexclude = *\n\tskipdownloaderrors = true\n';
    await writeFile(join(path, '.lfsconfig'), said);
    await writeFile(join(path, 'a.bin'), two);
    const { head } = await scene.workspaces.checkpoint(spec, 'Redirect it\n');
    const tree = await scene.workspaces.export(head.sha, 'test');
    expect(await readFile(join(tree.path, 'a.bin'))).toEqual(two);
    await tree.dispose();
    await rm(join(path, '.lfsconfig'));
    await symlink('/dev/zero', join(path, '.lfsconfig'));
    await expect(scene.workspaces.checkpoint(spec, 'Hang it\n')).rejects.toThrow(/not a plain file/);
  });

  it('fetches what is missing once, as the operator would, and says what is not to be had', async () => {
    const up = await mkdtemp(join(tmpdir(), 'forge-up-'));
    git(['init', '-q', '--bare', up]);
    git(['remote', 'add', 'origin', `file://${up}`]);
    await cp(join(scene.repo, '.git', 'lfs'), join(up, 'lfs'), { recursive: true });
    await rm(store(), { recursive: true });
    await scene.workspaces.prepare(spec);
    expect(await inWorkspace()).toEqual(one);

    await rm(store(), { recursive: true });
    await rm(up, { recursive: true });
    await expect(scene.workspaces.export(spec.baseSha, 'test')).rejects.toThrow(
      /could not be fetched from origin/,
    );
  });

  describe('inside a submodule', () => {
    let lib: string;
    const commitIn = async (repo: string, content: Buffer) => {
      await writeFile(join(repo, 'a.bin'), content);
      git(['add', '.'], repo);
      git(['commit', '-q', '-m', 'Say it'], repo);
      return git(['rev-parse', 'HEAD'], repo);
    };

    beforeEach(async () => {
      lib = join(scene.dir, 'lib');
      git(['init', '-q', '-b', 'main', lib], scene.dir);
      git(['lfs', 'install', '--local'], lib);
      await writeFile(join(lib, '.gitattributes'), '*.bin filter=lfs diff=lfs merge=lfs -text\n');
      await commitIn(lib, one);
      const online = ['-c', 'protocol.file.allow=always'];
      git([...online, 'submodule', '--quiet', 'add', `file://${lib}`, 'lib']);
      git(['lfs', 'install', '--local'], join(scene.repo, 'lib'));
      git(['lfs', 'fetch', 'origin', 'main'], join(scene.repo, 'lib'));
      git(['commit', '-q', '-m', 'Use the library']);
      scene.workspaces = await scene.reopen();
      spec = { ...scene.spec, baseSha: git(['rev-parse', 'main']) };
    });

    it('has the real content, and git there says that nothing is modified', async () => {
      const tree = await scene.workspaces.export(spec.baseSha, 'test');
      const file = join(tree.path, 'lib', 'a.bin');
      expect(await readFile(file)).toEqual(one);
      // Looked at again, as git does with a file as young as its index.
      await utimes(file, 1, 1);
      expect(git(['status', '--porcelain'], join(tree.path, 'lib'))).toBe('');
      expect(git(['status', '--porcelain'], tree.path)).toBe('');
      await tree.dispose();
    });

    it('fetches what is missing once, and says what is not to be had, and where', async () => {
      const newer = await commitIn(lib, two);
      git(['update-index', '--cacheinfo', `160000,${newer},lib`]);
      git(['commit', '-q', '-m', 'Use the newer library']);
      const tree = await scene.workspaces.export('main', 'test');
      expect(await readFile(join(tree.path, 'lib', 'a.bin'))).toEqual(two);
      await tree.dispose();

      const newest = await commitIn(lib, randomBytes(10_000));
      git(['update-index', '--cacheinfo', `160000,${newest},lib`]);
      git(['commit', '-q', '-m', 'Use the newest library']);
      await rm(join(lib, '.git', 'lfs'), { recursive: true });
      const failed = await scene.workspaces.export('main', 'test').catch((error) => error);
      expect(failed).toBeInstanceOf(FetchFailed);
      expect(failed.hint).toBe(`Fetch them with: git -C lib lfs fetch origin ${newest}`);
    });
  });

  it('runs no other command under the name lfs', async () => {
    const trap = join(scene.dir, 'trap');
    await writeFile(trap, `#!/bin/sh\ntouch ${JSON.stringify(`${trap}.sprung`)}\ncat\n`);
    await chmod(trap, 0o755);
    git(['config', 'filter.lfs.clean', `"${trap}"`]);
    expect((await openGit(scene.repo)).lfs).toBe(false);
  });
});
