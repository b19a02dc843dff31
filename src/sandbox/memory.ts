/**
 * A limit on the memory of a command and all that it starts, where this user can have one: a cgroup of its own, or a scope of
 * systemd. Which of them works is found by trying.
 */
import { existsSync, mkdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { isRunning } from './launch-folder.ts';
import { entriesOf, findProgram, textIn } from './machine.ts';
import { remembered } from './remembered.ts';
import { run } from './run.ts';

interface Limited {
  argv: readonly string[];
  dispose(): Promise<void>;
}

/** `name`: of this command alone; it begins with the number of this process. */
type Limit = (argv: readonly string[], name: string, bytes: number) => Limited;

export interface MemoryLimits {
  /** What works here; where nothing does, it changes nothing. */
  limit(): Promise<Limit>;
  /** Why nothing is limited; null when everything is. */
  unlimited(): Promise<string | null>;
}

/** `proc`: where the kernel says what this process belongs to. */
export function memoryLimits(proc = '/proc/self'): MemoryLimits {
  const found = remembered(
    () => firstThatWorks([...cgroups(proc), ...scopes()]),
    (one) => typeof one !== 'string',
  );
  return {
    async limit() {
      const one = await found();
      return typeof one === 'string' ? (argv) => ({ argv, dispose: async () => {} }) : one;
    },
    async unlimited() {
      const one = await found();
      return typeof one === 'string' ? one : null;
    },
  };
}

const NOTHING = 'this user has no cgroup that it may use, and no systemd that gives it one';
const ENOUGH_TO_START = 64 * 1024 ** 2;
const PATIENCE = { timeoutMs: 20_000, late: 'it took more than twenty seconds' };

async function firstThatWorks(limits: readonly Limit[]): Promise<Limit | string> {
  const reasons: string[] = [];
  for (const limit of limits) {
    try {
      const { argv, dispose } = limit(['/bin/sh', '-c', ':'], `${process.pid}-trial`, ENOUGH_TO_START);
      const { said, code } = await run(argv, { env: {}, cwd: '/', ...PATIENCE }).finally(dispose);
      if (code === 0) return limit;
      reasons.push(said);
    } catch (error) {
      reasons.push((error as Error).message);
    }
  }
  return reasons.length === 0 ? NOTHING : `${NOTHING} (${reasons.join('; ')})`;
}

type Type = 'cgroup' | 'cgroup2';

/** The first has to be there; the kernel may know nothing of the others. */
const LIMITS: Record<Type, (bytes: number) => [file: string, value: number][]> = {
  cgroup: (bytes) => [
    ['memory.limit_in_bytes', bytes],
    ['memory.memsw.limit_in_bytes', bytes],
  ],
  cgroup2: (bytes) => [
    ['memory.max', bytes],
    ['memory.swap.max', 0],
    ['memory.oom.group', 1],
  ],
};

const PREFIX = 'forge-loop-';
const JOIN = 'echo $$ >"$1/cgroup.procs" && shift && exec "$@"';

function cgroups(proc: string): Limit[] {
  return parents(proc).map(({ type, parent }) => {
    removeAbandoned(parent);
    return (argv, name, bytes) => {
      const folder = join(parent, `${PREFIX}${name}`);
      mkdirSync(folder, { recursive: true });
      for (const [index, [file, value]] of LIMITS[type](bytes).entries())
        if (index === 0 || existsSync(join(folder, file))) writeFileSync(join(folder, file), String(value));
      return { argv: ['/bin/sh', '-c', JOIN, 'sh', folder, ...argv], dispose: () => removed(folder) };
    };
  });
}

/**
 * Where a cgroup for a command may be made. In the first version that is below our own. In the second nothing is below a cgroup that
 * has processes, so it is beside our own, or further up, where memory is shared out.
 */
function parents(proc: string): { type: Type; parent: string }[] {
  const mounts = textIn(join(proc, 'mountinfo')).split('\n');
  const groups = textIn(join(proc, 'cgroup')).split('\n');
  return mounts.flatMap((line): { type: Type; parent: string }[] => {
    const [, mount = '', type, options = ''] =
      /^(?:\S+ ){4}(\S+) .* - (cgroup2?) \S+ (\S+)$/.exec(line) ?? [];
    if (type === 'cgroup' && options.split(',').includes('memory')) {
      const [, own] =
        groups.map((group) => /^\d+:(?:\S+,)?memory(?:,\S+)?:(.*)$/.exec(group)).find(Boolean) ?? [];
      return own === undefined ? [] : [{ type, parent: join(mount, own) }];
    }
    if (type !== 'cgroup2') return [];
    const [, own] = groups.map((group) => /^0::(.*)$/.exec(group)).find(Boolean) ?? [];
    return own === undefined ? [] : above(join(mount, own), mount).map((parent) => ({ type, parent }));
  });
}

function above(own: string, mount: string): string[] {
  const parent = dirname(own);
  if (own === mount || !parent.startsWith(mount)) return [];
  const isShared = textIn(join(parent, 'cgroup.subtree_control')).split(/\s/).includes('memory');
  return [...(isShared ? [parent] : []), ...above(parent, mount)];
}

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
    (argv, _, bytes) => ({
      argv: [
        ...['/usr/bin/env', ...bus, program, ...whose, '--scope', '--quiet', '--collect'],
        ...['-p', `MemoryMax=${bytes}`, '-p', 'MemorySwapMax=0', '--'],
        ...['/usr/bin/env', ...BUS.flatMap((name) => ['-u', name]), ...argv],
      ],
      dispose: async () => {},
    }),
  ];
}
