/**
 * Confinement by Anthropic's sandbox-runtime: Seatbelt on macOS, bubblewrap on Linux. It is for macOS, where nobody has tried
 * it yet; on Linux it is only taken when asked for, and tested. Why it is so, and what it leaves open:
 * docs/adr/0039-srt.md.
 */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isWithin } from '../core/access/toolchains.ts';
import type { Access } from '../core/role.ts';
import { SandboxFailed } from '../errors.ts';
import { LAUNCH, MARK } from '../process/process.ts';
import { DOOR, throughDoor, told } from './door.ts';
import { exported, quoted } from './exported.ts';
import { launchFolder, removeAbandoned } from './launch-folder.ts';
import { beginningOf, mustBeItself, realOf } from './machine.ts';
import { outermost } from './profile.ts';
import { remembered } from './remembered.ts';
import { run } from './run.ts';
import type { Command, Confined, SandboxOptions, Unavailable } from './sandbox.ts';
import { srtSettings } from './srt-settings.ts';
import { mustNotStray } from './strays.ts';
import { closedInSystem, isOfSystem, outOfSystem, PRIVATE, SYSTEM } from './system.ts';
import { tools } from './tools.ts';
import { tryOut } from './trial.ts';

export interface Srt {
  unavailable(): Promise<Unavailable | null>;
  confine(command: Command, access: Access): Promise<Confined>;
}

interface SrtOptions extends SandboxOptions {
  /** What to do to have these packages. */
  installHint(packages: readonly string[]): string;
}

const PACKAGE = '@anthropic-ai/sandbox-runtime';
/** The version that this was learned from and is tested with; its makers call it a preview that may change. */
const VERSION = '0.0.78';
const PROGRAM = fileURLToPath(new URL('./srt-program.js', import.meta.url));

/** `from`: the module beside which the package is looked for. */
export function srt(given: SrtOptions, from: string = import.meta.url): Srt {
  const options = { ...given, hidden: given.hidden.map((path) => realOf(path) ?? path) };
  const trial = remembered(
    () => tried(options, from),
    (missing) => missing === null,
  );
  return {
    unavailable: trial,
    async confine(command, access) {
      const missing = await trial();
      if (missing !== null) throw new SandboxFailed(missing.why);
      return confined(options, from, command, access);
    },
  };
}

async function confined(
  options: SrtOptions,
  from: string,
  command: Command,
  access: Access,
): Promise<Confined> {
  const { env, cwd } = command;
  const { readRoots, writeRoots, network } = access;
  const way = typeof network === 'string' ? null : network;
  const isOwn = (path: string): boolean => writeRoots.some((root) => isWithin(path, root));
  const needed = [cwd, ...writeRoots, ...(way ? [way.socket, ...way.reads] : [])];
  for (const path of needed) mustBeItself(path);
  for (const path of [...needed, ...readRoots]) mustBeShown(path);
  const module = mustBeInstalled(options, from);
  const folder = launchFolder(options.folder);
  const at = (file: string): string => join(folder, file);
  let ran: boolean | null = null;
  const dispose = async (): Promise<void> => {
    ran ??= hasRun(at('status'));
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    mkdirSync(at('tmp'));
    const inside = { ...env, TMPDIR: at('tmp'), ...(way && told(way, env)) };
    const argv = way ? throughDoor(way, command.argv) : command.argv;
    writeFileSync(at('start'), startOf(argv, inside, cwd), { mode: 0o600 });
    writeFileSync(at('status'), '', { mode: 0o600 });
    const door = way ? [way.socket, ...way.reads, DOOR] : [];
    const writable = [...options.writable(), ...writeRoots];
    const found = [...tools(options, command, isOwn, writable), ...options.objects(), ...outOfSystem()];
    const read = [...SYSTEM, ...readRoots, ...found, ...door, at('start')];
    mustNotStray(read, writable);
    const buried = options.hidden.filter(isOfSystem);
    const given = [...readRoots, ...found];
    const closed = (await closedInSystem()).filter((path) => !given.some((root) => isWithin(path, root)));
    const settings = srtSettings({
      platform: process.platform,
      read: outermost(read.filter((path) => realOf(path) !== null && !isPattern(path))),
      write: [...writeRoots, at('tmp')],
      masked: [...PRIVATE, ...buried, ...closed].filter((path) => realOf(path) !== null),
      shared: SHARED.filter((path) => process.platform === 'darwin' || realOf(path) !== null),
      network,
    });
    writeFileSync(at('settings'), JSON.stringify(settings), { mode: 0o600 });
    const start = `exec /usr/bin/env -i \${${LAUNCH}:+"${LAUNCH}=$${LAUNCH}"} /bin/sh ${quoted(at('start'))}`;
    return {
      argv: ['/bin/sh', '-c', HAND_OVER, 'sh', at('status'), await wrapped(module, folder, start)],
      env: { ...ofOperator(), ...(env[MARK] !== undefined && { [MARK]: env[MARK] }) },
      cwd: '/',
      problem: ({ code }) =>
        code === null || code > KILLED || (ran ?? hasRun(at('status'))) ? null : 'srt could not confine it',
      dispose,
    };
  } catch (error) {
    await dispose();
    throw error;
  }
}

