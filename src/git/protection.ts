/**
 * What keeps a host-side git from running anything but git.
 *
 * Configuration is handed over as GIT_CONFIG_KEY_n/VALUE_n, which wins over every file and takes driver names of any
 * spelling (`-c name=value` would cut a name at its first "=").
 */
import { run } from './run.ts';

/** The part of an environment that no caller may override. */
export async function protections(gitDir: string): Promise<Record<string, string>> {
  const settings = [...SETTINGS, ...(await silencedDrivers(gitDir))];
  const env: Record<string, string> = { GIT_CONFIG_COUNT: String(settings.length) };
  settings.forEach(([key, value], index) => {
    env[`GIT_CONFIG_KEY_${index}`] = key;
    env[`GIT_CONFIG_VALUE_${index}`] = value;
  });
  return env;
}

/**
 * Built, not inherited: where programs, the operator's configuration and their ssh agent and proxies are, and nothing
 * else. GIT_DIR and its kin from a surrounding hook or alias would point git at another repository.
 */
export function builtEnvironment(from: NodeJS.ProcessEnv): Record<string, string> {
  const env: Record<string, string> = {};
  for (const name of KEPT) {
    const value = from[name];
    if (value !== undefined) env[name] = value;
  }
  return {
    ...env,
    LANG: 'C',
    LC_ALL: 'C',
    GIT_TERMINAL_PROMPT: '0',
    GIT_ASKPASS: '',
    GIT_EDITOR: ':',
    GIT_PAGER: 'cat',
    GIT_OPTIONAL_LOCKS: '0',
    GIT_NO_LAZY_FETCH: '1',
    GIT_ATTR_NOSYSTEM: '1',
    GIT_NO_REPLACE_OBJECTS: '1',
  };
}

const KEPT = [
  'PATH',
  'HOME',
  'USER',
  'LOGNAME',
  'TMPDIR',
  'XDG_CONFIG_HOME',
  'SSH_AUTH_SOCK',
  'http_proxy',
  'https_proxy',
  'no_proxy',
  'HTTPS_PROXY',
  'NO_PROXY',
  'ALL_PROXY',
  'GIT_SSH_COMMAND',
  'GIT_CONFIG_GLOBAL',
  'GIT_CONFIG_SYSTEM',
  'GIT_CONFIG_NOSYSTEM',
];

const SETTINGS: readonly (readonly [string, string])[] = [
  ['core.hooksPath', '/dev/null'],
  ['core.fsmonitor', 'false'],
  ['core.untrackedCache', 'false'],
  ['core.splitIndex', 'false'],
  ['core.attributesFile', '/dev/null'],
  ['core.pager', 'cat'],
  ['core.filesRefLockTimeout', '5000'],
  ['core.packedRefsTimeout', '10000'],
  ['color.ui', 'false'],
  ['submodule.recurse', 'false'],
  ['fetch.recurseSubmodules', 'false'],
  ['push.recurseSubmodules', 'no'],
  ['protocol.ext.allow', 'never'],
  ['protocol.file.allow', 'user'],
  ['gc.auto', '0'],
  ['maintenance.auto', 'false'],
  ['commit.gpgSign', 'false'],
  ['tag.gpgSign', 'false'],
  ['push.gpgSign', 'false'],
  ['log.showSignature', 'false'],
  ['merge.verifySignatures', 'false'],
  ['rerere.enabled', 'false'],
  ['advice.detachedHead', 'false'],
  ['i18n.commitEncoding', 'utf-8'],
  ['i18n.logOutputEncoding', 'utf-8'],
];

/** A merge driver left without a command would keep our side in silence; this is what git does without one. */
const TEXT_MERGE = 'git merge-file --marker-size=%L %A %O %B';

/** Filters and merge drivers the operator has configured: a file in a workspace only needs to name one to run it. */
async function silencedDrivers(gitDir: string): Promise<[string, string][]> {
  const listed = await run(
    {
      args: ['config', '-z', '--name-only', '--get-regexp', '^(filter|merge)\\..*\\.'],
      cwd: gitDir,
      base: builtEnvironment(process.env),
      env: { GIT_DIR: gitDir },
      input: undefined,
      allow: [1],
    },
    null,
  );
  const drivers = new Set<string>();
  for (const key of listed.stdout.split('\0')) {
    const last = key.lastIndexOf('.');
    if (last > 0) drivers.add(key.slice(0, last));
  }
  return [...drivers].flatMap((driver): [string, string][] =>
    driver.startsWith('merge.')
      ? [[`${driver}.driver`, TEXT_MERGE]]
      : [
          [`${driver}.clean`, ''],
          [`${driver}.smudge`, ''],
          [`${driver}.process`, ''],
          [`${driver}.required`, 'false'],
        ],
  );
}
