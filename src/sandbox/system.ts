/** What of this machine is the system's: everything confined reads it, but for what is nobody's business. */
import { isWithin } from '../core/toolchains.ts';
import { realOf } from './machine.ts';

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
