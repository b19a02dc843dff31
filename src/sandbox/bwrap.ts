/**
 * Confinement by bubblewrap: the command and everything it starts is in namespaces of its own and dies with them, under a
 * filter of system calls and limits. What held, and what did not, of earlier profiles: docs/adr/0033-bwrap.md.
 *
 * A mount's source is followed by the host, so a place that confined code could have replaced by a link is proved to be
 * itself before each start.
 */
import { lstatSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { totalmem } from 'node:os';
import { basename, join } from 'node:path';
import { isWithin } from '../core/access/toolchains.ts';
import type { Access } from '../core/role.ts';
import { SandboxFailed } from '../errors.ts';
import { besideDoor, DOOR, told } from './door.ts';
import { LAUNCH, launchFolder, removeAbandoned } from './launch-folder.ts';
import { mustBeItself, programOf, realOf, textIn } from './machine.ts';
import { type MemoryLimits, memoryLimits } from './memory.ts';
import { ofMachine } from './proc.ts';
import { bwrapArguments, outermost } from './profile.ts';
import { remembered } from './remembered.ts';
import type { Command, Confined, SandboxOptions, Unavailable, Unlimited } from './sandbox.ts';
import { seccompFilter } from './seccomp.ts';
import { mustNotStray } from './strays.ts';
import { closedInSystem, isOfSystem, outOfSystem, PRIVATE, SYSTEM } from './system.ts';
import { tools } from './tools.ts';
import { isForNow, tryOut } from './trial.ts';
import { group, passwd } from './user.ts';

export interface Bwrap {
  unavailable(): Promise<Unavailable | null>;
  /** What of the machine a command may use up; null when nothing is. */
  unlimited(): Promise<Unlimited | null>;
  confine(command: Command, access: Access): Promise<Confined>;
}

/** Of one command, threads too: a bomb ends here, and nothing else should. */
const MOST_PROCESSES = 8192;
/** Of the whole user, where a command can't be counted by itself. The machine keeps numbers for others. */
const MOST_OF_USER = 32_768;
const LEFT_FOR_OTHERS = 0.5;
const LARGEST_FILE = 16 * 1024 ** 3;
/** Of what the kernel counts for a whole user. Others need some as well, and other commands. */
const SHARE = 1 / 8;
const MOST_PENDING_SIGNALS = 16_384;
const MOST_QUEUE_BYTES = 819_200;

export function bwrap(given: SandboxOptions): Bwrap {
  const options = { ...given, hidden: given.hidden.map((path) => realOf(path) ?? path) };
  const memory = memoryLimits();
  return {
    unavailable: remembered(
      () => tried(options, memory),
      (missing) => missing === null,
    ),
    unlimited: memory.unlimited,
    confine: (command, access) => confined(options, memory, command, access),
  };
}

async function confined(
  options: SandboxOptions,
  memory: MemoryLimits,
  command: Command,
  access: Access,
): Promise<Confined> {
  const { argv, env, cwd } = command;
  const { readRoots, writeRoots, network } = access;
  const way = typeof network === 'string' ? null : network;
  const isOwn = (path: string): boolean => writeRoots.some((root) => isWithin(path, root));
  for (const path of [cwd, ...writeRoots, ...(way ? [way.socket, ...way.reads] : [])]) mustBeItself(path);
  const [prlimit, program] = [programOf('prlimit', 'util-linux'), programOf('bwrap', 'bubblewrap')];
  const limit = await memory.limit();
  const folder = launchFolder(options.folder);
  let leave = async (): Promise<void> => {};
  let ran: boolean | null = null;
  const dispose = async (): Promise<void> => {
    ran ??= hasRun(join(folder, 'status'));
    await leave();
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    const uid = process.getuid?.() || 1000;
    const gid = process.getgid?.() || 1000;
    const files = { passwd: passwd(uid, gid, env.HOME ?? '/'), group: group(gid) };
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
    const given = readRoots.filter((path) => realOf(path) !== null);
    const door = way ? [way.socket, ...way.reads, DOOR] : [];
    const writable = [...options.writable(), ...writeRoots];
    const read = [...tools(options, command, isOwn, writable), ...options.objects(), ...given, ...door];
    const buried = outermost(options.hidden).filter((path) => isOfSystem(path) && realOf(path) !== null);
    const isGiven = (path: string): boolean => given.some((root) => isWithin(path, root));
    const closed = (await closedInSystem()).filter((path) => !isGiven(path));
    const isShown = (path: string): boolean =>
      isOfSystem(path) && ![...buried, ...closed].some((folder) => isWithin(path, folder));
    const shown = read.filter((path) => !isShown(path));
    mustNotStray(shown, writable);
    const proc = ofMachine();
    const args = bwrapArguments({
      system: SYSTEM.flatMap(asInSystem),
      masked: [
        ...[...PRIVATE, ...closed].flatMap(asMasked),
        ...buried.map((path) => ({ path, isFolder: true })),
        ...proc.closed,
      ],
      fixed: proc.fixed,
      replaced: {
        '/etc/passwd': join(folder, 'passwd'),
        '/etc/group': join(folder, 'group'),
        ...Object.fromEntries(outOfSystem().map((path) => [path, path])),
      },
      read: outermost(shown, writeRoots),
      write: writeRoots,
      cwd,
      uid,
      gid,
      scratchBytes: Math.floor(totalmem() / 4),
      isOnline: network === 'host',
      hasTerminal: access.terminal === true,
    });
    const paths = {
      args: join(folder, 'args'),
      filter: join(folder, 'filter'),
      status: join(folder, 'status'),
    };
    writeFileSync(paths.args, args.map((arg) => `${arg}\0`).join(''));
    writeFileSync(paths.filter, filterHere());
    const limits = [
      `--nproc=${Math.min(MOST_OF_USER, Math.floor(numbersHere() * LEFT_FOR_OTHERS), hardLimit('processes'))}`,
      '--core=0',
      `--fsize=${Math.min(LARGEST_FILE, hardLimit('file size'))}`,
      // A timer counts as a signal that is pending.
      `--sigpending=${Math.min(MOST_PENDING_SIGNALS, Math.floor(hardLimit('pending signals') * SHARE))}`,
      `--msgqueue=${Math.min(MOST_QUEUE_BYTES, Math.floor(hardLimit('msgqueue size') * SHARE))}`,
    ];
    const behind = way ? besideDoor(way, command) : { argv, env: {} };
    const started = limit(
      [
        ...['/bin/sh', '-c', HAND_OVER, 'sh', paths.args, paths.filter, paths.status],
        ...[prlimit, ...limits, '--', program, '--args', '7', '--seccomp', '8', '--json-status-fd', '9'],
        ...['--', ...behind.argv],
      ],
      basename(folder).slice(LAUNCH.length),
      {
        bytes: options.memoryBytes ?? Math.floor(totalmem() * 0.75),
        processes: options.processes ?? MOST_PROCESSES,
      },
    );
    leave = started.dispose;
    return {
      argv: started.argv,
      env: {
        ...env,
        ...(env.TMPDIR !== undefined && { TMPDIR: '/tmp' }),
        ...(way && told(way, env)),
        ...behind.env,
      },
      cwd: '/',
      problem: ({ code }) =>
        code === null || code > KILLED || (ran ?? hasRun(paths.status))
          ? null
          : 'bubblewrap could not confine it',
      dispose,
    };
  } catch (error) {
    await dispose();
    throw error;
  }
}

/** Whoever has a lower limit keeps it: nobody may raise it. */
function hardLimit(of: 'processes' | 'file size' | 'pending signals' | 'msgqueue size'): number {
  const [, hard] = new RegExp(`^Max ${of} +\\S+ +(\\S+)`, 'm').exec(textIn('/proc/self/limits')) ?? [];
  return Number(hard) || Number.POSITIVE_INFINITY;
}

/** How many processes and threads there can be on this machine. */
const numbersHere = (): number =>
  Math.min(
    ...['pid_max', 'threads-max'].map((name) => Number(textIn(`/proc/sys/kernel/${name}`)) || Infinity),
  );

const HAND_OVER = 'exec 7<"$1" 8<"$2" 9>"$3" && shift 3 && exec "$@"';

function filterHere(): Buffer {
  const filter = seccompFilter(process.arch);
  if (!filter) throw new SandboxFailed(`there is no filter of system calls for ${process.arch}`);
  return filter;
}

/** And a signal's number: what was killed had begun, or nobody can tell. */
const KILLED = 128;

/** bwrap writes this only when the command itself has ended. */
const hasRun = (status: string): boolean => /"exit-code"/.test(textIn(status));

function asInSystem(path: string): { path: string; link: string | null }[] {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (!found) return [];
  return [{ path, link: found.isSymbolicLink() ? readlinkSync(path) : null }];
}

function asMasked(path: string): { path: string; isFolder: boolean }[] {
  const found = lstatSync(path, { throwIfNoEntry: false });
  return found && !found.isSymbolicLink() ? [{ path, isFolder: found.isDirectory() }] : [];
}

/** Runs the whole profile once, as this user and with a network of its own: whether it works is told by nothing else. */
async function tried(options: SandboxOptions, memory: MemoryLimits): Promise<Unavailable | null> {
  const surely = (why: string): Unavailable => ({ why, isSure: true });
  if (options.never !== null) return surely(options.never);
  if (process.platform !== 'linux') return surely('bubblewrap is for Linux');
  try {
    removeAbandoned(options.folder);
    const { problem, said, code, isReached } = await tryOut(
      'bwrap',
      (command, access) => confined(options, memory, command, access),
      'bubblewrap did not start within two minutes',
    );
    if (problem !== null || code !== 0) return { why: advised(said), isSure: !isForNow(said) };
    return isReached ? null : surely('nothing gets out of bubblewrap by a socket');
  } catch (error) {
    return { why: (error as Error).message, isSure: error instanceof SandboxFailed };
  }
}

function advised(said: string): string {
  if (said.startsWith('prlimit:')) return said;
  if (/Unknown option/.test(said)) return `bubblewrap 0.8 or later is needed (${said})`;
  if (/^bwrap: loopback:/.test(said)) {
    return `bwrap may not make a network of its own here (${said}): on Ubuntu 24.04 and later, allow it with an AppArmor profile for /usr/bin/bwrap; in a container, give that container the capability NET_ADMIN, or its own user namespaces`;
  }
  if (/user namespace|uid map|Operation not permitted|EPERM/i.test(said)) {
    return `bwrap may not make user namespaces here (${said}): allow them (\`sysctl kernel.unprivileged_userns_clone=1\`; on Ubuntu 24.04 and later an AppArmor profile for /usr/bin/bwrap)`;
  }
  return `bwrap failed: ${said || 'it said nothing'}`;
}
