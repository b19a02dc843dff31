/**
 * The environment of every child: agents, gate commands, hooks.
 *
 * It is built from a short list, never inherited, so a credential of the operator can't reach a child by being
 * forgotten here. Git finds no configuration, no credential helper and no one to ask.
 */
import { join } from 'node:path';
import { MARK } from './process.ts';

const PASSED_ON = ['LANG', 'LC_ALL', 'TZ', 'TMPDIR'] as const;
const DEFAULT_PATH = '/usr/local/bin:/usr/bin:/bin';

export interface ChildEnvironment {
  /** A private home; nothing of the operator's is in it. */
  home: string;
  /** The task, as recovery will look for it. */
  mark: string;
  identity: { name: string; email: string };
  extra?: Record<string, string>;
}

export function childEnvironment({ home, mark, identity, extra }: ChildEnvironment): Record<string, string> {
  const passed = PASSED_ON.flatMap((name) => {
    const value = process.env[name];
    return value ? [[name, value] as const] : [];
  });
  return {
    ...Object.fromEntries(passed),
    PATH: process.env.PATH || DEFAULT_PATH,
    TERM: 'dumb',
    CI: '1',
    HOME: home,
    XDG_CONFIG_HOME: join(home, '.config'),
    XDG_CACHE_HOME: join(home, '.cache'),
    XDG_DATA_HOME: join(home, '.local', 'share'),
    XDG_STATE_HOME: join(home, '.local', 'state'),
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
