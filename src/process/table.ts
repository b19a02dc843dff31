/**
 * What the kernel says about processes: who lives, since when, in which group.
 *
 * A pid alone names nobody, because pids are used again; pid, start time and boot id together do. Zombies count as
 * dead: nothing of them runs, and whoever should reap them may never do so.
 *
 * Linux answers from /proc. Elsewhere `ps` does, and marks can't be read, so only process groups are found there.
 */
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { uptime } from 'node:os';
import type { BootClock } from '../core/lease.ts';

export interface LiveProcess {
  pid: number;
  group: number;
  session: number | null;
  startTime: string;
}

const onLinux = process.platform === 'linux';

/** Without the kernel's own threads, which are often more than all others. */
export function liveProcesses(): LiveProcess[] {
  if (!onLinux) return ps('-axo', 'pid=,pgid=,stat=,lstart=');
  const kernel = kernelThreads();
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && !kernel.has(name))
    .map((name) => fromProc(Number(name)))
    .filter((live) => live !== null);
}

/** Null when there is no such process, or only what is left of one. */
export function processAt(pid: number): LiveProcess | null {
  return onLinux ? fromProc(pid) : (ps('-o', 'pid=,pgid=,stat=,lstart=', '-p', String(pid))[0] ?? null);
}

/** When a recorded process was started, by the clock on the wall; null after a reboot, or where that can't be told. */
export function startOf({ startTime, bootId: boot }: { startTime: string; bootId: string }): number | null {
  if (boot !== bootId()) return null;
  // Linux counts hundredths of a second since the machine started; `ps` says a date.
  const at = onLinux ? Date.now() - (uptime() * 1000 - Number(startTime) * 10) : Date.parse(startTime);
  return Number.isNaN(at) ? null : Math.round(at);
}

/** Whether a process was started with this entry in its environment; false when it belongs to somebody else. */
export function wasGiven(pid: number, entry: string): boolean {
  const environ = onLinux ? read(`/proc/${pid}/environ`) : null;
  return environ !== null && `\0${environ}\0`.includes(`\0${entry}\0`);
}

/** The values that others were started with for this variable. */
export function given(name: string): Set<string> {
  const others = onLinux ? liveProcesses().filter(({ pid }) => pid !== process.pid) : [];
  const entries = others.flatMap(({ pid }) => read(`/proc/${pid}/environ`)?.split('\0') ?? []);
  const prefix = `${name}=`;
  return new Set(
    entries.filter((entry) => entry.startsWith(prefix)).map((entry) => entry.slice(prefix.length)),
  );
}

/** Whether anybody else works in a folder, or was started with its name in the environment. Only Linux can tell. */
export function isInhabited(folder: string): boolean {
  const below = `${folder}/`;
  return (
    onLinux &&
    liveProcesses().some(({ pid }) => {
      if (pid === process.pid) return false;
      return (
        `${linkAt(`/proc/${pid}/cwd`)}/`.startsWith(below) || read(`/proc/${pid}/environ`)?.includes(below)
      );
    })
  );
}

function linkAt(path: string): string | null {
  try {
    return readlinkSync(path);
  } catch {
    return null;
  }
}

/** Changes with every start of the machine, and therefore never while we run. */
export function bootId(): string {
  boot ??= readBootId();
  return boot;
}

let boot: string | null = null;

/**
 * The kernel's own, which nobody sets. On Linux not the time since its start that /proc shows, because some containers
 * are shown one of their own under the same boot id; a container whose clock itself differs has a name of its own for it.
 */
export const bootClock: BootClock = {
  get id() {
    clockId ??= onLinux ? `${bootId()} ${linkAt('/proc/self/ns/time') ?? 'monotonic'}` : bootId();
    return clockId;
  },
  now: () => (onLinux ? Number(process.hrtime.bigint() / 1_000_000n) : Math.round(uptime() * 1000)),
};

let clockId: string | null = null;

function readBootId(): string {
  if (onLinux) return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  const said = execFileSync('sysctl', ['-n', 'kern.boottime'], { encoding: 'utf8' });
  return /sec = (\d+)/.exec(said)?.[1] ?? said.trim();
}

function fromProc(pid: number): LiveProcess | null {
  const stat = read(`/proc/${pid}/stat`);
  if (stat === null) return null;
  // The command's name stands in parentheses and may hold anything, also spaces and parentheses.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [state, , group, session] = fields;
  if (state === 'Z' || state === 'X') return null;
  return { pid, group: Number(group), session: Number(session), startTime: fields[19] ?? '' };
}

/** The children of kthreadd, where it can be seen; in a container the second process is anybody. */
function kernelThreads(): ReadonlySet<string> {
  seesKernel ??= isKernelThread(2);
  const children = seesKernel ? read('/proc/2/task/2/children') : null;
  return new Set(children?.trim().split(' '));
}

let seesKernel: boolean | null = null;
const PF_KTHREAD = 0x200000;

function isKernelThread(pid: number): boolean {
  const stat = read(`/proc/${pid}/stat`) ?? '';
  return (Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[6]) & PF_KTHREAD) !== 0;
}

function ps(...args: string[]): LiveProcess[] {
  const lines = listing(args).split('\n');
  return lines.flatMap((line) => {
    const [, pid, group, state, startTime] = /^\s*(\d+)\s+(\d+)\s+(\S+)\s+(.+?)\s*$/.exec(line) ?? [];
    if (!pid || !startTime || state?.startsWith('Z')) return [];
    return [{ pid: Number(pid), group: Number(group), session: null, startTime }];
  });
}

/** `ps` exits with 1 when it found nobody. */
function listing(args: string[]): string {
  try {
    return execFileSync('ps', args, { encoding: 'utf8', env: { ...process.env, LC_ALL: 'C', TZ: 'UTC' } });
  } catch {
    return '';
  }
}

/** Null when the process went away meanwhile or is not ours to look at. */
function read(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}
