/**
 * What keeps a host-side git from running anything but git.
 *
 * Configuration is handed over as GIT_CONFIG_KEY_n/VALUE_n, which wins over every file and takes driver names of any
 * spelling (`-c name=value` would cut a name at its first "=").
 */
import { isStandardLfs, LFS_FILTER, LFS_SCOPE, offlineLfs } from './lfs-filter.ts';
import { operatorConfig, type Setting } from './operator-config.ts';

interface Protections {
  /** The part of an environment that no caller may override. */
  env: Record<string, string>;
  /** The same where Git LFS may ask its server, as the operator has set it up. */
  online: Record<string, string>;
  /** The operator has set Git LFS up, and its filter runs. */
  lfs: boolean;
}

export async function protections(gitDir: string, worktree: string | null): Promise<Protections> {
  // In one go: each command that we are asked begins with it.
  const own = await operatorConfig(gitDir, `^(filter|merge)\\..*\\.|${LFS_SCOPE}`);
  const drivers = new Map([...own].filter(([key]) => !key.startsWith('lfs.')));
  const lfs = isStandardLfs(drivers);
  const settings = [...SETTINGS, ...silencedDrivers(drivers), ...(lfs ? LFS_FILTER : [])];
  const offline = lfs ? await offlineLfs(own, gitDir, worktree) : [];
  return { env: asEnvironment([...settings, ...offline]), online: asEnvironment(settings), lfs };
}

function asEnvironment(settings: readonly Setting[]): Record<string, string> {
  const env: Record<string, string> = { GIT_CONFIG_COUNT: String(settings.length) };
  settings.forEach(([key, value], index) => {
    env[`GIT_CONFIG_KEY_${index}`] = key;
    env[`GIT_CONFIG_VALUE_${index}`] = value;
  });
  return env;
}

const SETTINGS: readonly Setting[] = [
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
function silencedDrivers(configured: ReadonlyMap<string, string>): Setting[] {
  const drivers = new Set([...configured.keys()].map((key) => key.slice(0, key.lastIndexOf('.'))));
  return [...drivers].flatMap((driver): Setting[] =>
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
