/**
 * podman for the tests, in a folder of its own: storage, settings and an image made of this machine's files, since none
 * can be pulled. Where no engine can be had, tests of containers are skipped, and say so.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';

export const IMAGE = 'localhost/forge-test:1';

export interface ContainerEngine {
  /** What podman, and whoever starts it, finds all of it by. */
  env: Record<string, string>;
  podman(...args: string[]): string;
  dispose(): void;
}

const found = (name: string): string => spawnSync('which', [name], { encoding: 'utf8' }).stdout.trim();

/** Said once by every file of tests that needs an engine. */
export function skippedWithoutEngine(what: string): boolean {
  const missing = ['podman', 'runc'].filter((name) => found(name) === '');
  if (missing.length > 0)
    console.warn(`SKIPPED: ${what}. Install the packages ${missing.join(' and ')} to run them.`);
  return missing.length > 0;
}

export function openEngine(): ContainerEngine {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'forge-podman-')));
  const at = (name: string): string => join(root, name);
  mkdirSync(at('storage'));
  writeFileSync(at('runc'), RUNC_WITHOUT_LIMITS(found('runc')), { mode: 0o755 });
  writeFileSync(
    at('containers.conf'),
    `[engine]\nruntime="runc"\ncgroup_manager="cgroupfs"\nevents_logger="file"\n[engine.runtimes]\nrunc=["${at('runc')}"]\n`,
  );
  writeFileSync(
    at('storage.conf'),
    `[storage]\ndriver="overlay"\ngraphroot="${at('storage/graph')}"\nrunroot="${at('storage/run')}"\n`,
  );
  const env = { CONTAINERS_CONF: at('containers.conf'), CONTAINERS_STORAGE_CONF: at('storage.conf') };
  const podman = (...args: string[]): string =>
    execFileSync('podman', args, { env: { ...process.env, ...env }, encoding: 'utf8', stdio: 'pipe' });
  const archive = at('image.tar');
  execFileSync('tar', ['-C', '/', '--hard-dereference', '-cf', archive, '-T', '-'], {
    input: imageFiles().join('\n'),
    stdio: 'pipe',
  });
  podman('import', '--change', 'ENV PATH=/opt/image/bin:/usr/bin:/bin', archive, IMAGE);
  rmSync(archive);
  return {
    env,
    podman,
    dispose() {
      podman('rm', '--all', '--force');
      podman('rmi', '--all', '--force');
      rmSync(root, { recursive: true, force: true });
    },
  };
}

/** Machines on which limits may not be raised refuse those that podman asks for. */
const RUNC_WITHOUT_LIMITS = (runc: string): string => `#!${process.execPath}
const { readFileSync, writeFileSync } = require('node:fs');
const { spawnSync } = require('node:child_process');
const args = process.argv.slice(2);
if (args.includes('create')) {
  const path = \`\${args[args.indexOf('--bundle') + 1]}/config.json\`;
  const config = JSON.parse(readFileSync(path, 'utf8'));
  delete config.process.rlimits;
  writeFileSync(path, JSON.stringify(config));
}
process.exit(spawnSync('${runc}', args, { stdio: 'inherit' }).status ?? 1);
`;

const PROGRAMS =
  'sh bash cat ls env find grep sed mawk awk head tail tr cut sort wc touch rm mv cp ln mkdir chmod stat id sleep true false test dirname basename realpath readlink tar xargs tee mknod mount umount unshare setsid nohup pgrep pkill kill git perl timeout prlimit renice ipcs dmesg chroot bwrap su newgrp passwd date uname mkfifo stty tty'.split(
    ' ',
  );
const FOLDERS = [
  '/usr/lib/git-core',
  '/usr/share/git-core',
  '/usr/share/perl',
  ...['perl', 'perl-base'].map((name) => `/usr/lib/${triplet()}/${name}`),
];

/** Which programs of others still ask for. */
const OF_GLIBC = ['librt.so.1', 'libpthread.so.0', 'libdl.so.2'].map(
  (name) => `/usr/lib/${triplet()}/${name}`,
);

/** A system small enough to be imported in a second: programs, what they are linked with, and nobody's settings. */
function imageFiles(): string[] {
  const programs = PROGRAMS.map(found).filter((path) => path !== '');
  const linked = spawnSync('ldd', [...programs, process.execPath], { encoding: 'utf8' }).stdout;
  const libraries = [...new Set(linked.match(/\/\S+(?= \(0x)/g)), ...OF_GLIBC];
  const roots = ['/bin', '/sbin', '/lib', '/lib64'];
  const files = [...programs, ...libraries].flatMap((path) => [
    join(realpathSync(dirname(path)), basename(path)),
    realpathSync(path),
  ]);
  const all = [...roots, ...files, ...FOLDERS, '/etc/alternatives', '/etc/ld.so.cache', '/etc/nsswitch.conf'];
  return [...new Set(all)].filter(existsSync).map((path) => path.slice(1));
}

function triplet(): string {
  return `${process.arch === 'arm64' ? 'aarch64' : 'x86_64'}-linux-gnu`;
}
