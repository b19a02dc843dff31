import { describe, expect, test } from 'vitest';
import {
  authorityOf,
  destinationOf,
  domainProblem,
  grantOf,
  isPublicAddress,
  NETWORK_PRESETS,
  withoutPresets,
} from './network.ts';

const grant = (entries: readonly string[], host: string, port = 443) => grantOf(entries, { host, port });

describe('a list of domains', () => {
  test.each([
    ['example.org', 'example.org'],
    ['example.org', 'EXAMPLE.org'],
    ['Example.ORG.', 'example.org'],
    ['example.org', 'example.org.'],
    ['a_b.example.org', 'a_b.example.org'],
    ['bücher.example', 'xn--bcher-kva.example'],
    ['xn--bcher-kva.example', 'xn--bcher-kva.example'],
    ['localhost', 'localhost'],
    ['127.0.0.1', '127.0.0.1'],
    ['127.0.0.1', '127.1'],
    ['10.0.0.5', '10.0.0.5'],
    ['::1', '0:0::1'],
    ['[fd00::1]', 'fd00::1'],
    ['fd00::1', '[FD00::1]'],
  ])('%s names %s', (entry, host) => {
    expect(grant([entry], host)).toBe('named');
  });

  test.each([
    ['*.example.org', 'a.example.org'],
    ['*.example.org', 'A.b.c.Example.org.'],
    ['*.bücher.example', 'www.xn--bcher-kva.example'],
  ])('%s leaves %s to where it leads', (entry, host) => {
    expect(grant([entry], host)).toBe('public');
  });

  test.each([
    ['example.org', 'www.example.org'],
    ['example.org', 'example.org.evil.com'],
    ['example.org', 'evilexample.org'],
    ['example.org', 'example.org@evil.com'],
    ['example.org', 'example.org:443@evil.com'],
    ['example.org', 'example.org%00.evil.com'],
    ['example.org', 'example.org\0.evil.com'],
    ['example.org', 'example.org#.evil.com'],
    ['example.org', 'example.org/.evil.com'],
    ['example.org', 'example.org\\.evil.com'],
    ['example.org', 'exam\tple.org'],
    ['example.org', ' example.org'],
    ['example.org', '%65xample.org'],
    ['example.org', 'example.org..'],
    ['example.org', 'example.org:443'],
    ['example.org', '[example.org]'],
    ['example.org', 'ex\u0430mple.org'],
    ['example.org', 'xn--exmple-4nf.org'],
    ['example.org', '\uff45xample.org'],
    ['example.org', 'example\u3002org'],
    ['example.org', 'examp1e.org'],
    ['example.org', ''],
    ['*.example.org', 'example.org'],
    ['*.example.org', '.example.org'],
    ['*.example.org', 'evilexample.org'],
    ['*.example.org', 'a.example.org.evil.com'],
    ['*.example.org', '*.example.org'],
    ['*.0.0.1', '127.0.0.1'],
    ['127.0.0.1', '127.0.0.2'],
    ['127.0.0.1', '::ffff:127.0.0.1'],
    ['::1', '::2'],
    ['fe80::1', 'fe80::1%eth0'],
    ['*', 'example.org'],
    ['any', 'example.org'],
    ['https://example.org', 'example.org'],
    ['', 'example.org'],
  ])('%s does not grant %j', (entry, host) => {
    expect(grant([entry], host)).toBeNull();
  });

  test('an exact name says more than a wildcard, wherever it stands', () => {
    expect(grant(['*.example.org', 'db.example.org'], 'db.example.org')).toBe('named');
    expect(grant([], 'example.org')).toBeNull();
  });

  test.each([
    ['example.org', 80, 'named'],
    ['example.org', 443, 'named'],
    ['example.org', 22, null],
    ['example.org', 8080, null],
    ['example.org:8080', 8080, 'named'],
    ['example.org:8080', 443, null],
    ['*.example.org:8080', 8080, null],
    ['example.org', 0, null],
    ['example.org', 443.5, null],
  ])('%s on port %d: %s', (entry, port, expected) => {
    expect(grant([entry], 'example.org', port)).toBe(expected);
  });

  test('a wildcard and an IPv6 address may have a port, too', () => {
    expect(grant(['*.example.org:8080'], 'a.example.org', 8080)).toBe('public');
    expect(grant(['*.example.org:8080'], 'a.example.org', 443)).toBeNull();
    expect(grant(['[::1]:8080'], '::1', 8080)).toBe('named');
    expect(grant(['[::1]:8080'], '::1', 443)).toBeNull();
  });
});

