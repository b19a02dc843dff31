/** The stand-ins under a real shell, around a real git. */
import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest';
import { accessOf } from '../core/role.ts';
import type { Progress } from './agent.ts';
import { openStandIns } from './stand-ins.ts';

let dir = '';
let workspace = '';
let other = '';
let tools = '';
let told: Progress[] = [];
let standIns: ReturnType<typeof openStandIns>;

const PLAIN = {
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_AUTHOR_NAME: 'Ada',
  GIT_AUTHOR_EMAIL: 'ada@example.com',
  GIT_COMMITTER_NAME: 'Ada',
  GIT_COMMITTER_EMAIL: 'ada@example.com',
};

const commit = ['commit', '-q', '--allow-empty', '-m', 'one'];
const template = mkdtempSync(join(tmpdir(), 'forge-stand-ins-'));
execFileSync('git', ['init', '-q', '--template=', template]);
execFileSync('git', ['-C', template, ...commit], { env: { ...process.env, ...PLAIN } });
afterAll(() => rmSync(template, { recursive: true }));

function repository(path: string): string {
  cpSync(template, path, { recursive: true });
  return path;
}

function turn(cwd: string, session: string) {
  const [home, sessionDir] = [join(dir, 'home'), join(dir, session)];
  return { cwd, sessionDir, home, access: accessOf('coder', { cwd, home, session: sessionDir }) };
}

function open(env: Record<string, string> = {}): void {
  const path = `${tools}${delimiter}${process.env.PATH}`;
  standIns = openStandIns(
    turn(workspace, 'session'),
    { ...PLAIN, PATH: path, HOME: join(dir, 'home'), TMPDIR: dir, ...env },
    (progress) => progress && told.push(progress),
  );
}

beforeEach(() => {
  dir = realpathSync(mkdtempSync(join(tmpdir(), 'forge-stand-ins-')));
  tools = join(dir, 'tools');
  told = [];
  for (const path of [tools, join(dir, 'home')]) mkdirSync(path);
  workspace = repository(join(dir, 'work space'));
  other = repository(join(dir, 'other'));
  open();
});
afterEach(() => {
  standIns.close();
  rmSync(dir, { recursive: true, force: true });
});

