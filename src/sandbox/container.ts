/**
 * Confinement by a container of podman or docker: the image supplies the system and its toolchain, and what the command was
 * given is at the same paths as outside. Why it is so: docs/adr/0035-container.md.
 *
 * A container is no child of whoever starts it, so each has a name that is written down before it is started: whoever takes
 * over finds it by that and removes it, with everything that runs in it.
 */
import { randomUUID } from 'node:crypto';
import { mkdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { totalmem } from 'node:os';
import { basename, delimiter, isAbsolute, join } from 'node:path';
import { isWithin } from '../core/access/toolchains.ts';
import type { Access } from '../core/role.ts';
import { SandboxFailed } from '../errors.ts';
import { MARK } from '../process/process.ts';
import { containerArguments } from './container-profile.ts';
import { narrowed } from './container-seccomp.ts';
import { DOOR, throughDoor, told } from './door.ts';
import { exported } from './exported.ts';
import { isRunning } from './launch-folder.ts';
import { beginningOf, entriesOf, findProgram, mustBeItself, realOf, textIn } from './machine.ts';
import { ofMachine } from './proc.ts';
import { outermost } from './profile.ts';
import { remembered } from './remembered.ts';
import { run } from './run.ts';
import type { Command, Confined, SandboxOptions, Unavailable, Unlimited } from './sandbox.ts';
import { mustNotStray } from './strays.ts';
import { isOfSystem, SYSTEM } from './system.ts';
import { packageOf, tools } from './tools.ts';
import { isForNow, tryOut } from './trial.ts';
import { group, passwd } from './user.ts';

export interface Containers {
  /** Of this image. */
  unavailable(image: string): Promise<Unavailable | null>;
  /** What its containers may use up; null when nothing is. */
  unlimited(image: string): Promise<Unlimited | null>;
  confine(command: Command, access: Access, image: string): Promise<Confined>;
  /** Removes what a runner that is gone left of a task. */
  clear(task: string): Promise<void>;
}

/** What was found to work. */
interface Engine {
  program: string;
  image: string;
  /** The image's own: where its tools are. */
  path: string;
  /** podman's filter of system calls, narrowed; null is the engine's own. */
  filter: string | null;
  unlimited: string | null;
}

type Trial = Engine | Unavailable;
const works = (trial: Trial): trial is Engine => 'program' in trial;

export function containers(given: SandboxOptions): Containers {
  const options = { ...given, hidden: given.hidden.map((path) => realOf(path) ?? path) };
  const trials = new Map<string, () => Promise<Trial>>();
  const trial = (image: string): Promise<Trial> => {
    const known = trials.get(image) ?? remembered(() => tried(options, image), works);
    trials.set(image, known);
    return known();
  };
  return {
    async unavailable(image) {
      const found = await trial(image);
      return works(found) ? null : found;
    },
    async unlimited(image) {
      const found = await trial(image);
      if (!works(found) || found.unlimited === null) return null;
      return { what: 'memory and processes', why: found.unlimited };
    },
    async confine(command, access, image) {
      const found = await trial(image);
      if (!works(found)) throw new SandboxFailed(found.why);
      return confined(options, found, command, access);
    },
    async clear(task) {
      for (const { name } of entriesOf(options.folder)) {
        const left = recordIn(join(options.folder, name));
        if (left?.mark !== task) continue;
        await remove(left.program, name);
        rmSync(join(options.folder, name), { recursive: true, force: true });
      }
    },
  };
}

async function confined(
  options: SandboxOptions,
  engine: Engine,
  command: Command,
  access: Access,
): Promise<Confined> {
  const { env, cwd } = command;
  const { readRoots, writeRoots, network } = access;
  const way = typeof network === 'string' ? null : network;
  for (const path of [cwd, ...writeRoots, ...(way ? [way.socket, ...way.reads] : [])]) mustBeItself(path);
  const mark = env[MARK] ?? NOBODYS;
  const name = `forge-loop-${mark.replaceAll(/[^\w.-]+/g, '-')}-${randomUUID().slice(0, 8)}`;
  mkdirSync(options.folder, { recursive: true, mode: 0o700 });
  const folder = join(realpathSync(options.folder), name);
  const at = (file: string): string => join(folder, file);
  mkdirSync(folder, { mode: 0o700 });
  let ran: boolean | null = null;
  const dispose = async (): Promise<void> => {
    ran ??= hasRun(at('status'));
    await remove(engine.program, name);
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    const [uid, gid] = [process.getuid?.() ?? 0, process.getgid?.() ?? 0];
    const inside = {
      ...env,
      PATH: [...new Set([...split(env.PATH), ...split(engine.path)])].join(delimiter),
      ...(env.TMPDIR !== undefined && { TMPDIR: '/tmp' }),
      ...(way && told(way, env)),
    };
    const record: Left = { mark, program: engine.program, pid: process.pid };
    const files = {
      record: JSON.stringify(record),
      passwd: passwd(uid, gid, env.HOME ?? '/'),
      group: group(gid),
      environment: exported(inside),
      ...(engine.filter !== null && { filter: engine.filter }),
      status: '',
    };
    for (const [file, text] of Object.entries(files)) writeFileSync(at(file), text, { mode: 0o600 });
    const isOwn = (path: string): boolean => writeRoots.some((root) => isWithin(path, root));
    const argv = command.argv.map((word) =>
      isAbsolute(word) && isInstalled(word) ? (realOf(word) ?? word) : word,
    );
    const given = readRoots.filter((path) => realOf(path) !== null);
    const door = way ? [way.socket, ...way.reads, DOOR] : [];
    const writable = [...options.writable(), ...writeRoots];
    const found = toolsFor(options, { ...command, argv }, isOwn, writable);
    const read = [...found, ...options.objects(), ...given, ...door];
    mustNotStray([...read, ...command.argv.filter((word) => isAbsolute(word) && !isOwn(word))], writable);
    const proc = ofMachine();
    const args = containerArguments({
      isPodman: basename(engine.program) === 'podman',
      name,
      mark,
      filter: engine.filter === null ? null : at('filter'),
      masked: [...proc.closed.map(({ path }) => path), ...proc.fixed.filter((path) => path !== '/proc/sys')],
      replaced: { '/etc/passwd': at('passwd'), '/etc/group': at('group') },
      read: outermost([...read, at('environment')], writeRoots),
      write: [...writeRoots, at('status')],
      cwd,
      uid,
      gid,
      scratchBytes: Math.floor(totalmem() / 4),
      limits:
        engine.unlimited === null
          ? {
              memoryBytes: options.memoryBytes ?? Math.floor(totalmem() * 0.75),
              processes: options.processes ?? MOST_PROCESSES,
            }
          : null,
      isOnline: network === 'host',
      hasTerminal: access.terminal === true,
    });
    return {
      argv: [
        ...[engine.program, 'run', ...args, engine.image],
        ...['-c', START, 'sh', at('environment'), at('status')],
        ...(way ? throughDoor(way, argv) : argv),
      ],
      env: { ...ofEngine(), ...(env[MARK] !== undefined && { [MARK]: mark }) },
      cwd: '/',
      problem: ({ code }) =>
        code === null || !ENGINES_OWN.includes(code) || (ran ?? hasRun(at('status')))
          ? null
          : `${basename(engine.program)} could not confine it`,
      dispose,
    };
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    throw error;
  }
}

const split = (path = ''): string[] => path.split(delimiter).filter(isAbsolute);

/**
 * The first process inside, which stays and takes in orphans: as the first, the command itself would die of no signal. Its
 * environment is in a file, since what an engine is told of it is kept by the engine and seen by whoever may ask it.
 */
const START = `[ -r "$1" ] || exit 125
. "$1"
echo ran >"$2"
shift 2
ulimit -c 0 2>/dev/null
ulimit -f 33554432 2>/dev/null
"$@"
exit $?`;

/** Of a command that could not be started; also of one that was, and ended so. */
const ENGINES_OWN = [125, 126, 127];
const hasRun = (status: string): boolean => beginningOf(status, 'ran'.length) === 'ran';

/** What the engine itself needs to find its settings, its images and its daemon. */
const ofEngine = (): Record<string, string> =>
  Object.fromEntries(
    Object.entries(process.env).filter(
      (entry): entry is [string, string] =>
        entry[1] !== undefined &&
        /^(PATH|HOME|TMPDIR|LANG|LC_ALL|DBUS_SESSION_BUS_ADDRESS|XDG_.*|CONTAINERS?_.*|STORAGE_.*|DOCKER_.*)$/.test(
          entry[0],
        ),
    ),
  );

/** The system is the image's; of this machine's come Node and ourselves, what lies elsewhere, and what the command names. */
function toolsFor(
  options: SandboxOptions,
  command: Command,
  isOwn: (path: string) => boolean,
  writable: readonly string[],
): string[] {
  const found = tools({ ...options, programs: [] }, command, isOwn, writable);
  const elsewhere = found.filter((path) => !isOfSystem(path));
  return [
    ...options.programs.filter((path) => realOf(path) !== null && ![...SYSTEM, '/usr/local'].includes(path)),
    ...elsewhere,
    ...command.argv.filter((word) => isAbsolute(word) && isInstalled(word)).flatMap(packageOf),
    ...STORES.filter((path) => realOf(path) !== null),
  ];
}

/** No image has these, and what comes from there needs all of it. */
const STORES = ['/nix', '/gnu'];

/** Programs of the operator's among those of the system. */
const isInstalled = (path: string): boolean =>
  /^\/usr\/local\/|^\/opt\//.test(path) || (isOfSystem(path) && path.includes('/node_modules/'));

/** Of one container. */
const MOST_PROCESSES = 32_768;
const NOBODYS = 'none';
/** What the marks of all that doctor starts begin with. */
const DOCTORS = 'doctor-';

interface Left {
  mark: string;
  program: string;
  /** Of the runner. */
  pid: number;
}

/** Null when it is not whole: then nothing was started yet. */
function recordIn(folder: string): Left | null {
  try {
    return JSON.parse(textIn(join(folder, 'record')));
  } catch {
    return null;
  }
}

/** With all that runs in it. One that is not there, or is being removed, is what was asked for. */
async function remove(program: string, name: string): Promise<void> {
  const ignore = basename(program) === 'podman' ? ['--ignore'] : [];
  const { said, code } = await asked([program, 'rm', '--force', ...ignore, name]);
  if (code === 0 || /no such container|already in progress/i.test(said)) return;
  throw new Error(`the container ${name} could not be removed; remove it and try again: ${said}`);
}

/** Runs the whole profile once, as this user: whether it works is told by nothing else. */
async function tried(options: SandboxOptions, image: string): Promise<Trial> {
  const surely = (why: string): Unavailable => ({ why, isSure: true });
  if (options.never !== null) return surely(options.never);
  if (process.platform !== 'linux') return surely('a container of Linux can run nothing of this machine');
  await removeAbandoned(options.folder);
  const engines = ENGINES.map(findProgram).filter((program) => program !== null);
  if (engines.length === 0)
    return surely('neither podman nor docker is installed: install the package podman');
  const found: Unavailable[] = [];
  for (const program of engines) {
    const trial = await triedWith(options, program, image).catch((error: Error) => ({
      why: error.message,
      isSure: error instanceof SandboxFailed && !isForNow(error.message),
    }));
    if (works(trial)) return trial;
    found.push(trial);
  }
  return { why: found.map(({ why }) => why).join('; '), isSure: found.every(({ isSure }) => isSure) };
}

const ENGINES = ['podman', 'docker'];

/** Trials, and what a doctor looked at from inside: nobody takes over their task, since it is none. */
async function removeAbandoned(folder: string): Promise<void> {
  for (const { name } of entriesOf(folder)) {
    const left = recordIn(join(folder, name));
    if (left === null || isRunning(left.pid) || !(left.mark === NOBODYS || left.mark.startsWith(DOCTORS)))
      continue;
    const isGone = await remove(left.program, name).then(
      () => true,
      () => false,
    );
    // Else its record is needed once more.
    if (isGone) rmSync(join(folder, name), { recursive: true, force: true });
  }
}

async function triedWith(options: SandboxOptions, program: string, image: string): Promise<Engine> {
  const engine = {
    program,
    image,
    path: await pathOf(program, image),
    filter: await filterOf(program),
    unlimited: null,
  };
  const refused = await runIn(options, engine).then(
    ({ said }) => (IGNORED.test(said) ? said : null),
    (error: Error) => {
      if (/cgroup|pids|memory/i.test(error.message)) return error.message;
      throw error;
    },
  );
  if (refused === null) return engine;
  await runIn(options, { ...engine, unlimited: refused });
  return { ...engine, unlimited: refused };
}

/** An engine that can't limit may also say so and go on. */
const IGNORED = /limit.*(not supported|ignored|discarded)/i;

/** An ordinary user's podman has warnings to say beside what it answers. */
async function pathOf(program: string, image: string): Promise<string> {
  const { stdout, said, code } = await asked([
    ...[program, 'image', 'inspect'],
    ...['--format', '{{json .Config.Env}}', image],
  ]);
  if (code !== 0) throw new SandboxFailed(advised(program, image, said));
  const env = (JSON.parse(stdout) ?? []) as string[];
  return env.find((entry) => entry.startsWith('PATH='))?.slice('PATH='.length) ?? '';
}

async function filterOf(program: string): Promise<string | null> {
  if (basename(program) !== 'podman') return null;
  const { stdout } = await asked([program, 'info', '--format', '{{.Host.Security.SECCOMPProfilePath}}']);
  const profile = textIn(stdout.trim());
  return profile === '' ? null : JSON.stringify(narrowed(JSON.parse(profile)));
}

/** Everything that a turn needs, and whose what it writes is. */
async function runIn(options: SandboxOptions, engine: Engine): Promise<{ said: string }> {
  const { program, image } = engine;
  const { problem, said, code, owner, isReached } = await tryOut(
    { image },
    (command, access) => confined(options, engine, command, access),
    lateOf(program),
  );
  if (problem !== null) throw new SandboxFailed(advised(program, image, said));
  if (code !== 0) throw new SandboxFailed(lacking(image, said));
  if (owner !== process.getuid?.())
    throw new SandboxFailed(`what ${program} writes belongs to user ${owner}: use podman`);
  if (!isReached) throw new SandboxFailed(`nothing gets out of a container of ${program} by a socket`);
  return { said };
}

const lateOf = (program: string): string => `${basename(program)} took more than two minutes`;

const asked = ([program = '', ...args]: readonly string[]) =>
  run([program, ...args], { env: ofEngine(), cwd: '/', timeoutMs: 120_000, late: lateOf(program) });

function advised(program: string, image: string, said: string): string {
  const name = basename(program);
  if (/image not known|no such image/i.test(said))
    return `${name} has no image ${image}: get it with \`${name} pull ${image}\``;
  if (/docker daemon|permission denied.*docker/i.test(said))
    return `docker's daemon can't be reached (${said}): start it and let your user use it, or install podman`;
  if (/subuid|subgid|newuidmap|newgidmap/i.test(said))
    return `podman may not map users here (${said}): install the package uidmap and add ranges to /etc/subuid and /etc/subgid`;
  return `${name} failed: ${said || 'it said nothing'}`;
}

const lacking = (image: string, said: string): string =>
  `the Node of this machine does not run in ${image} (${said}): take an image of a Linux with glibc, such as Debian, with \`sh\` and libstdc++`;