test.each([
  ['example.org', 'public'],
  ['localhost', 'public'],
  ['93.184.215.14', 'public'],
  ['2606:2800:21f:cb07:6820:80da:af6b:8b2c', 'public'],
  ['127.0.0.1', null],
  ['0x7f.1', null],
  ['2130706433', null],
  ['169.254.169.254', null],
  ['::1', null],
  ['[::1]', null],
  ['::ffff:169.254.169.254', null],
  ['ex\u0430mple.org', null],
  ['exam ple.org', null],
])('any public host: %s is %s before its name is resolved', (host, expected) => {
  expect(grantOf('any', { host, port: 443 })).toBe(expected);
  expect(grantOf('any', { host, port: 2222 })).toBe(expected);
});

test.each([
  ['example.org:443', { host: 'example.org', port: 443 }],
  ['Example.ORG.:443', { host: 'example.org', port: 443 }],
  ['[2001:DB8:0::1]:8443', { host: '2001:db8::1', port: 8443 }],
  ['0x7f.1:80', { host: '127.0.0.1', port: 80 }],
  ['example.org', null],
  ['example.org:', null],
  ['example.org:0', null],
  ['example.org:65536', null],
  ['example.org:443:443', null],
  ['example.org:+443', null],
  ['example.org:https', null],
  [':443', null],
  ['', null],
  ['::1', null],
  ['a..b:443', null],
  ['user@example.org:443', null],
  ['example.org/x:443', null],
  ['256.1.1.1:443', null],
  ['\uff45xample.org:443', null],
  [`${'a'.repeat(64)}.org:443`, null],
  [`${'a.'.repeat(130)}org:443`, null],
])('%s as a target: %j', (text, expected) => {
  expect(destinationOf(text)).toEqual(expected);
});

test('a target may have a usual port, and is written as it is read', () => {
  expect(destinationOf('example.org', 80)).toEqual({ host: 'example.org', port: 80 });
  expect(destinationOf('example.org:81', 80)).toEqual({ host: 'example.org', port: 81 });
  for (const authority of ['example.org:443', '[2001:db8::1]:443', '10.0.0.1:80'])
    expect(authorityOf(destinationOf(authority)!)).toBe(authority);
});

