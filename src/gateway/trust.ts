/**
 * Whom calls over TLS trust: what Node does, and what the programs that make these calls themselves would: the system's own
 * authorities, where a company's often is, and those that the operator's variables name.
 */
import { readFileSync } from 'node:fs';
import { rootCertificates } from 'node:tls';

type Environment = Readonly<Record<string, string | undefined>>;

const OF_SYSTEM = [
  '/etc/ssl/certs/ca-certificates.crt',
  '/etc/pki/tls/certs/ca-bundle.crt',
  '/etc/ssl/ca-bundle.pem',
  '/etc/ssl/cert.pem',
];

export const authorities = (operator: Environment): string[] => [
  ...rootCertificates,
  ...ofSystem(),
  ...namedBy(operator, ['SSL_CERT_FILE', 'NODE_EXTRA_CA_CERTS']),
];

/** Each tool looks for its own: a file in place of what it trusts by itself, or, of the last two, besides. */
const BUNDLE_VARIABLES = [
  'SSL_CERT_FILE',
  'CURL_CA_BUNDLE',
  'REQUESTS_CA_BUNDLE',
  'PIP_CERT',
  'GIT_SSL_CAINFO',
  'CARGO_HTTP_CAINFO',
  'NIX_SSL_CERT_FILE',
  'AWS_CA_BUNDLE',
  'DENO_CERT',
  'NODE_EXTRA_CA_CERTS',
];

/** What the operator's programs trust, and one more. */
export function bundleWith(operator: Environment, own: string): string {
  const system = ofSystem();
  const usual = system.length > 0 ? system : rootCertificates;
  return [...new Set([...usual, ...namedBy(operator, BUNDLE_VARIABLES), own])].join('\n');
}

export const trusting = (bundle: string): Record<string, string> =>
  Object.fromEntries(BUNDLE_VARIABLES.map((name) => [name, bundle]));

const ofSystem = (): string[] => OF_SYSTEM.map(textIn).filter(Boolean).slice(0, 1);

const namedBy = (operator: Environment, names: readonly string[]): string[] =>
  names.map((name) => textIn(operator[name] ?? '')).filter(Boolean);

function textIn(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
