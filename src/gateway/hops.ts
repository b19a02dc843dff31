/** Headers that are for the next hop only. */
import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http';

const HOPS = [
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
];

/** Without those, what the connection names, and these. */
export function withoutHops(headers: IncomingHttpHeaders, more: readonly string[] = []): OutgoingHttpHeaders {
  const named = (headers.connection ?? '').split(',').map((name) => name.trim().toLowerCase());
  const left = new Set([...HOPS, ...named, ...more]);
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !left.has(name)));
}
