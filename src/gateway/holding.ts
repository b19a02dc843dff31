/**
 * The secrets of one door. Whoever comes through it has a placeholder for each, made for this door alone; the value is put
 * in on the way to the hosts of that secret and to nobody else.
 */
import { randomBytes } from 'node:crypto';
import type { SecureContext } from 'node:tls';
import { authorityOf, type Destination, destinationOf } from '../core/access/network.ts';
import type { SecretPolicy } from '../core/access/secret.ts';
import { newAuthority } from './certificate.ts';
import { exchange } from './exchange.ts';
import type { Keeper } from './keeper.ts';
import { type SecretHost, secretHost } from './secured.ts';

export interface Holding {
  /** The variables with their placeholders. */
  env: Record<string, string>;
  /** Whom to trust for the hosts, in PEM. */
  certificate: string;
  hostAt(to: Destination): SecretHost | null;
}

/** Rejects when one of them can't be had. */
export async function hold(
  secrets: readonly SecretPolicy[],
  { keeper, trust }: { keeper: Keeper; trust(): SecureContext },
): Promise<Holding> {
  const held = await Promise.all(
    secrets.map(async (secret) => ({
      ...secret,
      placeholder: `held-by-forge-loop-${randomBytes(12).toString('hex')}`,
      value: await keeper.obtain(secret),
    })),
  );
  const names = secrets.flatMap(({ hosts }) => hosts.map((host) => destinationOf(host)!.host));
  const authority = newAuthority([...new Set(names)], Date.now());
  const known = new Map<string, SecretHost>();
  return {
    env: Object.fromEntries(held.map(({ name, placeholder }) => [name, placeholder])),
    certificate: authority.certificate,
    hostAt(to) {
      const place = authorityOf(to);
      const own = held.filter(({ hosts }) => hosts.includes(place));
      if (own.length === 0) return null;
      const host =
        known.get(place) ??
        secretHost(to, { trust, shown: authority.issue(to.host), exchange: exchange(own) });
      known.set(place, host);
      return host;
    },
  };
}