/** It takes such a path for a pattern, and on Linux it puts a /dev of its own over what lies there. */
function mustBeShown(path: string): void {
  if (isPattern(path)) throw new SandboxFailed(`srt can't be given ${path}: its name has one of *?[]`);
  if (process.platform === 'linux' && isWithin(path, '/dev'))
    throw new SandboxFailed(`srt shows nothing below /dev, where ${path} is: set TMPDIR to another folder`);
}

const isPattern = (path: string): boolean => /[*?[\]]/.test(path);

/** What it lets everybody write to, whoever else does. */
const SHARED = ['/tmp/claude', '/private/tmp/claude'];

function mustBeInstalled({ installHint }: SrtOptions, from: string): string {
  try {
    return createRequire(from).resolve(PACKAGE);
  } catch {
    throw new SandboxFailed(`srt is not installed: ${installHint([`${PACKAGE}@${VERSION}`])}`);
  }
}

/** Started where nothing is: below its working directory srt lets nobody write to `.git/config` and the like. */
async function wrapped(module: string, folder: string, command: string): Promise<string> {
  const argv = [process.execPath, PROGRAM, module, join(folder, 'settings'), command];
  const late = 'srt took more than a minute';
  const { stdout, stderr, code } = await run(argv, {
    env: ofOperator(),
    cwd: folder,
    timeoutMs: 60_000,
    late,
  });
  if (code !== 0) throw new SandboxFailed(`srt failed: ${stderr.trim()}`);
  return stdout;
}

/** What is not confined finds its programs by the operator's PATH: that of the command may lead anywhere. */
const ofOperator = (): Record<string, string> => ({
  PATH: (process.env.PATH ?? '').split(delimiter).filter(Boolean).join(delimiter),
  ...(process.env.HOME !== undefined && { HOME: process.env.HOME }),
});

const HAND_OVER = 'exec 9>"$1" && eval "exec $2"';

/**
 * The first thing inside: it says that it runs, and forgets what srt put into the environment, which would lead programs to
 * proxies that are not there. Limits that are lower stay.
 */
const startOf = (argv: readonly string[], env: Command['env'], cwd: string): string =>
  `cd ${quoted(cwd)} || exit 125
echo ran >&9
exec 9>&-
ulimit -c 0 2>/dev/null
ulimit -f 33554432 2>/dev/null
ulimit -u 32768 2>/dev/null || ulimit -p 32768 2>/dev/null
${exported(env)}exec ${argv.map(quoted).join(' ')}
`;

const hasRun = (status: string): boolean => beginningOf(status, 'ran'.length) === 'ran';

/** And a signal's number: what was killed had begun, or nobody can tell. */
const KILLED = 128;

/** Runs the whole profile once, as this user: whether it works is told by nothing else. */
async function tried(options: SrtOptions, from: string): Promise<Unavailable | null> {
  const surely = (why: string): Unavailable => ({ why, isSure: true });
  if (options.never !== null) return surely(options.never);
  try {
    removeAbandoned(options.folder);
    const late = 'srt did not start within two minutes';
    const { problem, said, code, isReached } = await tryOut(
      'srt',
      (command, access) => confined(options, from, command, access),
      late,
    );
    if (problem !== null || code !== 0) return surely(`srt failed: ${said || 'it said nothing'}`);
    return isReached ? null : surely('nothing gets out of srt by a socket');
  } catch (error) {
    return { why: (error as Error).message, isSure: error instanceof SandboxFailed };
  }
}