describe('addresses', () => {
  test.each([
    '1.1.1.1',
    '9.255.255.255',
    '11.0.0.0',
    '100.63.255.255',
    '100.128.0.0',
    '128.0.0.1',
    '169.253.255.255',
    '172.15.255.255',
    '172.32.0.0',
    '192.167.255.255',
    '198.17.255.255',
    '198.20.0.0',
    '223.255.255.255',
    '168.63.129.17',
    '2606:4700:4700::1111',
    '2a00:1450:4001:800::200e',
    '2001:200::1',
    '2001:4860:4860::8888',
    '64:ff9b::1.1.1.1',
  ])('%s is public', (address) => {
    expect(isPublicAddress(address)).toBe(true);
  });

  test.each([
    '0.0.0.0',
    '0.1.2.3',
    '10.0.0.1',
    '10.255.255.255',
    '100.64.0.1',
    '100.100.100.200',
    '100.127.255.255',
    '127.0.0.1',
    '127.255.255.254',
    '168.63.129.16',
    '169.254.169.254',
    '172.16.0.1',
    '172.31.255.255',
    '192.0.0.192',
    '192.0.2.1',
    '192.88.99.1',
    '192.168.1.1',
    '198.18.0.1',
    '198.19.255.255',
    '198.51.100.7',
    '203.0.113.7',
    '224.0.0.1',
    '239.255.255.255',
    '240.0.0.1',
    '255.255.255.255',
    '::',
    '::1',
    '::ffff:10.0.0.1',
    '::ffff:1.1.1.1',
    '::ffff:7f00:1',
    '::127.0.0.1',
    '64:ff9b::10.0.0.1',
    '64:ff9b::a9fe:a9fe',
    '64:ff9b:1::1.1.1.1',
    '100::1',
    'fc00::1',
    'fd00:ec2::254',
    'fe80::1',
    'fe80::1%eth0',
    'fec0::1',
    'ff02::1',
    '2001::1',
    '2001:10::1',
    '2001:db8::1',
    '2002:7f00:1::1',
    '2002:101:101::1',
    '3fff::1',
    '5f00::1',
    'example.org',
    '1.1.1.1.1',
    '1.1.1.1 ',
    '',
  ])('%j is not public', (address) => {
    expect(isPublicAddress(address)).toBe(false);
  });
});

describe('entries a person wrote', () => {
  test.each([
    'example.org',
    'example.org.',
    'Example.org:8080',
    '*.example.org',
    '*.example.org:8080',
    'bücher.example',
    'localhost',
    '127.0.0.1:5432',
    '::1',
    '[::1]:5432',
    'pypi',
  ])('%s is fine', (entry) => {
    expect(domainProblem(entry)).toBeNull();
  });

  test.each([
    ['', /empty/],
    ['  ', /empty/],
    ['*', /`any`/],
    ['*.*', /`any`/],
    ['*.', /empty/],
    ['any', /instead of the list/],
    ['host', /instead of the list/],
    ['https://example.org', /URL/],
    ['example.org/path', /path/],
    ['10.0.0.0/8', /path/],
    ['example.org?x', /path/],
    ['ann@example.org', /user/],
    ['a.*.example.org', /`\*` in the middle/],
    ['a*.example.org', /`\*` in the middle/],
    ['*example.org', /`\*` in the middle/],
    ['*.*.example.org', /`\*` in the middle/],
    ['.example.org', /empty part.*`\*\.`/],
    ['example..org', /empty part/],
    ['example.org..', /empty part/],
    ['*..example.org', /empty part/],
    ['example.org:', /port/],
    ['example.org:https', /port/],
    ['example.org:0', /port/],
    ['example.org:70000', /port/],
    ['[::1]:0', /port/],
    ['exam ple.org', /neither/],
    [' example.org', /neither/],
    ['exa%6dple.org', /neither/],
    ['256.0.0.1', /neither/],
    ['fe80::zz', /neither/],
    ['*.127.0.0.1', /no subdomains/],
  ])('%j: %s', (entry, problem) => {
    expect(domainProblem(entry)).toMatch(problem);
  });
});

describe('presets', () => {
  test('are exact domains, none of them twice', () => {
    const hosts = Object.values(NETWORK_PRESETS).flat();
    expect(hosts.filter((host) => domainProblem(host) !== null || host.startsWith('*.'))).toEqual([]);
    expect(new Set(hosts).size).toBe(hosts.length);
    for (const host of hosts) expect(grant(hosts, host), host).toBe('named');
  });

  test('stand for their hosts', () => {
    const network = ['example.org', 'npm', 'PyPI', 'pypi', '*.example.com'];
    expect(withoutPresets(network, ['npm.example:4873'])).toEqual([
      'example.org',
      'npm.example:4873',
      'pypi.org',
      'files.pythonhosted.org',
      '*.example.com',
    ]);
    expect(withoutPresets(['npm'], [])).toEqual([]);
    expect(withoutPresets(['constructor'], [])).toEqual(['constructor']);
  });
});
