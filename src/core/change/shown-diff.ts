/**
 * The change as the critic is shown it, within a budget: files in the order in which they matter, long ones cut at a
 * line, generated and lock files only by name and size. Nothing is left out silently: what is cut or not shown is said,
 * and the critic has every file in its directory.
 */
import type { ChangedBlob } from './change.ts';
import type { FilePatch } from './patch.ts';

export function shownDiff(
  files: readonly FilePatch[],
  blobs: readonly ChangedBlob[],
  budgetChars: number,
  /** Files that open findings are about: they come first. */
  mentioned: ReadonlySet<string> = new Set(),
): string {
  const told = files.filter((file) => isTold(file));
  const read = files.filter((file) => !isTold(file)).sort((a, b) => rank(a, mentioned) - rank(b, mentioned));
  const whole = Math.min(read.length, Math.floor(budgetChars / LEAST_CHARS));
  const shown = read.slice(0, whole);
  const level = waterLevel(
    shown.map(({ text }) => text.length),
    budgetChars,
  );
  const parts = shown.map((file) => cutAt(file, level));
  const unread = read.slice(whole).map((file) => `- ${file.path}: ${counts(file)}`);
  const summaries = told.map((file) => `- ${file.path}: ${file.kind}, ${counts(file)}, ${size(file, blobs)}`);
  return [
    ...parts,
    ...list('Generated, lock and binary files, by name only (read them here if they matter):', summaries),
    ...list('Not shown, for want of room (read them here):', unread),
  ].join('\n');
}

/** Below this a part of a file says nothing. */
const LEAST_CHARS = 400;
const MOST_NAMES = 500;

function list(title: string, names: readonly string[]): string[] {
  if (names.length === 0) return [];
  const left = names.length - MOST_NAMES;
  return ['', title, ...names.slice(0, MOST_NAMES), ...(left > 0 ? [`- and ${left} more files`] : [])];
}

/** The most that each may have so that together they fit: what a short one does not need goes to the long ones. */
export function waterLevel(lengths: readonly number[], budget: number): number {
  const sorted = [...lengths].sort((a, b) => a - b);
  let left = budget;
  for (const [index, length] of sorted.entries()) {
    const share = Math.floor(left / (sorted.length - index));
    if (length > share) return share;
    left -= length;
  }
  return Number.POSITIVE_INFINITY;
}

function cutAt({ path, text }: FilePatch, level: number): string {
  if (text.length <= level) return text;
  const kept = text.slice(0, text.lastIndexOf('\n', level));
  const left = text.slice(kept.length + 1).split('\n').length;
  return `${kept}\n… cut: ${left} more lines of the change to ${path}; read it here`;
}

const counts = ({ added, removed }: FilePatch): string => `+${added.length} −${removed.length} lines`;

function size({ path, kind }: FilePatch, blobs: readonly ChangedBlob[]): string {
  const bytes = blobs.find((blob) => blob.path === path)?.bytes ?? null;
  return kind === 'deleted' ? 'gone' : bytes === null ? 'size unknown' : `${bytes} bytes`;
}

const isTold = (file: FilePatch): boolean => file.isBinary || isLockfile(file.path) || isGenerated(file.path);

/** Lock files and the manifests they follow from. */
export const LOCKFILES: Readonly<Record<string, readonly string[]>> = {
  'package-lock.json': ['package.json'],
  'npm-shrinkwrap.json': ['package.json'],
  'yarn.lock': ['package.json'],
  'pnpm-lock.yaml': ['package.json', 'pnpm-workspace.yaml'],
  'bun.lock': ['package.json'],
  'bun.lockb': ['package.json'],
  'deno.lock': ['deno.json', 'deno.jsonc', 'package.json'],
  'Cargo.lock': ['Cargo.toml'],
  'go.sum': ['go.mod'],
  'poetry.lock': ['pyproject.toml'],
  'uv.lock': ['pyproject.toml'],
  'pdm.lock': ['pyproject.toml'],
  'Pipfile.lock': ['Pipfile'],
  'Gemfile.lock': ['Gemfile'],
  'composer.lock': ['composer.json'],
  'mix.lock': ['mix.exs'],
  'flake.lock': ['flake.nix'],
};

export const baseName = (path: string): string => path.slice(path.lastIndexOf('/') + 1);
export const isLockfile = (path: string): boolean => Object.hasOwn(LOCKFILES, baseName(path));

/** By its name alone: a mark inside a file is the agent's own word, and would be a way to hide code. */
const isGenerated = (path: string): boolean =>
  /\.(min\.(js|css)|map|snap|pb\.go|pb\.cc|pb\.h)$|_pb2(_grpc)?\.py$|\.generated\.\w+$/.test(path) ||
  /(^|\/)__snapshots__\//.test(path);

export const isTest = (path: string): boolean =>
  /(^|\/)(tests?|specs?|__tests__|e2e)\/|(\.|_|-)(test|spec)s?\.\w+$|(^|\/)test_[^/]*\.py$/i.test(path);

const isProse = (path: string): boolean => /\.(md|mdx|rst|adoc|txt)$|(^|\/)docs?\//i.test(path);

const isCode = (path: string): boolean =>
  /\.(c|m)?(ts|js|tsx|jsx)$|\.(py|rb|go|rs|java|kt|scala|c|h|cc|cpp|hpp|cs|php|swift|ex|exs|erl|clj|hs|ml|lua|pl|sh|sql|vue|svelte|html|css|scss)$/i.test(
    path,
  );

/** Code first, then its tests, then what configures it, then prose. */
function rank({ path }: FilePatch, mentioned: ReadonlySet<string>): number {
  if (mentioned.has(path)) return 0;
  if (isTest(path)) return 2;
  if (isCode(path)) return 1;
  return isProse(path) ? 4 : 3;
}
