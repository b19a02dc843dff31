/**
 * Where a confined command may go, decided by name before anything is connected.
 *
 * The rule: a host is brought into one form by `destinationOf`, and that form is compared, resolved and dialled. So there is
 * no second reading of it that could lead elsewhere.
 */

/** Where a command may go: the machine's own network (`host`), any public host (`any`), or these domains. */
export type Network = 'host' | 'any' | readonly string[];

/** An IPv6 host is without brackets. */
export interface Destination {
  host: string;
  port: number;
}

/**
 * Null when it may not go there. `named`: by its exact name, so that the operator knows where it leads, a private address
 * included; `public`: only if it leads to a public address.
 */
export function grantOf(network: Exclude<Network, 'host'>, to: Destination): 'named' | 'public' | null {
  const host = isAscii(to.host) ? hostOf(to.host) : null;
  if (host === null || !isPort(to.port)) return null;
  if (network === 'any') return isAddress(host) && !isPublicAddress(host) ? null : 'public';
  const grants = network.map((entry) => grantBy(entry, { host, port: to.port }));
  return grants.find((grant) => grant === 'named') ?? grants.find((grant) => grant === 'public') ?? null;
}

/** What an entry without a port means. */
const WEB_PORTS = [80, 443];

function grantBy(entry: string, { host, port }: Destination): 'named' | 'public' | null {
  const isWildcard = entry.startsWith('*.');
  const given = parsed(isWildcard ? entry.slice(2) : entry);
  if (given === null) return null;
  if (given.port === null ? !WEB_PORTS.includes(port) : given.port !== port) return null;
  if (!isWildcard) return given.host === host ? 'named' : null;
  return host.endsWith(`.${given.host}`) ? 'public' : null;
}

/** `example.org:443`, `[2001:db8::1]:443`, as a client asks for it; null when it is neither a host nor a port. */
export function destinationOf(authority: string, usualPort: number | null = null): Destination | null {
  const asked = isAscii(authority) ? parsed(authority) : null;
  const port = asked?.port ?? usualPort;
  return asked === null || port === null ? null : { host: asked.host, port };
}

/** As it is written before a request and in messages: the opposite of `destinationOf`. */
export const authorityOf = ({ host, port }: Destination): string =>
  `${host.includes(':') ? `[${host}]` : host}:${port}`;

function parsed(text: string): { host: string; port: number | null } | null {
  const [, before, digits] = /^([^:]+|\[.*\]):(\d{1,5})$/.exec(text) ?? [];
  const host = hostOf(before ?? text);
  const port = digits === undefined ? null : Number(digits);
  return host === null || (port !== null && !isPort(port)) ? null : { host, port };
}

/** In lower case, international names as `xn--`, addresses in their shortest form, however they were written. */
function hostOf(text: string): string | null {
  const isV6 = text.includes(':');
  const bare = isV6 ? text.replace(/^\[(.*)\]$/, '$1') : text.replace(/\.$/, '');
  const url = `http://${isV6 ? `[${bare}]` : bare}`;
  if (!(isV6 ? V6_LETTERS : NAME_LETTERS).test(bare) || !URL.canParse(url)) return null;
  const host = new URL(url).hostname.replace(/^\[(.*)\]$/, '$1');
  return isV6 || (host.length <= 253 && NAME.test(host)) ? host : null;
}

/** Nothing that a URL would take for the end of its host, or leave out. */
const NAME_LETTERS = /^[\w.\u0080-\u{10ffff}-]+$/u;
const V6_LETTERS = /^[\da-f:.]+$/i;
const NAME = /^[a-z\d_-]{1,63}(\.[a-z\d_-]{1,63})*$/;

/** Clients send names as `xn--`; what looks like a letter and is none has no business here. */
const isAscii = (text: string): boolean => /^[!-~]+$/.test(text);
const isPort = (port: number): boolean => Number.isInteger(port) && port > 0 && port < 65_536;

/** Of a host in its one form: there, no name ends in a number. */
const isAddress = (host: string): boolean => host.includes(':') || /\.\d+$/.test(host);

/**
 * Whether an address belongs to somebody on the internet. Loopback, private, link-local and shared networks, multicast,
 * whatever is reserved, and IPv4 in the clothes of IPv6 do not.
 */
export function isPublicAddress(address: string): boolean {
  const host = hostOf(address);
  if (host === null || !isAddress(host)) return false;
  return host.includes(':') ? isPublicV6(groupsOf(host)) : isPublicV4(numberOf(host));
}

