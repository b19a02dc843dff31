/**
 * What a token may do, beside what its account may: a classic one all of it, a fine-grained one what it was given.
 *
 * Fine-grained tokens can't be given "Checks" (github.com/orgs/community/discussions/179545), and what they lack is
 * refused with 403 and "Resource not accessible by personal access token" before anything else is looked at
 * (docs.github.com/rest/using-the-rest-api/troubleshooting-the-rest-api); GraphQL leaves it out and says FORBIDDEN.
 */
import { says } from './error-texts.ts';
import type { World } from './world.ts';

export const notAccessible = (world: World, login: string): string =>
  says(world.users.get(login.toLowerCase())?.type === 'Bot' ? 'notByApp' : 'notByToken');

/** Those a person can choose for a fine-grained token, of the ones that matter here; `write` includes `read`. */
export const EVERY_RIGHT = [
  'metadata=read',
  'contents=write',
  'issues=write',
  'pull_requests=write',
  'statuses=write',
  'actions=read',
];

/** From now on the token of this account is a fine-grained one with these rights. */
export function makeFineGrained(world: World, login: string, rights: readonly string[]): void {
  for (const token of world.tokens.values()) if (token.login === login) token.rights = rights;
}

/** A classic token names its scopes with every answer; no other kind does. */
export function scopesOf(world: World, login: string | null): Record<string, string> {
  const scopes = [...world.tokens.values()].find((one) => one.login === login)?.scopes;
  return scopes === undefined ? {} : { 'x-oauth-scopes': scopes };
}

/** `statuses=read`; `write` includes it. */
export function mayUse(world: World, login: string, needed: string): boolean {
  const token = [...world.tokens.values()].find((one) => one.login === login);
  if (token?.lacks.includes(needed)) return false;
  const rights = token?.rights ?? null;
  if (rights === null) return true;
  const [name, level] = needed.split('=');
  // Anybody may read what is public, apart from logs and settings; a project is an organization's.
  const isPublic =
    level === 'read' && !world.isPrivate && !['actions', 'administration', 'projects'].includes(name!);
  return isPublic || rights.includes(needed) || rights.includes(`${name}=write`);
}
