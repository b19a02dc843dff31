/**
 * Certificates of a door's own, for hosts whose requests it has to read. Node checks certificates and issues none; what it
 * takes to issue these two kinds is so little DER that a library for it would be more to trust.
 *
 * The authority is for one command. Its key never leaves memory, and it can speak for the hosts it was made for and no
 * others, whoever trusts it (RFC 5280, 4.2.1.10).
 */
import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import { isIP } from 'node:net';
import { groupsOf } from '../core/access/network.ts';

interface Authority {
  /** Its certificate, in PEM. */
  certificate: string;
  /** What a server of one of its hosts shows, in PEM. */
  issue(host: string): { key: string; cert: string };
}

/** Longer than any turn may take. */
const LASTS_MS = 30 * 86_400_000;
/** Clocks of sandboxes are ours; those of machines that were asleep may be behind. */
const BEFORE_MS = 86_400_000;

export function newAuthority(hosts: readonly string[], now: number): Authority {
  const own = keys();
  const server = keys();
  const name = nameOf(`forge-loop ${randomBytes(8).toString('hex')}`);
  const from = { issuer: name, issuerKey: own, now };
  return {
    certificate: certified(from, name, own.spki, [
      extension(OID.basicConstraints, true, sequence(TRUE, integer(Buffer.from([0])))),
      extension(OID.keyUsage, true, bits(KEY_CERT_SIGN)),
      extension(OID.subjectKeyIdentifier, false, octets(own.id)),
      extension(OID.nameConstraints, true, only(hosts)),
    ]),
    issue: (host) => ({
      key: server.private.export({ type: 'pkcs8', format: 'pem' }) as string,
      cert: certified(from, nameOf('forge-loop'), server.spki, [
        extension(OID.basicConstraints, true, sequence()),
        extension(OID.keyUsage, true, bits(DIGITAL_SIGNATURE)),
        extension(OID.extendedKeyUsage, false, sequence(oid(OID.serverAuth))),
        extension(OID.subjectAltName, false, sequence(generalName(host, addressOf(host)))),
        extension(OID.subjectKeyIdentifier, false, octets(server.id)),
        extension(OID.authorityKeyIdentifier, false, sequence(der(0x80, own.id))),
      ]),
    }),
  };
}

interface Keys {
  private: KeyObject;
  spki: Buffer;
  id: Buffer;
}

function keys(): Keys {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const spki = publicKey.export({ type: 'spki', format: 'der' });
  return { private: privateKey, spki, id: createHash('sha1').update(spki).digest() };
}

function certified(
  { issuer, issuerKey, now }: { issuer: Buffer; issuerKey: Keys; now: number },
  subject: Buffer,
  spki: Buffer,
  extensions: readonly Buffer[],
): string {
  const algorithm = sequence(oid(OID.ecdsaWithSha256));
  const serial = randomBytes(16);
  serial[0] = (serial[0]! & 0x3f) | 0x40;
  const body = sequence(
    der(0xa0, integer(Buffer.from([2]))),
    integer(serial),
    algorithm,
    issuer,
    sequence(time(now - BEFORE_MS), time(now + LASTS_MS)),
    subject,
    spki,
    der(0xa3, sequence(...extensions)),
  );
  const signature = sign('sha256', body, issuerKey.private);
  return pem(sequence(body, algorithm, der(0x03, Buffer.from([0]), signature)));
}

/** These, and no other name of either form. An excluded name is an empty one, or a network of all addresses. */
function only(hosts: readonly string[]): Buffer {
  const isAddress = (host: string): boolean => isIP(host) !== 0;
  const subtree = (name: Buffer): Buffer => sequence(name);
  const permitted = hosts.map((host) => generalName(host, isAddress(host) ? oneAddress(host) : null));
  const excluded = [
    ...(hosts.every(isAddress) ? [generalName('', null)] : []),
    ...(hosts.some(isAddress) ? [] : [8, 32].map((length) => generalName('', Buffer.alloc(length)))),
  ];
  return sequence(
    der(0xa0, ...permitted.map(subtree)),
    ...(excluded.length > 0 ? [der(0xa1, ...excluded.map(subtree))] : []),
  );
}

const generalName = (host: string, address: Buffer | null): Buffer =>
  address ? der(0x87, address) : der(0x82, Buffer.from(host, 'latin1'));

/** An address and its mask. */
function oneAddress(host: string): Buffer {
  const address = addressOf(host)!;
  return Buffer.concat([address, Buffer.alloc(address.length, 0xff)]);
}

function addressOf(host: string): Buffer | null {
  if (isIP(host) === 4) return Buffer.from(host.split('.').map(Number));
  if (isIP(host) !== 6) return null;
  return Buffer.from(groupsOf(host).flatMap((group) => [group >> 8, group & 0xff]));
}

const nameOf = (commonName: string): Buffer =>
  sequence(der(0x31, sequence(oid(OID.commonName), der(0x0c, Buffer.from(commonName)))));

const extension = (id: string, isCritical: boolean, value: Buffer): Buffer =>
  sequence(oid(id), ...(isCritical ? [TRUE] : []), octets(value));

function time(ms: number): Buffer {
  const digits = new Date(ms).toISOString().replace(/\.\d+|[-:T]/g, '');
  return digits < '2050' ? der(0x17, Buffer.from(digits.slice(2))) : der(0x18, Buffer.from(digits));
}

const OID = {
  ecdsaWithSha256: '1.2.840.10045.4.3.2',
  commonName: '2.5.4.3',
  subjectKeyIdentifier: '2.5.29.14',
  keyUsage: '2.5.29.15',
  subjectAltName: '2.5.29.17',
  basicConstraints: '2.5.29.19',
  nameConstraints: '2.5.29.30',
  authorityKeyIdentifier: '2.5.29.35',
  extendedKeyUsage: '2.5.29.37',
  serverAuth: '1.3.6.1.5.5.7.3.1',
};

/** Bits of KeyUsage, with how many of the last byte are none. */
const DIGITAL_SIGNATURE = [7, 0x80];
const KEY_CERT_SIGN = [2, 0x04];

// --- DER: a tag, a length, what is in it

function der(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  const size =
    length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}

const sequence = (...parts: readonly Buffer[]): Buffer => der(0x30, ...parts);
const integer = (bytes: Buffer): Buffer => der(0x02, bytes);
const octets = (bytes: Buffer): Buffer => der(0x04, bytes);
const bits = (given: readonly number[]): Buffer => der(0x03, Buffer.from(given));
const TRUE = der(0x01, Buffer.from([0xff]));

function oid(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number);
  const base128 = (value: number): number[] =>
    value < 0x80 ? [value] : [...base128(value >> 7).map((byte) => byte | 0x80), value & 0x7f];
  return der(0x06, Buffer.from([first * 40 + second, ...rest.flatMap(base128)]));
}

const pem = (bytes: Buffer): string => {
  const lines = bytes.toString('base64').match(/.{1,64}/g) ?? [];
  return ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n');
};
