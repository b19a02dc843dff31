/** What of this machine is the system's: everything confined reads it, but for what is nobody's business. */
import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import { isWithin } from '../core/toolchains.ts';
import { entriesOf, realOf } from './machine.ts';

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

const MOST_ENTRIES = 20_000;
const ANYBODY_READS = 0o004;
const ANYBODY_ENTERS = 0o005;

/**
 * What of /etc not everybody may read. For an ordinary user that is so anyway; of a root runner a command has the rights to
 * it, whatever number it has inside. Looked for once a minute: it takes longer than the start of a command should.
 */
export function unreadableInEtc(): readonly string[] {
  if (performance.now() - known.at > LOOK_EVERY_MS) known = { at: performance.now(), paths: lookedUp() };
  return known.paths;
}

const LOOK_EVERY_MS = 60_000;
let known: { at: number; paths: readonly string[] } = { at: Number.NEGATIVE_INFINITY, paths: [] };

function lookedUp(): string[] {
  const found: string[] = [];
  const waiting = ['/etc'];
  for (let seen = 0; waiting.length > 0 && seen < MOST_ENTRIES; seen += 1) {
    const path = waiting.pop() ?? '';
    const stats = lstatSync(path, { throwIfNoEntry: false });
    if (!stats || stats.isSymbolicLink() || PRIVATE.includes(path)) continue;
    const wanted = stats.isDirectory() ? ANYBODY_ENTERS : ANYBODY_READS;
    if ((stats.mode & wanted) !== wanted) found.push(path);
    else if (stats.isDirectory()) waiting.push(...entriesOf(path).map(({ name }) => join(path, name)));
  }
  return found;
}

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
