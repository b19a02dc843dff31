/**
 * `~` and `$VAR`, in the keys that document them and nowhere else: paths (`workspace.root`, `agent.script`,
 * `roles.<role>.script`, `loop.skills`, `sandbox.read`, `roles.<role>.access.read` and `.write`, files under `loop.worktree_files`), values under `tracker.provider` and `mcp.<server>.env`, `webhook.secret`, `server.token`, and `url`, `secret` and `token` under `notify.channels`. Commands and prompts keep their
 * dollars. A variable that is not set, or is empty, makes its key count as not given.
 */
import { resolve } from 'node:path';
import { ROLES } from '../core/role.ts';
import { isMap, valueAt } from './map.ts';
import type { Warn } from './warn.ts';

export type Env = Readonly<Record<string, string | undefined>>;

interface Surroundings {
  env: Env;
  home: string;
  /** Where relative paths start. */
  folder: string;
  warn: Warn;
}

/** Changes `given` in place; values of a wrong type are left for validation to name. */
export function expandEnvironment(given: Record<string, unknown>, around: Surroundings): void {
  const files = valueAt(given, ['loop', 'worktree_files']);
  const placed = isMap(files) ? Object.keys(files).map((name) => ['loop', 'worktree_files', name]) : [];
  for (const path of [...PATHS, ...placed]) expand(given, path, around, (text) => expandPath(text, around));
  for (const path of PATH_LISTS) expandList(given, path, around);
  const provider = valueAt(given, ['tracker', 'provider']);
  const names = isMap(provider) ? Object.keys(provider) : [];
  const servers = isMap(given.mcp) ? Object.entries(given.mcp) : [];
  const variables = servers.flatMap(([name, server]) => {
    const env = isMap(server) ? server.env : null;
    return isMap(env) ? Object.keys(env).map((variable) => ['mcp', name, 'env', variable]) : [];
  });
  const secrets = [
    ['webhook', 'secret'],
    ['server', 'token'],
    ...channelSecrets(given),
    ...names.map((name) => ['tracker', 'provider', name]),
    ...variables,
  ];
  const token = valueAt(given, ['server', 'token']);
  if (typeof token === 'string' && !isVariable(token))
    around.warn(
      ['server', 'token'],
      'server.token is in the file, where agents can read it',
      'Write `$VAR` in its place, and set that variable.',
    );
  for (const path of secrets) expand(given, path, around, (text) => expandSecret(text, around.env));
}

/** Keys of channels that are secrets: they are only ever written as a variable. */
const CHANNEL_SECRETS = ['url', 'secret', 'token'];

export function channelSecrets(given: unknown): string[][] {
  const channels = valueAt(given, ['notify', 'channels']);
  return Object.entries(isMap(channels) ? channels : {}).flatMap(([name, channel]) =>
    CHANNEL_SECRETS.filter((key) => isMap(channel) && channel[key] !== undefined).map((key) => [
      ...['notify', 'channels'],
      ...[name, key],
    ]),
  );
}

export const isVariable = (text: unknown): boolean => typeof text === 'string' && VARIABLE.test(text.trim());

const VARIABLE = /^\$(?:\{(\w+)\}|(\w+))$/;

const PATHS = [
  ['workspace', 'root'],
  ['loop', 'skills'],
  ['agent', 'script'],
  ...ROLES.map((role) => ['roles', role, 'script']),
];

const PATH_LISTS = [
  ['sandbox', 'read'],
  ...ROLES.flatMap((role) => ['read', 'write'].map((kind) => ['roles', role, 'access', kind])),
];

function expandList(given: Record<string, unknown>, path: readonly string[], around: Surroundings): void {
  const parent = valueAt(given, path.slice(0, -1));
  const name = path.at(-1) as string;
  const list = isMap(parent) ? parent[name] : undefined;
  if (!isMap(parent) || !Array.isArray(list)) return;
  parent[name] = list.flatMap((said: unknown) => {
    if (typeof said !== 'string') return [said];
    const { text, unset } = expandPath(said.trim(), around);
    if (unset === null) return [text];
    around.warn(
      path,
      `${path.join('.')}: ${said} counts as not given: the variable ${unset} is not set or is empty`,
      setOrRemove(unset),
    );
    return [];
  });
}

const setOrRemove = (variable: string): string => `Set ${variable}, or remove the key.`;

interface Expanded {
  text: string;
  unset: string | null;
}

function expand(
  given: object,
  path: readonly string[],
  around: Surroundings,
  how: (text: string) => Expanded,
): void {
  const name = path.at(-1) as string;
  const parent = valueAt(given, path.slice(0, -1));
  const value = isMap(parent) ? parent[name] : undefined;
  if (!isMap(parent) || typeof value !== 'string') return;
  const { text, unset } = how(value.trim());
  if (unset === null) {
    parent[name] = text;
    return;
  }
  delete parent[name];
  const warning = `${path.join('.')} counts as not given: the variable ${unset} is not set or is empty`;
  around.warn(path, warning, setOrRemove(unset));
}

function expandPath(text: string, { env, home, folder }: Surroundings): Expanded {
  let unset: string | null = null;
  const filled = text.replace(/\$(?:\{(\w+)\}|(\w+))/g, (_whole, braced?: string, bare?: string) => {
    const variable = braced ?? (bare as string);
    const value = env[variable];
    if (!value) unset ??= variable;
    return value ?? '';
  });
  const homely = filled === '~' || filled.startsWith('~/') ? home + filled.slice(1) : filled;
  return { text: homely === '' ? '' : resolve(folder, homely), unset };
}

/** Only a value that is a variable and nothing else: a literal token may contain a dollar. */
function expandSecret(text: string, env: Env): Expanded {
  const variable = VARIABLE.exec(text);
  if (!variable) return { text, unset: null };
  const name = variable[1] ?? (variable[2] as string);
  return { text: env[name] ?? '', unset: env[name] ? null : name };
}
