/**
 * The environment of every child: agents, gate commands, hooks.
 *
 * It is built from names, never inherited, so a credential of the operator can't reach a child by being forgotten
 * here: a short list, and what `env:` passes and sets. Git finds no configuration, no credential helper and no one to ask.
 */
import { homedir } from 'node:os';
import { join } from 'node:path';
import { type ChildPolicy, passedOn } from '../core/access/toolchains.ts';
import { MARK } from './process.ts';

const PASSED_ON = ['LANG', 'LC_ALL', 'TZ', 'TMPDIR'] as const;
const DEFAULT_PATH = '/usr/local/bin:/usr/bin:/bin';

interface ChildEnvironment {
  /** Its private home. */
  home: string;
  /** The task, as recovery will look for it. */
  mark: string;
  identity: { name: string; email: string };
  /** What it gets of the operator's. */
  env: ChildPolicy;
  extra?: Record<string, string>;
}

export function childEnvironment(child: ChildEnvironment): Record<string, string> {
  const { mark, identity, env, extra } = child;
  return {
    ...passedOn(process.env, PASSED_ON),
    PATH: process.env.PATH || DEFAULT_PATH,
    TERM: 'dumb',
    CI: '1',
    ...passedOn(process.env, env.pass),
    ...env.set,
    ...(env.home === 'operator' ? operatorHome() : privateHome(child.home)),
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_TERMINAL_PROMPT: '0',
    GIT_AUTHOR_NAME: identity.name,
    GIT_AUTHOR_EMAIL: identity.email,
    GIT_COMMITTER_NAME: identity.name,
    GIT_COMMITTER_EMAIL: identity.email,
    ...extra,
    [MARK]: mark,
  };
}

const privateHome = (home: string): Record<string, string> => ({
  HOME: home,
  XDG_CONFIG_HOME: join(home, '.config'),
  XDG_CACHE_HOME: join(home, '.cache'),
  XDG_DATA_HOME: join(home, '.local', 'share'),
  XDG_STATE_HOME: join(home, '.local', 'state'),
});

const operatorHome = (): Record<string, string> => ({
  HOME: homedir(),
  ...passedOn(process.env, ['XDG_CONFIG_HOME', 'XDG_CACHE_HOME', 'XDG_DATA_HOME', 'XDG_STATE_HOME']),
});