const run = (argv: readonly string[], cwd = workspace, env: Record<string, string> = {}) => {
  const [program = '', ...args] = argv;
  const { status, stdout, stderr } = spawnSync(program, args, {
    cwd,
    env: { ...standIns.env, ...env },
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  return { status, stdout, stderr };
};
const shell = (line: string, cwd = workspace, env: Record<string, string> = {}) =>
  run(['/bin/sh', '-c', line], cwd, env);
const program = (path: string, text: string): void => {
  writeFileSync(path, `#!/bin/sh\n${text}\n`);
  chmodSync(path, 0o755);
};
const refused = (): string[] => {
  standIns.close();
  return told.flatMap((one) => (one.kind === 'refused' ? [one.detail] : []));
};

describe('in the workspace', () => {
  test.each([
    ['git push', 'git push'],
    ['git push --force origin HEAD:main', 'git push --force origin HEAD:main'],
    ['cd sub && git -C .. push', 'git -C .. push'],
    ['git -c user.name=x push -f', 'git -c user.name=x push -f'],
    ['git --git-dir .git push', 'git --git-dir .git push'],
    ['git --no-pager --git-dir=.git --work-tree . push', 'git --no-pager --git-dir=.git --work-tree . push'],
    ["sh -c 'git push origin main'", 'git push origin main'],
    ['env git push', 'git push'],
    ['xargs git push </dev/null', 'git push'],
    ['git -c alias.x=push x origin', 'git -c alias.x=push x origin'],
    ["git -c alias.x='!git push' x", 'git -c alias.x=!git push x'],
    ["git -c alias.x='remote add' x o u", 'git -c alias.x=remote add x o u'],
    ['git remote add origin https://example.com/x', 'git remote add origin https://example.com/x'],
    ['git remote -v set-url origin x', 'git remote -v set-url origin x'],
    ['git remote rm origin', 'git remote rm origin'],
    ['git filter-branch --all', 'git filter-branch --all'],
    ['git update-ref refs/heads/x HEAD', 'git update-ref refs/heads/x HEAD'],
    ['git replace HEAD HEAD', 'git replace HEAD HEAD'],
    ['git lfs push origin', 'git lfs push origin'],
    ['git request-pull HEAD .', 'git request-pull HEAD .'],
    ['gh pr create --fill', 'gh pr create --fill'],
    ['glab mr list', 'glab mr list'],
    ['hub sync', 'hub sync'],
    ['forge-loop run', 'forge-loop run'],
    ['npx forge-loop run', 'npx forge-loop run'],
    ['npx -y --package x forge-loop@latest run', 'npx -y --package x forge-loop@latest run'],
  ])('%s is refused, and said', (line, detail) => {
    mkdirSync(join(workspace, 'sub'));
    const { status, stderr } = shell(line);
    // xargs has an exit code of its own.
    expect(status).toBe(line.startsWith('xargs') ? 123 : 1);
    expect(stderr).toMatch(/^forge-loop refused this command: .*(do not|not for you).*\n$/);
    expect(refused()).toEqual([detail]);
  });

  test.each([
    'git status',
    'git remote',
    'git remote -v && echo ok',
    'git remote show',
    'git commit --allow-empty -m "do not git push"',
    "git commit --allow-empty -m 'push'",
    'git log --oneline',
    'git stash list',
    'git diff HEAD -- push.ts',
    'git -c push.default=current -c alias.x=push -c alias.st=status st',
    'git config push.default current',
    'git branch push',
    'git --version',
    'echo git push is refused',
    'echo "gh pr create"',
    'npx vitest forge-loop',
  ])('%s is not', (line) => {
    program(join(tools, 'npx'), 'exit 0');
    expect(shell(line)).toMatchObject({ status: 0, stderr: '' });
    expect(refused()).toEqual([]);
  });

  test('what is refused does not keep the rest of its line from running', () => {
    expect(shell('git push; git remote -v && echo ok')).toMatchObject({ status: 0, stdout: 'ok\n' });
    expect(refused()).toEqual(['git push']);
  });

  test('and in a worktree or a submodule of it', () => {
    const tree = join(dir, 'tree');
    execFileSync('git', ['-C', workspace, 'worktree', 'add', '-q', tree]);
    expect(shell('git push', tree)).toMatchObject({ status: 1 });
    execFileSync('git', [
      '-C',
      workspace,
      '-c',
      'protocol.file.allow=always',
      'submodule',
      '--quiet',
      'add',
      other,
      'module',
    ]);
    expect(shell('git push', join(workspace, 'module'))).toMatchObject({ status: 1 });
    expect(refused()).toEqual(['git push', 'git push']);
  });

  test('each refusal is one, whatever is in its words', () => {
    shell("git push 'a\nb\tc' \"it's\"; gh api");
    expect(refused()).toEqual(["git push a\nb\tc it's", 'gh api']);
    expect(told[0]).toMatchObject({
      kind: 'refused',
      code: 'publish',
      tool: 'shell',
      why: expect.stringContaining('do not push'),
    });
  });
});

describe('another repository, as a test makes one,', () => {
  beforeEach(() => {
    execFileSync('git', ['init', '-q', '--bare', join(dir, 'bare.git')]);
  });

  test.each([
    ['by the folder', 'git remote add origin ../bare.git && git push -q origin HEAD:main', () => other],
    ['by its options', 'git -C ../other push -q ../bare.git HEAD:main', () => workspace],
    ['by the environment', 'GIT_DIR=../other/.git git push -q ../bare.git HEAD:main', () => workspace],
    [
      'with nothing else in the environment',
      'env -i PATH="$PATH" git -C ../other push -q ../bare.git HEAD:main',
      () => workspace,
    ],
  ])('named %s, may be pushed from', (_, line, cwd) => {
    expect(shell(line, cwd())).toMatchObject({ status: 0 });
    expect(execFileSync('git', ['-C', join(dir, 'bare.git'), 'branch'], { encoding: 'utf8' })).toContain(
      'main',
    );
    expect(refused()).toEqual([]);
  });

  test('may be in the workspace', () => {
    repository(join(workspace, 'fixture'));
    expect(shell('git push -q ../../bare.git HEAD:main', join(workspace, 'fixture'))).toMatchObject({
      status: 0,
    });
    expect(refused()).toEqual([]);
  });

  test('may not, where it is none that the agent made', () => {
    standIns.close();
    open({ TMPDIR: join(dir, 'home') });
    expect(shell('git push -q ../bare.git HEAD:main', other)).toMatchObject({ status: 1 });
    expect(shell('git -C ../other log -1 --format=%s')).toMatchObject({ status: 0, stdout: 'one\n' });
    expect(refused()).toEqual(['git push -q ../bare.git HEAD:main']);
  });

  test('where there is none, git says so itself', () => {
    const { status, stderr } = shell('git push', dir);
    expect([status, stderr]).toEqual([128, expect.stringContaining('not a git repository')]);
    expect(refused()).toEqual([]);
  });
});

describe('the program itself', () => {
  test('gets every word as it was, and its exit is passed on', () => {
    program(join(tools, 'git'), 'printf "[%s]" "$0" "$@"; exit 42');
    const { status, stdout } = run([join(dir, 'session-stand-ins/bin/git'), 'log', '', 'a b', '*', '$x']);
    expect([status, stdout]).toEqual([42, `[${join(tools, 'git')}][log][][a b][*][$x]`]);
  });

  test('is looked for behind the stand-ins: a project’s own that come before are run first', () => {
    const own = join(dir, 'own');
    mkdirSync(own);
    for (const name of ['gh', 'git']) program(join(own, name), 'echo stub');
    const PATH = `${own}${delimiter}${standIns.env.PATH}`;
    expect(shell('gh pr create; git push', workspace, { PATH }).stdout).toBe('stub\nstub\n');
    expect(refused()).toEqual([]);
  });

  test('is found once, however often stand-ins are in the PATH and whoever else’s', () => {
    const mine = join(dir, 'session-stand-ins/bin');
    const link = join(dir, 'link');
    symlinkSync(mine, link);
    const theirs = openStandIns(turn(other, 'theirs'), standIns.env, () => {});
    const PATH = [mine, join(dir, 'theirs-stand-ins/bin'), link, theirs.env.PATH].join(delimiter);
    expect(shell('git rev-parse --is-inside-work-tree', workspace, { PATH })).toMatchObject({
      stdout: 'true\n',
    });
    theirs.close();
  });

  test('is missed in the shell’s words where there is none', () => {
    const PATH = join(dir, 'session-stand-ins/bin');
    expect(shell('git log', workspace, { PATH })).toMatchObject({
      status: 127,
      stderr: expect.stringContaining('not found'),
    });
  });
});

describe('a login shell', () => {
  const profile = (name: string, text: string) => writeFileSync(join(dir, 'home', name), text);
  const SHELLS = ['bash', 'dash', 'zsh', 'busybox'].filter(
    (name) => spawnSync(name, ['-c', ':']).error === undefined,
  );

  test.each(SHELLS)('of %s finds them first', (name) => {
    const argv = [...(name === 'busybox' ? ['busybox', 'sh'] : [name]), '-lc', 'command -v git; git push'];
    const { stdout, status } = run(argv);
    expect([stdout, status]).toEqual([`${join(dir, 'session-stand-ins/bin/git')}\n`, 1]);
    expect(refused()).toEqual(['git push']);
  });

  test('of bash finds them first, whatever its home says and whoever’s it is', () => {
    profile('.bash_profile', 'PATH=/usr/bin:/bin; FROM_PROFILE=yes');
    open({ HOME: join(dir, 'home') });
    const { stdout } = run(['bash', '-lc', 'command -v git; echo $FROM_PROFILE']);
    expect(stdout).toBe(`${join(dir, 'session-stand-ins/bin/git')}\nyes\n`);
  });

  test('of sh whose profile puts others before them finds them first, once', () => {
    const bin = join(dir, 'session-stand-ins/bin');
    const tail = (text: string) => text.trim().split('\n').at(-1);
    for (const before of ['/a:/b', `/a:${bin}:/b`, `/a:${bin}`, `${bin}:/a`]) {
      const text = readFileSync(join(dir, 'home/.profile'), 'utf8');
      const { stdout } = run(['/bin/sh', '-c', `PATH='${before}'\n${text}\necho "$PATH"`]);
      expect(tail(stdout)).toBe([bin, ...before.split(':').filter((one) => one !== bin)].join(':'));
    }
  });

  test('what the operator set for bash is read before', () => {
    const theirs = join(dir, 'theirs.sh');
    writeFileSync(theirs, 'THEIRS=yes');
    standIns.close();
    open({ BASH_ENV: theirs });
    expect(run(['bash', '-c', 'echo $THEIRS']).stdout).toBe('yes\n');
  });

  test('a profile that is there is kept, one of an earlier turn is not, and none is written through', () => {
    standIns.close();
    expect(readFileSync(join(dir, 'home/.profile'), 'utf8')).toContain('session-stand-ins');
    symlinkSync(join(dir, 'elsewhere'), join(dir, 'home/link'));
    rmSync(join(dir, 'home/.zprofile'));
    symlinkSync(join(dir, 'elsewhere'), join(dir, 'home/.zprofile'));
    open();
    expect(existsSync(join(dir, 'elsewhere'))).toBe(false);
    profile('.profile', 'PATH=/mine');
    standIns.close();
    open();
    expect(readFileSync(join(dir, 'home/.profile'), 'utf8')).toBe('PATH=/mine');
  });

  test('the operator’s own home is left alone', () => {
    standIns.close();
    rmSync(join(dir, 'home'), { recursive: true });
    mkdirSync(join(dir, 'home'));
    mkdirSync(join(dir, 'operator'));
    open({ HOME: join(dir, 'operator') });
    for (const home of ['home', 'operator']) expect(existsSync(join(dir, home, '.profile'))).toBe(false);
  });
});

describe('the notes', () => {
  test('are read as a stranger’s: of what is no refusal of ours nothing is told', () => {
    const notes = join(standIns.writeRoot, 'refused');
    writeFileSync(notes, 'sudo rm -rf /\0toString x\0forge gh api\0publish half');
    expect(refused()).toEqual(['gh api']);
    open();
    symlinkSync('/etc/passwd', notes);
    expect(refused()).toEqual(['gh api']);
  });

  test('that can not be written refuse all the same', () => {
    rmSync(standIns.writeRoot, { recursive: true });
    expect(shell('git push')).toMatchObject({
      status: 1,
      stderr: expect.stringMatching(/^forge-loop refused[^\n]*\n$/),
    });
  });

  test('go with the folder when the turn is over', () => {
    standIns.close();
    expect(existsSync(join(dir, 'session-stand-ins'))).toBe(false);
  });
});
