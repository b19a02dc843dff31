/**
 * What the gate itself rests on: whoever changes it decides what a pass means. Files named in the gate's commands, the
 * `scripts` of a package.json, the configuration of test runners, the loop's own files.
 *
 * What a script reads in its turn is not followed; a person who wants that guarded names it in `protected_paths`.
 */

import type { Policy } from '../policy.ts';
import type { FilePatch } from './patch.ts';
import { baseName } from './shown-diff.ts';

/** A file of which only a part is guarded, as both commits have it; null where it does not exist. */
export interface SectionedFile {
  path: string;
  before: string | null;
  after: string | null;
}

/** Each changed file that the gate rests on, and why. The names are git's own list; the patch only tells what is new. */
export function guardedAmong(
  files: readonly string[],
  patches: readonly FilePatch[],
  sectioned: readonly SectionedFile[],
  gate: Policy['gate'],
  /** Some command is run: the gate's own, or that of a criterion. */
  isVerified: boolean,
): { path: string; why: string }[] {
  const named = new Set(gate.commands === 'none' ? [] : [...gate.setup, ...gate.commands].flatMap(pathsIn));
  const ofKind = (wanted: FilePatch['kind']): string[] =>
    patches.filter(({ kind }) => kind === wanted).map(({ path }) => path);
  const added = new Set(ofKind('added'));
  // A file that becomes a link is deleted and added in one patch, and was there before.
  for (const path of ofKind('deleted')) added.delete(path);
  return files.flatMap((path) => {
    const why = wholeFile(path, added.has(path), named) ?? (isVerified ? part(path, sectioned) : null);
    return why === null ? [] : [{ path, why }];
  });
}

/** Only these have to be read at both commits. */
export const isSectioned = (path: string): boolean => sectionOf(path) !== null;

function wholeFile(path: string, isNew: boolean, named: ReadonlySet<string>): string | null {
  if (path === 'WORKFLOW.md' || path.startsWith('.forge/')) return "it is the loop's own";
  if (INSTALLED.test(path)) return 'programs that are run are taken from there';
  // A command may name what the work has to bring; what is not there yet can't be tampered with.
  if (named.has(path) && !isNew) return 'a gate command names it';
  return RUNNER_CONFIG.test(path) ? 'it configures how tests are run' : null;
}

/** What an install makes. Where it is part of the tree, a package manager may leave it as it is. */
const INSTALLED = /(?:^|\/)(?:node_modules|\.venv)(?:\/|$)/;

/** In whatever folder: a runner looks upwards, and a workspace has its own. */
const RUNNER_CONFIG = new RegExp(
  `(?:^|/)(?:${[
    '(?:vitest|jest|playwright|cypress|karma|ava|wdio)\\.config\\.\\w+',
    'vitest\\.workspace\\.\\w+',
    '\\.mocharc(?:\\.\\w+)?',
    '\\.taprc',
    '(?:GNUm|[Mm])akefile',
    '\\.?[Jj]ustfile',
    'Taskfile\\.ya?ml',
    '\\.npmrc',
    '\\.yarnrc(?:\\.yml)?',
    'bunfig\\.toml',
    'pytest\\.ini',
    'tox\\.ini',
    'noxfile\\.py',
    'conftest\\.py',
    '\\.rspec',
    'phpunit\\.xml(?:\\.dist)?',
    'go\\.work',
    '\\.cargo/config(?:\\.toml)?',
    'rust-toolchain(?:\\.toml)?',
  ].join('|')})$`,
);

/** Words of a command that could name one file, also from a folder that it goes to: no option, no pattern. */
function pathsIn(command: string): string[] {
  const words = command
    .split(/[\s;&|()<>"'=]+/)
    .filter((word) => /^(?:\.\/)?[\w@.-][\w@./-]*$/.test(word))
    .map((word) => word.replace(/^\.\//, ''));
  const files = words.filter((word) => !word.endsWith('/') && !/^(?:-|\.{1,2}(?:\/|$)|$)/.test(word));
  const folders = words
    .filter((_, at) => GOES_TO.has(words[at - 1] ?? ''))
    .map((word) => `${word.replace(/\/+$/, '')}/`);
  return ['', ...folders].flatMap((folder) => files.map((file) => `${folder}${file}`));
}

const GOES_TO = new Set(['cd', 'pushd', '-C', '--prefix', '--cwd', '--dir', '--directory']);

function part(path: string, sectioned: readonly SectionedFile[]): string | null {
  const section = sectionOf(path);
  if (section === null) return null;
  const file = sectioned.find((one) => one.path === path);
  if (!file) return `${section.what} could not be compared`;
  if (file.before === null) return null;
  const [before, after] = [
    section.read(file.before),
    file.after === null ? 'gone' : section.read(file.after),
  ];
  if (before === null || after === null) return `${section.what} can't be read`;
  return before === after ? null : `${section.what} changed`;
}

interface Section {
  what: string;
  /** The guarded part, comparable; null when it can't be read, which never counts as unchanged. */
  read(text: string): string | null;
}

function sectionOf(path: string): Section | null {
  const name = baseName(path);
  if (name === 'package.json') return { what: 'its scripts or test settings', read: jsonKeys(PACKAGE_KEYS) };
  if (name === 'deno.json') return { what: 'its tasks or test settings', read: jsonKeys(['tasks', 'test']) };
  if (name === 'composer.json') return { what: 'its scripts', read: jsonKeys(['scripts']) };
  if (name === 'pyproject.toml')
    return { what: 'its test settings', read: tables(/^tool\.(?:pytest|tox|nox|hatch\.envs|poe|coverage)/) };
  if (name === 'setup.cfg')
    return { what: 'its test settings', read: tables(/^(?:tool:pytest|aliases|tox)/) };
  if (name === 'Cargo.toml')
    return { what: 'its targets', read: tables(/^(?:lib|test|bench|workspace|profile)\b/) };
  if (/^vite\.config\.\w+$/.test(name))
    return { what: 'its test settings', read: (text) => (/\btest\b/.test(text) ? text : '') };
  return null;
}

const PACKAGE_KEYS = ['scripts', 'jest', 'mocha', 'ava', 'tap', 'vitest'];

const jsonKeys =
  (keys: readonly string[]) =>
  (text: string): string | null => {
    try {
      const parsed: unknown = JSON.parse(text);
      if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) return null;
      return JSON.stringify(keys.map((key) => sorted((parsed as Record<string, unknown>)[key] ?? null)));
    } catch {
      return null;
    }
  };

/** The order of keys says nothing. */
function sorted(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(sorted);
  return Object.entries(value)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, inner]) => [key, sorted(inner)]);
}

/** The lines of the tables with such a name, in TOML and INI alike. */
const tables =
  (name: RegExp) =>
  (text: string): string => {
    let inside = false;
    return text
      .split('\n')
      .filter((line) => {
        const heading = /^\s*\[{1,2}\s*([^\]]+?)\s*\]/.exec(line)?.[1];
        if (heading !== undefined) inside = name.test(heading.replace(/["']/g, ''));
        return inside && line.trim() !== '' && !line.trimStart().startsWith('#');
      })
      .join('\n');
  };
