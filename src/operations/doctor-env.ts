/** What children get of the operator's environment and home, as far as somebody should know of it before a night. */
import { statSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import {
  type ChildPolicy,
  CREDENTIAL_ENTRIES,
  isWithin,
  looksCredential,
  looksSecret,
  TOOLCHAIN_VARIABLES,
} from '../core/access/toolchains.ts';
import type { Policy } from '../core/policy.ts';
import type { Check } from './doctor.ts';

interface Operator {
  env: Readonly<Record<string, string | undefined>>;
  home: string;
}

export function environment(
  policy: Policy,
  isConfined: boolean,
  operator: Operator = { env: process.env, home: homedir() },
): Check[] {
  return [...variables(policy, operator), ...ownHome(policy), ...privateHome(policy, isConfined, operator)];
}

/** Said by `run` too: nobody should learn it in the morning. */
export function ownHome({ gate }: Policy): Check[] {
  if (gate.env.home === 'private') return [];
  return [
    {
      name: 'home',
      level: 'warn',
      what: '`env.home: operator`: whatever a task runs can read every credential in your home, and change what you and later tasks start',
      fix: 'Set `env.home: private`, and name what is missing there under `env.home_entries`.',
    },
  ];
}

function variables(policy: Policy, { env }: Operator): Check[] {
  const children: ChildPolicy[] = [policy.agents.coder.env, policy.gate.env, policy.hooks.env];
  const named = [...new Set(children.flatMap(({ pass }) => pass))].filter(
    (name) => !TOOLCHAIN_VARIABLES.includes(name),
  );
  const secret = [...new Set([...named, ...children.flatMap(({ set }) => Object.keys(set))])].filter(
    looksSecret,
  );
  const unset = named.filter((name) => env[name] === undefined);
  const checks: Check[] = [];
  if (secret.length > 0)
    checks.push({
      name: 'env',
      level: 'warn',
      what: `\`env\` hands out what looks like a secret: ${secret.join(', ')}. Code from any issue can read and leak it`,
      fix: 'Pass one that can only read, and only where it is needed (`env.gates`, `env.hooks`).',
    });
  if (unset.length > 0)
    checks.push({
      name: 'env',
      level: 'warn',
      what: `\`env.pass\` names variables that are not set here: ${unset.join(', ')}`,
      fix: 'Set them where `forge-loop run` is started, or take them out.',
    });
  return checks;
}

function privateHome({ gate }: Policy, isConfined: boolean, { home }: Operator): Check[] {
  const { homeEntries, home: whose } = gate.env;
  if (whose === 'operator') return [];
  const offered = homeEntries.filter((entry) => kindOf(join(home, entry)) !== null);
  const links = offered.filter((entry) => kindOf(join(home, entry)) === 'folder');
  const secret = offered.filter(looksCredential);
  const withheld = CREDENTIAL_ENTRIES.filter(
    (entry) =>
      IN_BUILDS.test(entry) &&
      kindOf(join(home, entry)) !== null &&
      !offered.some((other) => isWithin(entry, other)),
  );
  const checks: Check[] = [];
  if (offered.length > 0)
    checks.push({ name: 'home', level: 'ok', what: `private, with your ${offered.join(', ')}`, fix: null });
  if (links.length > 0 && !isConfined)
    checks.push({
      name: 'home',
      level: 'warn',
      what: `offered as links to your own folders, which children can write to, since nothing confines them: ${links.join(', ')}`,
      fix: 'Run the loop as a user of its own, or set `env.toolchains: false` and name only what is needed.',
    });
  if (secret.length > 0)
    checks.push({
      name: 'home',
      level: 'warn',
      what: `\`env.home_entries\` hands out what may hold credentials: ${secret.join(', ')}. Code from any issue can read and leak it`,
      fix: 'Keep a credential in it that can only read.',
    });
  if (withheld.length > 0)
    checks.push({
      name: 'home',
      level: 'ok',
      what: `kept out, because they may hold credentials: ${withheld.join(', ')}. If a build needs one, add it to \`env.home_entries\``,
      fix: null,
    });
  return checks;
}

/** Of the entries with credentials, those that an ordinary build reads. */
const IN_BUILDS = /npmrc|yarnrc|netrc|pip|\.cargo|\.m2|\.gradle|\.gem|\.bundle|\.composer|\.nuget/;

function kindOf(path: string): 'file' | 'folder' | null {
  try {
    return statSync(path).isDirectory() ? 'folder' : 'file';
  } catch {
    return null;
  }
}