const isPublicV4 = (address: number): boolean =>
  !NOT_PUBLIC_V4.some(([base, bits]) => {
    const size = 2 ** (32 - bits);
    return Math.floor(address / size) === Math.floor(numberOf(base) / size);
  });

const NOT_PUBLIC_V4: readonly (readonly [string, number])[] = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
  // The host of an Azure machine, which hands out its certificates.
  ['168.63.129.16', 32],
];

const numberOf = (v4: string): number => v4.split('.').reduce((sum, part) => sum * 256 + Number(part), 0);

/** Only 2000::/3 was ever given out, and of that not the tunnels, the examples and the registry's own. */
function isPublicV6(groups: readonly number[]): boolean {
  const [first = 0, second = 0] = groups;
  // With NAT64, every IPv4 host has such an address.
  if (groups.slice(0, 6).join() === NAT64) return isPublicV4(groups[6]! * 65_536 + groups[7]!);
  if (first < 0x2000 || first > 0x3fff) return false;
  if (first === 0x2001) return second >= 0x200 && second !== 0xdb8;
  return first !== 0x2002 && !(first === 0x3fff && second < 0x1000);
}

const NAT64 = [0x64, 0xff9b, 0, 0, 0, 0].join();

/** The eight parts of an IPv6 address in its shortest form. */
export function groupsOf(v6: string): number[] {
  const [left = [], right = []] = v6.split('::').map((half) => half.split(':').filter(Boolean));
  const zeros = Array.from({ length: 8 - left.length - right.length }, () => '0');
  return [...left, ...zeros, ...right].map((group) => Number.parseInt(group, 16));
}

/** What is wrong with an entry of a list a person wrote, and what to write; null when nothing is. */
export function domainProblem(entry: string): string | null {
  const isWildcard = entry.startsWith('*.');
  const rest = isWildcard ? entry.slice(2) : entry;
  const known = PROBLEMS.find(([pattern]) => pattern.test(rest));
  if (known) return known[1];
  const given = parsed(rest);
  if (given) return isWildcard && isAddress(given.host) ? 'is an address, which has no subdomains' : null;
  return parsed(rest.replace(/:[^:\]]*$/, ''))
    ? 'has a port that is not a number from 1 to 65535'
    : 'is neither a domain nor an address';
}

const PROBLEMS: readonly (readonly [RegExp, string])[] = [
  [/^\s*$/, 'is empty'],
  [/^\*$/, 'is every host: write `any` instead of the list'],
  [/^(any|host)$/i, 'is not a domain: write it instead of the list'],
  [/:\/\//, 'is a URL: write the host alone'],
  [/[/?#]/, 'has a path: write the host alone'],
  [/@/, 'has a user: write the host alone'],
  [/\*/, 'has a `*` in the middle: it may only be all that is before a domain, as in `*.example.org`'],
  [/^\.|\.\./, 'has an empty part: for all subdomains of a domain write `*.` before it'],
];

/**
 * A name that stands for several hosts: those a package manager installs from. GitHub is none of them, since it takes
 * whatever anybody sends. Composer's archives and newer distributions of Gradle are there: who needs them has to name it.
 */
export const NETWORK_PRESETS: Readonly<Record<string, readonly string[]>> = {
  pypi: ['pypi.org', 'files.pythonhosted.org'],
  crates: ['index.crates.io', 'static.crates.io'],
  go: ['proxy.golang.org', 'sum.golang.org'],
  maven: [
    'repo.maven.apache.org',
    'repo1.maven.org',
    'plugins.gradle.org',
    'plugins-artifacts.gradle.org',
    'services.gradle.org',
    'downloads.gradle.org',
  ],
  yarn: ['registry.yarnpkg.com', 'repo.yarnpkg.com'],
  rubygems: ['rubygems.org', 'index.rubygems.org'],
  nuget: ['api.nuget.org', 'globalcdn.nuget.org'],
  packagist: ['packagist.org', 'repo.packagist.org'],
};

/** Every preset as the hosts it stands for; `npm` stands for those of the operator's own registries. */
export function withoutPresets(network: readonly string[], npmHosts: readonly string[]): string[] {
  const hosts = new Map(Object.entries({ ...NETWORK_PRESETS, npm: npmHosts }));
  return [...new Set(network.flatMap((entry) => hosts.get(entry.toLowerCase()) ?? [entry]))];
}

/** Reached from this machine alone. */
export const isLoopback = (address: string): boolean =>
  address === 'localhost' || address === '::1' || /^127(\.\d{1,3}){3}$/.test(address);
