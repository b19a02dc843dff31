import { execFileSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { newAuthority } from './certificate.ts';

const NOW = Date.UTC(2026, 10, 18);
const DAY_MS = 86_400_000;

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'forge-certificate-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** What openssl itself says of a server's certificate, by its strictest rules. */
function verified(authority: string, certificate: string, ...more: string[]): string {
  writeFileSync(join(folder, 'ca.pem'), authority);
  writeFileSync(join(folder, 'leaf.pem'), certificate);
  const when = ['-attime', String(NOW / 1000)];
  const how = ['-x509_strict', '-purpose', 'sslserver', '-no-CAfile', '-no-CApath', '-CAfile', 'ca.pem'];
  try {
    return execFileSync('openssl', ['verify', ...how, ...when, ...more, 'leaf.pem'], {
      cwd: folder,
      encoding: 'utf8',
      stdio: 'pipe',
    });
  } catch (error) {
    return (error as { stderr: string }).stderr;
  }
}

describe.each([
  ['a name', 'api.example.org', ['-verify_hostname', 'api.example.org']],
  ['an IPv4 address', '192.0.2.7', ['-verify_ip', '192.0.2.7']],
  ['an IPv6 address', '2001:db8::7', ['-verify_ip', '2001:db8::7']],
])('a server at %s', (_, host, asked) => {
  test('is believed by whoever trusts the authority, and by nobody else', () => {
    const authority = newAuthority([host], NOW);
    const { cert } = authority.issue(host);
    expect(verified(authority.certificate, cert, ...asked)).toBe('leaf.pem: OK\n');
    expect(verified(newAuthority([host], NOW).certificate, cert)).toMatch(/unable to get local issuer/);
  });

  test.each(['other.example.org', '192.0.2.8', '2001:db8::8'])('can’t be taken for %s', (other) => {
    const authority = newAuthority([host], NOW);
    expect(verified(authority.certificate, authority.issue(other).cert)).toMatch(
      /permitted subtree|excluded/,
    );
  });
});

test('several hosts of both forms, each believed', () => {
  const hosts = ['one.example', 'two.example', '192.0.2.7'];
  const authority = newAuthority(hosts, NOW);
  for (const host of hosts)
    expect(verified(authority.certificate, authority.issue(host).cert)).toBe('leaf.pem: OK\n');
  expect(verified(authority.certificate, authority.issue('three.example').cert)).toMatch(/permitted subtree/);
});

test('what a server shows can sign for nobody, and its key is not the authority’s', () => {
  const authority = newAuthority(['one.example'], NOW);
  const [own, leaf] = [authority.certificate, authority.issue('one.example').cert].map(
    (pem) => new X509Certificate(pem),
  );
  expect([own?.ca, leaf?.ca]).toEqual([true, false]);
  expect(leaf?.verify(own!.publicKey)).toBe(true);
  expect(own?.publicKey.equals(leaf!.publicKey)).toBe(false);
});

test.each([
  ['now', NOW],
  ['after 2050, when years have four digits', Date.UTC(2051, 0, 5)],
])('holds from a day before for a month: %s', (_, now) => {
  const { certificate } = newAuthority(['one.example'], now);
  const { validFrom, validTo } = new X509Certificate(certificate);
  expect([Date.parse(validFrom), Date.parse(validTo)]).toEqual([now - DAY_MS, now + 30 * DAY_MS]);
});
