/** Keys that are right by themselves, and that no agent of these settings reads: most often left over from another kind. */
import { ROLES, type Role } from '../core/role.ts';
import type { Workflow } from './schema.ts';

const KEYS = ['command', 'script', 'preset'] as const;
type Key = (typeof KEYS)[number];
type Kind = Workflow['agent']['kind'];

interface Unused {
  path: string[];
  text: string;
}

export function unusedKeys({ agent, roles }: Workflow): Unused[] {
  const effective = ROLES.map((role) => {
    const own: Partial<NonNullable<Workflow['roles'][Role]>> = roles[role] ?? {};
    return { role, own, kind: own.kind ?? agent.kind, preset: own.preset ?? agent.preset };
  });
  const ofAgent = KEYS.filter((key) => agent[key] !== null).flatMap((key): Unused[] => {
    const isRead = effective.some(
      ({ own, kind, preset }) => own[key] === undefined && reads(kind, preset, key),
    );
    return isRead ? [] : [unused(['agent', key], [...new Set(effective.map(({ kind }) => kind))], key)];
  });
  const ofRoles = effective.flatMap(({ role, own, kind, preset }) =>
    KEYS.filter((key) => own[key] !== undefined && !reads(kind, preset, key)).map((key) =>
      unused(['roles', role satisfies Role, key], [kind], key),
    ),
  );
  return [...ofAgent, ...ofRoles];
}

/** A preset of acp says itself which program that is. */
function reads(kind: Kind, preset: string | null, key: Key): boolean {
  if (key === 'script') return kind === 'scripted';
  if (key === 'preset') return kind === 'acp';
  return kind === 'command' || (kind === 'acp' && preset === null);
}

const OF: Record<Key, string> = {
  command: '`command`, or `acp` without a preset',
  script: '`scripted`',
  preset: '`acp`',
};

const unused = (path: string[], kinds: readonly Kind[], key: Key): Unused => ({
  path,
  text: `"${path.join('.')}" is not used: it is for agents of kind ${OF[key]}, and here ${kinds.length === 1 ? 'the kind is' : 'the kinds are'} ${kinds.map((kind) => `\`${kind}\``).join(', ')}`,
});
