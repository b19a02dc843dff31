/** What a person may do in the repository, looked up by name and remembered for a while. */
import { memo } from './memo.ts';
import type { Place } from './place.ts';
import { permissionShape } from './shapes.ts';

const ROLES = ['triage', 'write', 'maintain', 'admin'] as const;
export type Role = (typeof ROLES)[number];

export interface Roles {
  of(login: string): Promise<string>;
  mayWrite(login: string): Promise<boolean>;
}

const FRESH_MS = 600_000;
const REMEMBERED = 500;

export function openRoles({ client, at, now }: Pick<Place, 'client' | 'at' | 'now'>): Roles {
  const known = memo<string, { role: string; at: number }>(REMEMBERED);
  const of = async (login: string): Promise<string> => {
    const found = known.get(login);
    if (found && now() - found.at < FRESH_MS) return found.role;
    const route = '/repos/{owner}/{repo}/collaborators/{username}/permission';
    const given = await client.get(route, { ...at, username: login }, permissionShape);
    const role = given?.role_name ?? given?.permission ?? 'none';
    known.set(login, { role, at: now() });
    return role;
  };
  return { of, mayWrite: async (login) => isAtLeast(await of(login), 'write') };
}

/** A role we do not know (organisations make their own) is none: fail closed. */
export const isAtLeast = (role: string, wanted: Role): boolean =>
  (ROLES as readonly string[]).indexOf(role) >= ROLES.indexOf(wanted);
