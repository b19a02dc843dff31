/** Keys that are right by themselves, and that nothing reads with these settings: most often left over from other ones. */
import { isDeepStrictEqual } from 'node:util';
import { ROLES, type Role } from '../core/role.ts';
import { valueAt } from './map.ts';
import { type Workflow, workflowSchema } from './schema.ts';

interface Unused {
  path: string[];
  text: string;
  fix: string;
}

/** `given`: what the file says. A key that says no more than its default does no harm. */
export function unusedKeys(workflow: Workflow, given: unknown): Unused[] {
  return [
    ...ofAgents(workflow),
    ...TABLE.filter(({ isRead }) => !isRead(workflow)).flatMap(({ keys, needs }) =>
      keys
        .map((key) => key.split('.'))
        .filter((path) => isSet(workflow, given, path))
        .map((path) => unused(path, `it needs ${needs}`)),
    ),
  ];
}

function isSet(workflow: Workflow, given: unknown, path: readonly string[]): boolean {
  if (valueAt(given, path) === undefined) return false;
  defaults ??= workflowSchema.parse({});
  return !isDeepStrictEqual(valueAt(workflow, path), valueAt(defaults, path));
}

/** Made when a key is found that may be unused: most files have none. */
let defaults: Workflow | null = null;

interface Row {
  keys: readonly string[];
  /** In words, what they are for. */
  needs: string;
  isRead(workflow: Workflow): boolean;
}

const TABLE: readonly Row[] = [
  {
    keys: ['tracker.provider', 'tracker.auth', 'trust.ready_by', 'webhook.port', 'webhook.secret'],
    needs: '`tracker.kind: github`',
    isRead: ({ tracker }) => tracker.kind === 'github',
  },
  {
    keys: ['webhook.bind'],
    needs: '`webhook.port`',
    isRead: ({ webhook }) => webhook.port !== null,
  },
  {
    keys: ['webhook.poll_interval_ms'],
    needs: '`webhook.secret`',
    isRead: ({ webhook }) => webhook.secret !== null,
  },
  {
    keys: [
      ...['critic.max_rounds', 'critic.parallel', 'roles.critic'],
      ...['prompts.critic', 'prompts.next_round'],
    ],
    needs: '`critic.enabled: true`',
    isRead: ({ critic }) => critic.enabled,
  },
  {
    keys: ['merge.method', 'merge.queue.batch', 'merge.co_author'],
    needs: '`merge.enabled: true`',
    isRead: ({ merge }) => merge.enabled,
  },
  {
    keys: ['deploy.timeout_ms', 'deploy.halt_on_failure', 'deploy.pass_env'],
    needs: '`deploy.command`',
    isRead: ({ deploy }) => deploy.command !== null,
  },
  {
    keys: ['gate.setup_cache'],
    needs: '`gate.setup`',
    isRead: ({ gate }) => gate !== 'none' && gate.setup.length > 0,
  },
  {
    keys: ['notify.digest_ms', 'notify.quiet_hours', 'notify.time_zone'],
    needs: 'a channel under `notify.channels`',
    isRead: ({ notify }) => Object.keys(notify.channels).length > 0,
  },
  {
    keys: ['agent.attach_command'],
    needs: 'a coder of kind `command` or `scripted`',
    isRead: ({ agent, roles }) => ['command', 'scripted'].includes(roles.coder?.kind ?? agent.kind),
  },
  {
    keys: ['loop.post_action.skill', 'loop.post_action.prompt', 'loop.post_action.model'],
    needs: '`loop.post_action.enabled: true`',
    isRead: ({ loop }) => loop.post_action.enabled,
  },
];

const KEYS = ['command', 'script', 'preset'] as const;
type Key = (typeof KEYS)[number];
type Kind = Workflow['agent']['kind'];

function ofAgents({ agent, roles }: Workflow): Unused[] {
  const effective = ROLES.map((role) => {
    const own: Partial<NonNullable<Workflow['roles'][Role]>> = roles[role] ?? {};
    return { role, own, kind: own.kind ?? agent.kind, preset: own.preset ?? agent.preset };
  });
  const ofAgent = KEYS.filter((key) => agent[key] !== null).flatMap((key): Unused[] => {
    const isRead = effective.some(
      ({ own, kind, preset }) => own[key] === undefined && reads(kind, preset, key),
    );
    const kinds = [...new Set(effective.map(({ kind }) => kind))];
    return isRead ? [] : [unused(['agent', key], otherKind(key, kinds))];
  });
  const ofRoles = effective.flatMap(({ role, own, kind, preset }) =>
    KEYS.filter((key) => own[key] !== undefined && !reads(kind, preset, key)).map((key) =>
      unused(['roles', role satisfies Role, key], otherKind(key, [kind])),
    ),
  );
  return [...ofAgent, ...ofRoles];
}

/** A preset of acp says itself which program that is. */
function reads(kind: Kind, preset: string | null, key: Key): boolean {
  if (key === 'script') return kind === 'scripted';
  if (key === 'preset') return kind === 'acp';
  return kind === 'command' || kind === 'codex' || (kind === 'acp' && preset === null);
}

const OF: Record<Key, string> = {
  command: '`command`, `codex`, or `acp` without a preset',
  script: '`scripted`',
  preset: '`acp`',
};

const otherKind = (key: Key, kinds: readonly Kind[]): string =>
  `it is for agents of kind ${OF[key]}, and here ${kinds.length === 1 ? 'the kind is' : 'the kinds are'} ${kinds.map((kind) => `\`${kind}\``).join(', ')}`;

const unused = (path: string[], why: string): Unused => ({
  path,
  text: `"${path.join('.')}" is not used: ${why}`,
  fix: 'Remove it.',
});
