/**
 * What would take the whole machine: processes, memory, files. Each goes off inside, under limits that are made small for it and
 * with a hard end from outside; meanwhile and afterwards the machine is as it was.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { type Access, type SandboxKind, sandboxName } from '../../src/core/role.ts';
import { bwrap } from '../../src/sandbox/bwrap.ts';
import { containers } from '../../src/sandbox/container.ts';
import type { Sandbox, Unlimited } from '../../src/sandbox/sandbox.ts';
import {
  type ContainerEngine,
  IMAGE,
  openEngine,
  skippedWithoutEngine,
} from '../support/container-engine.ts';

const MEBIBYTE = 1024 ** 2;
const LEAST = { memoryBytes: 256 * MEBIBYTE, processes: 200 };
const AT_MOST_MS = 20_000;
const [TIMER_CREATE, MQ_OPEN, MQ_UNLINK] = process.arch === 'arm64' ? [107, 180, 181] : [222, 240, 241];

const missing = spawnSync('bwrap', ['--version']).status !== 0;
if (missing) console.warn('SKIPPED: bombs under bubblewrap. Install the package bubblewrap to run them.');

let root = '';
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'forge-bomb-')));
  for (const folder of ['workspace', 'home']) mkdirSync(join(root, folder));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const options = () => ({
  folder: join(root, 'sandbox'),
  objects: () => [],
  hidden: [],
  programs: [process.execPath],
  writable: () => [],
  never: null,
  ...LEAST,
});

/** Where bombs go off. */
interface Place {
  kind: SandboxKind;
  confine: Sandbox['confine'];
  unlimited(): Promise<Unlimited | null>;
  /** The first process of what was started so, once there is one: a container's is nobody's child. */
  first(child: ChildProcess): number | null;
}

const byBwrap = (): Place => ({
  kind: 'bwrap',
  confine: (command, access) => bwrap(options()).confine(command, access),
  unlimited: () => bwrap(options()).unlimited(),
  first: ({ pid }) => pid ?? null,
});

const inContainer = (engine: ContainerEngine): Place => ({
  kind: { image: IMAGE },
  confine: (command, access) => containers(options()).confine(command, access, IMAGE),
  unlimited: () => containers(options()).unlimited(IMAGE),
  first() {
    const [name] = engine.podman('ps', '--quiet').split('\n');
    return name ? Number(engine.podman('inspect', '--format', '{{.State.Pid}}', name)) || null : null;
  },
});

interface Bomb {
  child: ChildProcess;
  /** What it said, once it has ended. */
  ended: Promise<string>;
}

async function lit(place: Place, script: string, during?: (bomb: Bomb) => Promise<void>): Promise<string> {
  const access: Access = {
    readRoots: [],
    writeRoots: [join(root, 'workspace'), join(root, 'home')],
    network: 'none',
    tools: 'work',
    sandbox: place.kind,
  };
  const env = { PATH: `${dirname(process.execPath)}:/usr/bin:/bin`, HOME: join(root, 'home') };
  const cwd = join(root, 'workspace');
  const confined = await place.confine({ argv: ['/bin/sh', '-c', script], env, cwd }, access);
  const [program = '', ...args] = confined.argv;
  const child = spawn(program, args, {
    env: confined.env,
    cwd: confined.cwd,
    stdio: ['ignore', 'pipe', 'ignore'],
    timeout: AT_MOST_MS,
    killSignal: 'SIGKILL',
  });
  let said = '';
  child.stdout.on('data', (chunk) => {
    said = (said + chunk).slice(-10_000);
  });
  const ended = once(child, 'close').then(() => said);
  try {
    if (!during) return await ended;
    await during({ child, ended });
    child.kill('SIGKILL');
    await confined.dispose();
    return await ended;
  } finally {
    child.kill('SIGKILL');
    await ended;
    await confined.dispose();
  }
}

interface Running {
  pid: number;
  parent: number;
  threads: number;
  /** A number may be given again. */
  startedAt: number;
}

/** Null when it has ended; whoever is still to be told of that does not count. */
function running(pid: number): Running | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const [state = '', ...numbers] = text.slice(text.lastIndexOf(')') + 2).split(' ');
    if (state === 'Z' || state === 'X') return null;
    return {
      pid,
      parent: Number(numbers[0]),
      threads: Number(numbers[16]),
      startedAt: Number(numbers[18]),
    };
  } catch {
    return null;
  }
}

function descendants(of: number): Running[] {
  const all = new Map(
    readdirSync('/proc').flatMap((name) => {
      const found = /^\d+$/.test(name) ? running(Number(name)) : null;
      return found ? [[found.pid, found] as const] : [];
    }),
  );
  const isBelow = ({ parent }: Running): boolean => {
    const above = all.get(parent);
    return parent === of || (above !== undefined && isBelow(above));
  };
  return [...all.values()].filter(isBelow);
}

const worksHere = (): boolean => spawnSync('/bin/true', { timeout: AT_MOST_MS }).status === 0;

