/**
 * `~` and `$VAR`, in the keys that document them and nowhere else: paths (`workspace.root`, `agent.script`,
 * `roles.<role>.script`, `loop.skills`, files under `loop.worktree_files`), values under `tracker.provider`, and `webhook.secret`. Commands and prompts keep their
 * dollars. A variable that is not set, or is empty, makes its key count as not given.
 */
import { resolve } from 'node:path';
import { ROLES } from '../core/role.ts';
import { isMap, valueAt } from './map.ts';

export type Env = Readonly<Record<string, string | undefined>>;

interface Surroundings {
  env: Env;
  home: string;
  /** Where relative paths start. */
  folder: string;
  warn(at: readonly string[], message: string): void;
}

/** Changes `given` in place; values of a wrong type are left for validation to name. */
export function expandEnvironment(given: Record<string, unknown>, around: Surroundings): void {
  const files = valueAt(given, ['loop', 'worktree_files']);
  const placed = isMap(files) ? Object.keys(files).map((name) => ['loop', 'worktree_files', name]) : [];
  for (const path of [...PATHS, ...placed]) expand(given, path, around, (text) => expandPath(text, around));
  const provider = valueAt(given, ['tracker', 'provider']);
  const names = isMap(provider) ? Object.keys(provider) : [];
  for (const path of [['webhook', 'secret'], ...names.map((name) => ['tracker', 'provider', name])])
    expand(given, path, around, (text) => expandSecret(text, around.env));
}

const PATHS = [
  ['workspace', 'root'],
  ['loop', 'skills'],
  ['agent', 'script'],
  ...ROLES.map((role) => ['roles', role, 'script']),
];

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
  around.warn(path, `${path.join('.')} counts as not given: the variable ${unset} is not set or is empty`);
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
  const variable = /^\$(?:\{(\w+)\}|(\w+))$/.exec(text);
  if (!variable) return { text, unset: null };
  const name = variable[1] ?? (variable[2] as string);
  return { text: env[name] ?? '', unset: env[name] ? null : name };
}
