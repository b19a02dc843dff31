/**
 * What a confined command sees of the machine, as arguments of `podman run` and `docker run`: the image, read-only, what it
 * was given at the same paths as outside, and places of its own that end with it.
 */
import { LAUNCH, MARK } from '../process/process.ts';

interface View {
  isPodman: boolean;
  name: string;
  mark: string;
  /** A file of the calls it may make; null leaves that to the engine. */
  filter: string | null;
  /** What of /proc nobody sees; docker knows no such option. */
  masked: readonly string[];
  /** Files of ours that take the place of the image's: path inside, file outside. */
  replaced: Readonly<Record<string, string>>;
  read: readonly string[];
  write: readonly string[];
  cwd: string;
  uid: number;
  gid: number;
  /** For each of the places of its own, in memory. */
  scratchBytes: number;
  limits: { memoryBytes: number; processes: number } | null;
  /** Whether it is on the machine's network, or on none. */
  isOnline: boolean;
  /** Whether a person is at its terminal. */
  hasTerminal?: boolean;
}

const SCRATCH = ['/tmp', '/var/tmp', '/run'];

export function containerArguments(view: View): string[] {
  const { replaced, read, write, scratchBytes, limits } = view;
  const ours = new Set(write);
  return [
    ...(view.hasTerminal ? ['--tty'] : []),
    ...['--rm', '--interactive', '--pull', 'never', '--log-driver', 'none', '--no-healthcheck'],
    ...['--name', view.name, '--label', `forge-loop.task=${view.mark}`],
    // By name: what is marked inside is found as everything else that a task started.
    ...['--env', MARK, '--env', LAUNCH],
    // Whoever removes it does not wait for it.
    ...['--stop-signal', 'KILL', '--stop-timeout', '0'],
    ...['--cap-drop', 'all', '--security-opt', 'no-new-privileges', '--read-only'],
    // Else SELinux keeps it from what it was given, unless that is labelled anew.
    ...['--security-opt', 'label=disable'],
    ...(view.filter === null ? [] : ['--security-opt', `seccomp=${view.filter}`]),
    ...(view.isPodman ? ['--security-opt', `mask=${view.masked.join(':')}`] : []),
    ...userOf(view),
    ...['--network', view.isOnline ? 'host' : 'none', '--hostname', 'sandbox'],
    ...(limits ? ['--memory', `${limits.memoryBytes}b`, '--pids-limit', `${limits.processes}`] : []),
    ...SCRATCH.flatMap((path) => ['--tmpfs', `${path}:rw,exec,nosuid,nodev,mode=1777,size=${scratchBytes}`]),
    ...['--shm-size', `${scratchBytes}b`],
    ...Object.entries(replaced).flatMap(([inside, outside]) => mount(outside, inside, 'readonly')),
    ...[...new Set(read)].filter((path) => !ours.has(path)).flatMap((path) => mount(path, path, 'readonly')),
    ...[...ours].flatMap((path) => mount(path, path)),
    ...['--workdir', view.cwd, '--entrypoint', '/bin/sh'],
  ];
}

/** Who owns what it writes is who runs the loop. An ordinary user's podman has users of its own, one of which is that. */
const userOf = ({ isPodman, uid, gid }: View): string[] =>
  isPodman && uid !== 0 ? ['--userns', 'keep-id'] : ['--user', `${uid}:${gid}`];

const mount = (source: string, target: string, ...options: string[]): string[] => [
  '--mount',
  ['type=bind', `source=${source}`, `target=${target}`, ...options].map(field).join(','),
];

/** The list is read as a line of CSV. */
const field = (text: string): string => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
