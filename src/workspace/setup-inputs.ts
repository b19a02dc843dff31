/** What an install depends on, as far as names tell: its environment, lockfiles, manifests, what the commands name. */
import { basename } from 'node:path';
import { digestOf } from '../core/text/digest.ts';
import { type Git, nulSeparated } from '../git/git.ts';
import type { Setup } from './workspace.ts';

/** The same for two commits whose setup makes the same; null when the tree has no lockfile to tell by. */
export async function setupKey(git: Git, commit: string, { commands, env }: Setup): Promise<string | null> {
  if (commands.length === 0) return null;
  const { stdout } = await git(['ls-tree', '-r', '-z', '--full-tree', commit]);
  const named = wordsOf(commands);
  const inputs = nulSeparated(stdout).filter((entry) => isInput(pathOf(entry), named));
  if (!inputs.some((entry) => LOCKFILES.has(basename(pathOf(entry))))) return null;
  const about = [process.version, process.platform, process.arch, env, commands, inputs];
  return digestOf(JSON.stringify(about), 20);
}

/** `mode type sha TAB path` */
const pathOf = (entry: string): string => entry.slice(entry.indexOf('\t') + 1);

function wordsOf(commands: readonly string[]): Set<string> {
  const words = commands.flatMap((command) => command.split(/[\s;&|()<>'"]+/));
  return new Set(words.map((word) => word.replace(/^\.\//, '')));
}

function isInput(path: string, named: ReadonlySet<string>): boolean {
  const name = basename(path);
  if (LOCKFILES.has(name) || MANIFESTS.has(name) || /^requirements.*\.txt$/.test(name)) return true;
  if (named.has(path) || path.split('/').includes('patches')) return true;
  return (
    (named.has('make') && /^(?:GNUm|M|m)akefile$/.test(name)) ||
    (named.has('just') && /^justfile$/i.test(name))
  );
}

const LOCKFILES = new Set([
  ...['package-lock.json', 'npm-shrinkwrap.json', 'yarn.lock', 'pnpm-lock.yaml', 'bun.lock', 'bun.lockb'],
  ...['poetry.lock', 'uv.lock', 'pdm.lock', 'Pipfile.lock', 'Gemfile.lock', 'composer.lock', 'mix.lock'],
  ...['Podfile.lock', 'Cargo.lock', 'go.sum', 'deno.lock'],
]);

/** A manifest also has the scripts that an install runs; a schema may be compiled into what is installed. */
const MANIFESTS = new Set([
  ...[
    'package.json',
    '.npmrc',
    '.yarnrc',
    '.yarnrc.yml',
    'pnpm-workspace.yaml',
    '.pnpmfile.cjs',
    'bunfig.toml',
  ],
  ...['pyproject.toml', 'setup.py', 'setup.cfg', 'Pipfile', 'Gemfile', 'composer.json', 'Podfile', 'mix.exs'],
  ...['Cargo.toml', 'go.mod', 'deno.json', 'schema.prisma', '.nvmrc', '.node-version', '.python-version'],
  ...['.ruby-version', '.tool-versions', 'rust-toolchain', 'rust-toolchain.toml'],
]);