// It needs bubblewrap, which CI installs.
describe.skipIf(missing)('under bubblewrap', () => {
  goOffHarmlessly(byBwrap);

  test('no file of its own grows beyond its limit, nor a place in memory', async () => {
    const said = await lit(
      byBwrap(),
      'truncate -s 17G big; fallocate -l 17G bigger; for f in /tmp /var/tmp /run /dev/shm; do fallocate -l 900G $f/x && echo SURVIVED; done',
    );
    expect(said).not.toContain('SURVIVED');
    for (const name of ['big', 'bigger'])
      expect(statSync(join(root, 'workspace', name), { throwIfNoEntry: false })?.size ?? 0).toBe(0);
  });

  test.each([
    [
      'timers',
      `my $id = "\\0" x 8; $n++ while $n < $most && syscall(${TIMER_CREATE}, 1, 0, $id) >= 0`,
      10_000,
    ],
    [
      'message queues',
      `my $as = pack "q8", 0, 10, 8192; $n++ while $n < $most && syscall(${MQ_OPEN}, "$$-$n", 0102, 0600, $as) >= 0 && syscall(${MQ_UNLINK}, "$$-$n") >= 0`,
      3,
    ],
  ])('who takes all the %s there are leaves enough to the others of its user', async (_, take, enough) => {
    const taking = (most: number): string => `my $n = 0; my $most = ${most}; ${take}; print "$n\\n";`;
    const hold = 'open my $f, ">", "full"; print $f $n; close $f; sleep 60';
    await lit(byBwrap(), `exec perl -e '${taking(1_000_000)} ${hold}'`, async () => {
      const full = join(root, 'workspace/full');
      await expect
        .poll(() => existsSync(full) && readFileSync(full, 'utf8') !== '', { timeout: AT_MOST_MS })
        .toBe(true);
      expect(Number(readFileSync(full, 'utf8'))).toBeGreaterThan(0);
      const others = spawnSync('perl', ['-e', taking(enough)], { encoding: 'utf8', timeout: AT_MOST_MS });
      expect(others.stdout).toBe(`${enough}\n`);
    });
  });
});

// It needs podman, which CI installs.
describe.skipIf(skippedWithoutEngine('bombs in containers'))('in a container', () => {
  let engine: ContainerEngine;
  beforeAll(() => {
    engine = openEngine();
    for (const [name, value] of Object.entries(engine.env)) vi.stubEnv(name, value);
  });
  afterAll(() => {
    vi.unstubAllEnvs();
    engine.dispose();
  });

  goOffHarmlessly(() => inContainer(engine));
});

function goOffHarmlessly(place: () => Place): void {
  /** Processes are counted where memory is limited. An ordinary user has a limit on all of their processes besides. */
  beforeEach(async ({ skip }) => {
    const unlimited = await place().unlimited();
    if (unlimited === null) return;
    console.warn(`SKIPPED: bombs under ${sandboxName(place().kind)}: ${unlimited.why}.`);
    skip();
  });

  test.each([
    ['of processes that double', 'b() { b & b & wait; sleep 60; }; b 2>/dev/null'],
    ['of processes by pipes', 'b() { b | b & }; b 2>/dev/null; sleep 60'],
    [
      'of processes that leave their group',
      "perl -MPOSIX -e 'for (;;) { my $p = fork; POSIX::setsid() if defined $p && $p == 0; select undef, undef, undef, 0.1 unless defined $p }'",
    ],
    ['of threads', `mkfifo f; UV_THREADPOOL_SIZE=1000 node -e 'require("fs").readFile("f", () => {})'`],
  ])('a bomb %s stops at its limit, and is gone with its turn', async (_, script) => {
    const seen: Running[] = [];
    let most = 0;
    // On a busy machine it may be over before anybody has looked.
    for (let tries = 0; tries < 5 && most <= 2; tries += 1) {
      rmSync(join(root, 'workspace/lit'), { force: true });
      await lit(place(), `until [ -e lit ]; do sleep 0.05; done; ${script}`, async ({ child, ended }) => {
        const first = await vi.waitFor(
          () => place().first(child) ?? Promise.reject(new Error('not yet')),
          AT_MOST_MS,
        );
        // Not before it can be watched: some are over in a moment.
        writeFileSync(join(root, 'workspace/lit'), '');
        let isOver = false;
        void ended.then(() => {
          isOver = true;
        });
        for (let look = 0; (look < 40 || most <= 2) && !isOver; look += 1) {
          const now = descendants(first);
          most = Math.max(
            most,
            now.reduce((sum, { threads }) => sum + threads, 0),
          );
          seen.push(...now);
          expect(worksHere()).toBe(true);
          // Its end is heard only between two looks.
          await setImmediate();
        }
      });
    }
    expect(most).toBeGreaterThan(2);
    expect(most).toBeLessThanOrEqual(LEAST.processes);
    // The kernel kills them with it, and takes a moment to end so many.
    const left = () => seen.filter(({ pid, startedAt }) => running(pid)?.startedAt === startedAt);
    await expect.poll(left, { timeout: AT_MOST_MS }).toEqual([]);
  });

  test.each([
    ['memory', `exec node -e 'const all = []; while (all.length < 100) all.push(Buffer.alloc(8e6, 1))'`],
    [
      'memory, by many',
      `for n in 1 2 3 4 5 6; do perl -e '$x = "x" x 1e8; select undef, undef, undef, 1' || exit & all="$all $!"; done; for n in $all; do wait $n || exit; done`,
    ],
    ...['/tmp', '/var/tmp', '/run', '/dev/shm'].map((place): [string, string] => [
      `files in ${place}`,
      `head -c 1G /dev/zero >${place}/bomb`,
    ]),
  ])('a bomb of %s ends when it takes more than it may', async (_, script) => {
    expect(await lit(place(), `(${script}) && echo SURVIVED`)).not.toContain('SURVIVED');
    expect(worksHere()).toBe(true);
  });
}
