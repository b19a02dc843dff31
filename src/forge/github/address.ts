/** Where a repository is: its name, its API, and the address git pushes to. */
import { UserError } from '../../errors.ts';

export interface Address {
  owner: string;
  name: string;
  apiUrl: string;
  gitUrl: string;
  host: string;
}

/** From what WORKFLOW.md says and, for what it leaves out, from the remote's address. */
export function addressOf(given: {
  repository: string | null;
  apiUrl: string | null;
  remoteUrl: string | null;
}): Address {
  const remote = given.remoteUrl === null ? null : parseRemote(given.remoteUrl);
  const [owner, name] = (given.repository ?? remote?.path ?? '').split('/');
  if (!owner || !name || (given.repository ?? '').split('/').length > 2) {
    throw new UserError(
      given.repository === null
        ? "Can't tell which GitHub repository this is: there is no remote called origin with an address like https://github.com/owner/name."
        : `tracker.provider.repository must read like owner/name, not ${given.repository}.`,
      'Set tracker.provider.repository in WORKFLOW.md, or: git remote add origin https://github.com/owner/name.git',
    );
  }
  const host = given.apiUrl === null ? (remote?.host ?? 'github.com') : hostOf(given.apiUrl);
  const apiUrl = given.apiUrl?.replace(/\/+$/, '') ?? apiOf(host);
  return { owner, name, host, apiUrl, gitUrl: `${webOf(apiUrl)}/${owner}/${name}.git` };
}

/**
 * What keeps git at an address, for reading and for pushing. The longest match wins: an operator's `insteadOf` or
 * `pushInsteadOf` would have it ask by ssh, with a key of theirs.
 */
export const asItIs = (gitUrl: string): string[] =>
  ['insteadOf', 'pushInsteadOf'].flatMap((key) => ['-c', `url.${gitUrl}.${key}=${gitUrl}`]);

/** `https://host/o/n.git`, `git@host:o/n.git`, `ssh://git@host:22/o/n`; null for anything else. github.com has other names. */
function parseRemote(url: string): { host: string; path: string } | null {
  const scp = /^(?:[\w.-]+@)([\w.-]+):(?!\/)(.+)$/.exec(url);
  const [host, path] = scp ? [scp[1]!, scp[2]!] : fromUrl(url);
  const parts = path
    .replace(/^\/+|\/+$/g, '')
    .replace(/\.git$/, '')
    .split('/');
  return host !== '' && parts.length === 2 && parts.every((part) => /^[\w.-]+$/.test(part))
    ? { host: host.toLowerCase().replace(/^(ssh|www)\.(?=github\.com$)/, ''), path: parts.join('/') }
    : null;
}

function fromUrl(url: string): [string, string] {
  try {
    const parsed = new URL(url);
    const isWeb = parsed.protocol === 'https:' || parsed.protocol === 'http:';
    return isWeb || parsed.protocol === 'ssh:'
      ? [isWeb ? parsed.host : parsed.hostname, parsed.pathname]
      : ['', ''];
  } catch {
    return ['', ''];
  }
}

/** A company of its own on GitHub's servers: its API is beside it, as github.com's is. */
const isHosted = (host: string): boolean => host === 'github.com' || /^[^.]+\.ghe\.com$/.test(host);

const apiOf = (host: string): string => (isHosted(host) ? `https://api.${host}` : `https://${host}/api/v3`);

function webOf(apiUrl: string): string {
  const { host, protocol } = new URL(apiUrl);
  const web = host.replace(/^api\./, '');
  return isHosted(web) ? `${protocol}//${web}` : apiUrl.replace(/\/api\/v3$/, '');
}

function hostOf(apiUrl: string): string {
  const { host } = new URL(apiUrl);
  const web = host.replace(/^api\./, '');
  return isHosted(web) ? web : host;
}
