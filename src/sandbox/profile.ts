/**
 * What a confined command sees of the machine, as arguments of `bwrap`: nothing but a read-only system, what it was given,
 * and places of its own that end with it. Paths are the same inside and outside.
 */
import { isWithin } from '../core/access/toolchains.ts';

interface View {
  /** Folders of the system: a folder, or the link that takes its place (`/bin` is `usr/bin`). */
  system: readonly { path: string; link: string | null }[];
  /** What of it is nobody's business: secrets of the system, and what is hidden but lies there. */
  masked: readonly { path: string; isFolder: boolean }[];
  /** What of /proc nobody changes: of a runner that is root, bwrap leaves the kernel's settings writable. */
  fixed: readonly string[];
  /** Files of ours that take the place of the system's: path inside, file outside. */
  replaced: Readonly<Record<string, string>>;
  read: readonly string[];
  write: readonly string[];
  cwd: string;
  uid: number;
  gid: number;
  /** For each of the places of its own, in memory. */
  scratchBytes: number;
  /** Whether it is on the machine's network, or on none. */
  isOnline: boolean;
  /** Whether it keeps the terminal it was started at, which nobody else reads. */
  hasTerminal?: boolean;
}

const SCRATCH = ['/tmp', '/var/tmp', '/run', '/dev/shm'];

export function bwrapArguments(view: View): string[] {
  const { system, masked, replaced, read, write, cwd, uid, gid } = view;
  const scratch = (path: string): string[] => ['--size', String(view.scratchBytes), '--tmpfs', path];
  return [
    '--unshare-user',
    '--unshare-ipc',
    '--unshare-pid',
    '--unshare-uts',
    '--unshare-cgroup-try',
    ...(view.isOnline ? [] : ['--unshare-net']),
    '--die-with-parent',
    ...(view.hasTerminal ? [] : ['--new-session']),
    '--cap-drop',
    'ALL',
    '--disable-userns',
    ...['--uid', String(uid), '--gid', String(gid)],
    ...['--hostname', 'sandbox'],
    ...system.flatMap(({ path, link }) =>
      link === null ? ['--ro-bind', path, path] : ['--symlink', link, path],
    ),
    ...['--proc', '/proc', '--dev', '/dev'],
    ...view.fixed.flatMap((path) => ['--ro-bind', path, path]),
    ...SCRATCH.flatMap(scratch),
    ...masked.flatMap(({ path, isFolder }) =>
      isFolder ? ['--tmpfs', path] : ['--ro-bind', '/dev/null', path],
    ),
    ...Object.entries(replaced).flatMap(([inside, outside]) => ['--ro-bind', outside, inside]),
    ...mounts(read, write).flatMap(({ how, path }) => [how, path, path]),
    // Only now: what is mounted below them needs a place there.
    ...masked.flatMap(({ path, isFolder }) => (isFolder ? ['--remount-ro', path] : [])),
    ...['--remount-ro', '/dev', '--remount-ro', '/'],
    ...['--chdir', cwd],
  ];
}

/** What lies in another is mounted after it; of what may be written, nothing needs to be said about reading. */
function mounts(
  read: readonly string[],
  write: readonly string[],
): { how: '--bind' | '--ro-bind'; path: string }[] {
  const ours = new Set(write);
  const shown = [...new Set(read)].filter((path) => !ours.has(path));
  return [
    ...shown.map((path) => ({ how: '--ro-bind' as const, path })),
    ...[...ours].map((path) => ({ how: '--bind' as const, path })),
  ].sort((one, other) => (one.path < other.path ? -1 : 1));
}

/**
 * Those that none of the others contains: a mount less, and the same to see. What lies in a place of `own`, which may be written
 * to, stays: without a mount it could be written to as well.
 */
export const outermost = (paths: readonly string[], own: readonly string[] = []): string[] =>
  [...new Set(paths)].filter(
    (path) =>
      own.some((place) => isWithin(path, place)) ||
      !paths.some((other) => other !== path && isWithin(path, other)),
  );
