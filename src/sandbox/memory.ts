/**
 * A limit on the memory of a command and all that it starts, and on how many processes that is, where this user can have one: a
 * cgroup of its own, or a scope of systemd. Which of them works is found by trying.
 */
import { existsSync, mkdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { isRunning } from './launch-folder.ts';
import { entriesOf, findProgram, textIn } from './machine.ts';
import { remembered } from './remembered.ts';
import { run } from './run.ts';
import type { Unlimited } from './sandbox.ts';

interface Limited {
  argv: readonly string[];
  /** Whether its processes are counted too. */
  isCounted: boolean;
  dispose(): Promise<void>;
}

interface Most {
  bytes: number;
  /** Threads too. */
  processes: number;
}

/** `name`: of this command alone; it begins with the number of this process. */
type Limit = (argv: readonly string[], name: string, most: Most) => Limited;

export interface MemoryLimits {
  /** What works here; where nothing does, it changes nothing. */
  limit(): Promise<Limit>;
  /** Null when everything is limited. */
  unlimited(): Promise<Unlimited | null>;
}

/** `proc`: where the kernel says what this process belongs to. */
export function memoryLimits(proc = '/proc/self'): MemoryLimits {
  const found = remembered(
    () => firstThatWorks([...cgroups(proc), ...scopes()]),
    ({ unlimited }) => unlimited?.what !== 'memory and processes',
  );
  return {
    limit: async () => (await found()).limit,
    unlimited: async () => (await found()).unlimited,
  };
}

const noLimit: Limit = (argv) => ({ argv, isCounted: false, dispose: async () => {} });

const NOTHING = 'this user has no cgroup that it may use, and no systemd that gives it one';
const UNCOUNTED: Unlimited = {
  what: 'processes',
  why: 'this user has no cgroup in which they are counted',
};
const ENOUGH_TO_START: Most = { bytes: 64 * 1024 ** 2, processes: 64 };
const PATIENCE = { timeoutMs: 20_000, late: 'it took more than twenty seconds' };

interface Found {
  limit: Limit;
  unlimited: Unlimited | null;
}

/** One that limits only memory, if none does more. */
async function firstThatWorks(limits: readonly Limit[]): Promise<Found> {
  const reasons: string[] = [];
  let best: Found | null = null;
  for (const limit of limits) {
    try {
      const trial = `${process.pid}-trial`;
      const { argv, isCounted, dispose } = limit(['/bin/sh', '-c', ':'], trial, ENOUGH_TO_START);
      const { said, code } = await run(argv, { env: {}, cwd: '/', ...PATIENCE }).finally(dispose);
      if (code === 0 && isCounted) return { limit, unlimited: null };
      if (code === 0) best ??= { limit, unlimited: UNCOUNTED };
      else reasons.push(said);
    } catch (error) {
      reasons.push((error as Error).message);
    }
  }
  if (best) return best;
  const why = reasons.length === 0 ? NOTHING : `${NOTHING} (${reasons.join('; ')})`;
  return { limit: noLimit, unlimited: { what: 'memory and processes', why } };
}

type Type = 'cgroup' | 'cgroup2';

/** The first has to be there; the kernel may know nothing of the others. */
const LIMITS: Record<Type, (most: Most) => [file: string, value: number][]> = {
  cgroup: ({ bytes }) => [
    ['memory.limit_in_bytes', bytes],
    ['memory.memsw.limit_in_bytes', bytes],
  ],
  cgroup2: ({ bytes, processes }) => [
    ['memory.max', bytes],
    ['memory.swap.max', 0],
    ['memory.oom.group', 1],
    ['pids.max', processes],
  ],
};

const PREFIX = 'forge-loop-';
const JOIN = 'while [ "$1" != -- ]; do echo $$ >"$1/cgroup.procs" || exit; shift; done; shift; exec "$@"';

function cgroups(proc: string): Limit[] {
  return parents(proc).map(({ type, parent, counts, counting }) => {
    for (const one of [parent, ...counting]) removeAbandoned(one);
    return (argv, name, most) => {
      const counted = counting.flatMap((one) => countingIn(join(one, `${PREFIX}${name}`), most));
      const folders = [made(join(parent, `${PREFIX}${name}`), LIMITS[type](most)), ...counted];
      return {
        argv: ['/bin/sh', '-c', JOIN, 'sh', ...folders, '--', ...argv],
        isCounted: counts || counted.length > 0,
        dispose: async () => void (await Promise.all(folders.map(removed))),
      };
    };
  });
}

function made(folder: string, limits: readonly [file: string, value: number][]): string {
  mkdirSync(folder, { recursive: true });
  for (const [index, [file, value]] of limits.entries())
    if (index === 0 || existsSync(join(folder, file))) writeFileSync(join(folder, file), String(value));
  return folder;
}

/** Who may limit memory may not have been given this as well. */
function countingIn(folder: string, { processes }: Most): string[] {
  try {
    return [made(folder, [['pids.max', processes]])];
  } catch {
    return [];
  }
}

interface Parent {
  type: Type;
  parent: string;
  /** Whether processes are counted in it as well, or else where. */
  counts: boolean;
  counting: string[];
}

/**
 * Where a cgroup for a command may be made. In the first version that is below our own, and below another one where processes are
 * counted. In the second nothing is below a cgroup that
 * has processes, so it is beside our own, or further up, where memory is shared out.
 */
function parents(proc: string): Parent[] {
  const mounts = textIn(join(proc, 'mountinfo'))
    .split('\n')
    .map((line) => /^(?:\S+ ){4}(\S+) .* - (cgroup2?) \S+ (\S+)$/.exec(line));
  const groups = textIn(join(proc, 'cgroup')).split('\n');
  const first = (controller: string): string[] =>
    mounts.flatMap((found) => {
      const [, mount = '', type, options = ''] = found ?? [];
      if (type !== 'cgroup' || !options.split(',').includes(controller)) return [];
      const of = new RegExp(`^\\d+:(?:\\S+,)?${controller}(?:,\\S+)?:(.*)$`);
      const [, own] = groups.map((group) => of.exec(group)).find(Boolean) ?? [];
      return own === undefined ? [] : [join(mount, own)];
    });
  const second = mounts.flatMap((found) => {
    const [, mount = '', type] = found ?? [];
    const [, own] = groups.map((group) => /^0::(.*)$/.exec(group)).find(Boolean) ?? [];
    return type !== 'cgroup2' || own === undefined ? [] : above(join(mount, own), mount);
  });
  const counting = first('pids');
  return [
    ...first('memory').map((parent) => ({ type: 'cgroup' as const, parent, counts: false, counting })),
    ...second.map((parent) => {
      const counts = sharedIn(parent).includes('pids');
      return { type: 'cgroup2' as const, parent, counts, counting };
    }),
  ];
}

function above(own: string, mount: string): string[] {
  const parent = dirname(own);
  if (own === mount || !parent.startsWith(mount)) return [];
  return [...(sharedIn(parent).includes('memory') ? [parent] : []), ...above(parent, mount)];
}

const sharedIn = (parent: string): string[] =>
  textIn(join(parent, 'cgroup.subtree_control')).trim().split(/\s+/);

/** What ended a moment ago may still be in it; it is then taken away when this runner is gone. */
async function removed(folder: string): Promise<void> {
  for (let left = 40; left > 0; left--) {
    try {
      return rmdirSync(folder);
    } catch {
      await delay(25);
    }
  }
}

/** One that is in use can't be removed. */
function removeAbandoned(parent: string): void {
  for (const { name } of entriesOf(parent)) {
    const [, pid] = new RegExp(`^${PREFIX}(\\d+)-`).exec(name) ?? [];
    if (pid === undefined || isRunning(Number(pid))) continue;
    try {
      rmdirSync(join(parent, name));
    } catch {}
  }
}

/** How systemd is found; the command is not told of it. */
const BUS = ['XDG_RUNTIME_DIR', 'DBUS_SESSION_BUS_ADDRESS'];

function scopes(): Limit[] {
  const program = findProgram('systemd-run');
  if (program === null) return [];
  const bus = BUS.flatMap((name) =>
    process.env[name] === undefined ? [] : [`${name}=${process.env[name]}`],
  );
  const whose = process.getuid?.() === 0 ? [] : ['--user'];
  return [
    (argv, _, { bytes, processes }) => ({
      argv: [
        ...['/usr/bin/env', ...bus, program, ...whose, '--scope', '--quiet', '--collect'],
        ...['-p', `MemoryMax=${bytes}`, '-p', 'MemorySwapMax=0', '-p', `TasksMax=${processes}`, '--'],
        ...['/usr/bin/env', ...BUS.flatMap((name) => ['-u', name]), ...argv],
      ],
      isCounted: true,
      dispose: async () => {},
    }),
  ];
}
