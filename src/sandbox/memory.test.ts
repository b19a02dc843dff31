import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { memoryLimits } from './memory.ts';

let root = '';
const path = process.env.PATH;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'forge-memory-'));
});
afterEach(() => {
  process.env.PATH = path;
  rmSync(root, { recursive: true, force: true });
});

const MEBIBYTE = 1024 ** 2;

/** As the kernel would say it, of folders that are none of its own. */
function kernelSays(mount: string, own: string): string {
  writeFileSync(join(root, 'mountinfo'), `29 23 0:26 / ${mount} rw,nosuid shared:4 - cgroup2 cgroup2 rw\n`);
  writeFileSync(join(root, 'cgroup'), `0::${own}\n`);
  return root;
}

test('what is started in a cgroup of its own ends when it takes more than it may', async ({ skip }) => {
  const limits = memoryLimits();
  const unlimited = await limits.unlimited();
  if (unlimited?.what === 'memory and processes') {
    console.warn(`SKIPPED: a limit on memory: ${unlimited.why}.`);
    skip();
  }
  const greedy = [process.execPath, '-e', 'const all = []; for (;;) all.push(Buffer.alloc(8e6, 1));'];
  const { argv, dispose } = (await limits.limit())(greedy, `${process.pid}-test`, {
    bytes: 256 * MEBIBYTE,
    processes: 99,
  });
  const [program = '', ...args] = argv;
  expect(spawnSync(program, args)).toMatchObject({ signal: 'SIGKILL' });
  await dispose();
  const [folder] = argv.filter((word) => word.endsWith(`forge-loop-${process.pid}-test`));
  if (folder !== undefined) expect(existsSync(folder)).toBe(false);
});

test('in the second version a cgroup is made beside our own, where memory is shared out', async () => {
  const mount = join(root, 'mounted');
  const slice = join(mount, 'user.slice/app.slice');
  mkdirSync(join(slice, 'loop.service'), { recursive: true });
  for (const folder of [mount, slice])
    writeFileSync(join(folder, 'cgroup.subtree_control'), 'cpu memory pids\n');
  const limits = memoryLimits(kernelSays(mount, '/user.slice/app.slice/loop.service'));
  expect(await limits.unlimited()).toBeNull();
  const { argv } = (await limits.limit())(['echo', 'started'], '7-x', { bytes: 5 * MEBIBYTE, processes: 99 });
  const [program = '', ...args] = argv;
  expect(execFileSync(program, args, { encoding: 'utf8' })).toBe('started\n');
  expect(readFileSync(join(slice, 'forge-loop-7-x/memory.max'), 'utf8')).toBe(String(5 * MEBIBYTE));
  expect(readFileSync(join(slice, 'forge-loop-7-x/cgroup.procs'), 'utf8')).toMatch(/^\d+\n$/);
});

/** Beside our own, in the second version, with memory shared out but not numbers of processes. */
function onlyMemoryHere(): ReturnType<typeof memoryLimits> {
  const mount = join(root, 'mounted');
  mkdirSync(join(mount, 'app.slice/loop.service'), { recursive: true });
  writeFileSync(join(mount, 'app.slice/cgroup.subtree_control'), 'cpu memory\n');
  return memoryLimits(kernelSays(mount, '/app.slice/loop.service'));
}

test('where only memory can be limited it is, and that processes are not counted is said', async () => {
  process.env.PATH = root;
  const limits = onlyMemoryHere();
  expect(await limits.unlimited()).toEqual({
    what: 'processes',
    why: 'this user has no cgroup in which they are counted',
  });
  const { argv } = (await limits.limit())(['/bin/echo'], '7-x', { bytes: 5 * MEBIBYTE, processes: 99 });
  expect(argv).toContain(join(root, 'mounted/app.slice/forge-loop-7-x'));
});

test('where only memory can be limited here, systemd is asked for both', async () => {
  const program = join(root, 'systemd-run');
  writeFileSync(program, '#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done\nshift\nexec "$@"\n', {
    mode: 0o755,
  });
  process.env.PATH = `${root}:${path}`;
  const limits = onlyMemoryHere();
  expect(await limits.unlimited()).toBeNull();
  const { argv } = (await limits.limit())(['/bin/echo'], '7-x', { bytes: 5 * MEBIBYTE, processes: 99 });
  expect(argv).toContain(program);
});

test('in the first version processes are counted below another cgroup, or it is said that they are not', async () => {
  process.env.PATH = root;
  for (const name of ['memory', 'pids']) mkdirSync(join(root, name, 'own'), { recursive: true });
  const mountOf = (name: string): string => `3 2 0:3 / ${join(root, name)} rw - cgroup cgroup rw,${name}\n`;
  writeFileSync(join(root, 'cgroup'), '8:pids:/own\n4:memory:/own\n');
  writeFileSync(join(root, 'mountinfo'), mountOf('memory') + mountOf('pids'));
  expect(await memoryLimits(root).unlimited()).toBeNull();
  writeFileSync(join(root, 'mountinfo'), mountOf('memory'));
  expect(await memoryLimits(root).unlimited()).toMatchObject({ what: 'processes' });
});

test('without one systemd is asked, and the command is told nothing of it', async () => {
  const program = join(root, 'systemd-run');
  writeFileSync(
    program,
    `#!/bin/sh\nprintf '%s\\n' "$XDG_RUNTIME_DIR" "$@" >>'${root}/asked'\nwhile [ "$1" != -- ]; do shift; done\nshift\nexec "$@"\n`,
    { mode: 0o755 },
  );
  process.env.PATH = `${root}:${path}`;
  const before = process.env.XDG_RUNTIME_DIR;
  process.env.XDG_RUNTIME_DIR = '/run/user/7';
  try {
    const limits = memoryLimits('/nonexistent');
    expect(await limits.unlimited()).toBeNull();
    const { argv } = (await limits.limit())(['/usr/bin/env'], '7-x', { bytes: 5 * MEBIBYTE, processes: 99 });
    const [first = '', ...args] = argv;
    expect(execFileSync(first, args, { encoding: 'utf8', env: { ODD: 'kept' } })).toMatch(/^ODD=kept$/m);
    expect(execFileSync(first, args, { encoding: 'utf8', env: {} })).not.toMatch('XDG_RUNTIME_DIR');
    const asked = readFileSync(join(root, 'asked'), 'utf8').split('\n');
    expect(asked).toEqual(
      expect.arrayContaining(['/run/user/7', '--scope', `MemoryMax=${5 * MEBIBYTE}`, 'TasksMax=99']),
    );
    expect(asked.includes('--user')).toBe(process.getuid?.() !== 0);
  } finally {
    if (before === undefined) delete process.env.XDG_RUNTIME_DIR;
    else process.env.XDG_RUNTIME_DIR = before;
  }
});

test('where neither works nothing is limited, and why is said', async () => {
  writeFileSync(join(root, 'systemd-run'), '#!/bin/sh\necho no bus here >&2; exit 1\n', { mode: 0o755 });
  process.env.PATH = `${root}:${path}`;
  const limits = memoryLimits('/nonexistent');
  expect(await limits.unlimited()).toEqual({
    what: 'memory and processes',
    why: expect.stringMatching(/no cgroup that it may use.*no bus here/),
  });
  expect((await limits.limit())(['true'], '7-x', { bytes: 1, processes: 1 }).argv).toEqual(['true']);
});
