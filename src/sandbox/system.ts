/** What of this machine is the system's: everything confined reads it, but for what is nobody's business. */
import { lstatSync } from 'node:fs';
import { isWithin } from '../core/access/toolchains.ts';
import { SandboxFailed } from '../errors.ts';
import { programOf, realOf } from './machine.ts';
import { renewed } from './renewed.ts';
import { run } from './run.ts';

const LINUX = [
  '/usr',
  '/bin',
  '/sbin',
  '/lib',
  '/lib32',
  '/lib64',
  '/libx32',
  '/etc',
  '/opt',
  '/nix',
  '/gnu',
];
const MACOS = [
  ...['/usr', '/bin', '/sbin', '/etc', '/private/etc', '/opt', '/nix'],
  ...['/System', '/Library', '/Applications'],
  ...['/private/var/db', '/private/var/select', '/dev'],
];

export const SYSTEM = process.platform === 'darwin' ? MACOS : LINUX;
export const isOfSystem = (path: string): boolean => SYSTEM.some((folder) => isWithin(path, folder));

export const PRIVATE = [
  '/etc/shadow',
  '/etc/shadow-',
  '/etc/gshadow',
  '/etc/gshadow-',
  '/etc/sudoers',
  '/etc/sudoers.d',
  '/etc/ssh',
  '/etc/ssl/private',
  '/etc/pki/tls/private',
  '/etc/krb5.keytab',
  '/etc/docker',
  '/etc/kubernetes',
  '/etc/rancher',
  '/etc/wireguard',
  '/etc/letsencrypt',
  '/etc/NetworkManager/system-connections',
  '/Library/Keychains',
];

const ETC = process.platform === 'darwin' ? ['/etc', '/private/etc'] : ['/etc'];

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
/** The second may take minutes where disks are far or busy, and what is installed seldom changes: nobody waits for it twice. */
const LOOKS = [
  renewed({ everyMs: MINUTE, atMostMs: MINUTE }, () => closedIn(ETC)),
  renewed({ everyMs: HOUR, atMostMs: 3 * HOUR }, () => closedIn(['/opt', '/usr'])),
];

/**
 * What of the system not everybody may read, but this user: a confined command has the rights to it, by ownership or group, and of a
 * root runner to all of it, whatever number it has inside.
 */
export async function closedInSystem(): Promise<string[]> {
  const found = (await Promise.all(LOOKS.map((look) => look()))).flat();
  return found.filter((path) => !PRIVATE.includes(path) && isOurs(path));
}

/** What is closed is not looked into. */
async function closedIn(folders: readonly string[]): Promise<string[]> {
  const there = folders.filter((folder) => realOf(folder) !== null);
  if (there.length === 0) return [];
  const argv = [
    ...[programOf('find', 'findutils'), '-H', ...there],
    ...['(', '-type', 'd', '!', '-perm', '-005', '-print0', '-prune', ')'],
    ...['-o', '(', '!', '-type', 'l', '!', '-perm', '-004', '-print0', ')'],
  ];
  const late = `find took more than ten minutes for ${there.join(' and ')}`;
  const { stdout, stderr } = await run(argv, {
    env: { LC_ALL: 'C' },
    cwd: '/',
    timeoutMs: 10 * MINUTE,
    late,
  });
  const problem = stderr
    .split('\n')
    .find((line) => line !== '' && !/No such file|Permission denied/.test(line));
  if (problem !== undefined) throw new SandboxFailed(`find failed: ${problem}`);
  return stdout.split('\0').filter(Boolean);
}

function isOurs(path: string): boolean {
  const found = lstatSync(path, { throwIfNoEntry: false });
  const uid = process.getuid?.() ?? 0;
  return found !== undefined && (uid === 0 || found.uid === uid || ourGroups().includes(found.gid));
}

const ourGroups = (): number[] => [process.getegid?.() ?? 0, ...(process.getgroups?.() ?? [])];

/** Files of the system that may lie elsewhere: how names are resolved, whose certificates are trusted. */
const LINKED = [
  '/etc/resolv.conf',
  '/etc/ssl/certs',
  '/etc/ssl/ca-bundle.pem',
  '/etc/pki/tls/certs',
  '/etc/localtime',
];

/** Where those are that do. */
export const outOfSystem = (): string[] =>
  LINKED.flatMap((path) => {
    const real = realOf(path);
    return real === null || isOfSystem(real) ? [] : [real];
  });
