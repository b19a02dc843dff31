/**
 * What a file of tests rests on, in one short hash: of the code it runs, import by import, what is about agents, without
 * comments and types; the files it names; and of the lockfile the agents it starts, with what they bring along.
 */
import { createHash } from 'node:crypto';
import { posix } from 'node:path';
import ts from 'typescript';
import { importsOf } from '../test/support/tidy.ts';

/** From the root of the repository, with forward slashes. */
export interface Files {
  /** Null where there is none. */
  text(path: string): string | null;
  /** The files below a folder. */
  below(folder: string): string[];
}

const LOCKFILE = 'e2e/package-lock.json';

/** Whoever starts the installed program rests on more than it imports: on what agents are told there. */
const STARTER = 'e2e/setup.ts';
const TOLD = 'src/loop/prompt.ts';

/**
 * About agents: these tests themselves, the adapters, the gateway between an agent and its provider, the prompts. The rest of
 * the loop has tests of its own, and one story with each agent runs always.
 */
const ABOUT_AGENTS =
  /^(e2e|src\/agent|src\/gateway|src\/core\/words|test\/support\/llm)\/|^src\/loop\/prompt\.ts$/;

/** Each agent is a package of its own; a sandbox is not an agent. */
const NO_AGENT = ['@anthropic-ai/sandbox-runtime'];

export function digestOf(test: string, files: Files): string {
  const rests = restsOn(test, files);
  if (rests.has(STARTER)) for (const [path, text] of restsOn(TOLD, files)) rests.set(path, text);
  const lock = JSON.parse(files.text(LOCKFILE) ?? '{}') as Lockfile;
  const hash = createHash('sha256');
  for (const [path, text] of [...rests].sort(([a], [b]) => (a < b ? -1 : 1)))
    hash.update(`\0${path}\0`).update(text);
  for (const line of packagesOf([...rests.values()], lock)) hash.update(`\0${line}`);
  return hash.digest('hex').slice(0, 16);
}

function restsOn(first: string, files: Files): Map<string, string> {
  const found = new Map<string, string>();
  const visit = (path: string): void => {
    const isCounted = ABOUT_AGENTS.test(path) && !path.includes('node_modules') && !found.has(path);
    const text = isCounted ? files.text(path) : null;
    if (text === null) return;
    const { code, imports, folders } = readingOf(path, text);
    found.set(path, code);
    for (const from of imports) visit(from);
    for (const below of folders.flatMap(files.below)) visit(below);
  };
  visit(first);
  return found;
}

interface Reading {
  code: string;
  imports: string[];
  /** Of which some file is named. */
  folders: string[];
}

function readingOf(path: string, text: string): Reading {
  const key = `${path}\0${text}`;
  const known = readings.get(key);
  if (known) return known;
  const code = path.endsWith('.ts') ? codeOf(text) : text;
  const isCode = /\.[jt]s$/.test(path);
  const reading = {
    code,
    imports: isCode ? importsOf({ path, text: code }).map(({ from }) => from) : [],
    folders: isCode
      ? [...code.matchAll(NAMED_IN_PART)]
          .map(([, folder = '']) => posix.join(posix.dirname(path), folder))
          .filter((folder) => !folder.includes('node_modules'))
      : [],
  };
  readings.set(key, reading);
  return reading;
}

/** Dozens of files of tests rest on the same code. */
const readings = new Map<string, Reading>();

/** Of `new URL(`./scenarios/${name}.yaml`)` anybody in that folder may be meant. */
const NAMED_IN_PART = /new URL\(`(\.(?:\/[\w-]+)+\/)\$\{/g;

/** What is left of a file when it runs. */
function codeOf(text: string): string {
  const compilerOptions = {
    module: ts.ModuleKind.ESNext,
    target: ts.ScriptTarget.ESNext,
    removeComments: true,
  };
  return ts.transpileModule(text, { compilerOptions }).outputText;
}

interface Lockfile {
  packages?: Record<string, Locked | undefined>;
}

interface Locked {
  version?: string;
  integrity?: string;
  dependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
}

/** A line for each package of an agent that any of these texts names, and for each that it needs. */
function packagesOf(texts: readonly string[], { packages = {} }: Lockfile): string[] {
  const agents = Object.keys(packages['']?.dependencies ?? {}).filter((name) => !NO_AGENT.includes(name));
  const found = new Map<string, string>();
  const take = (at: string): void => {
    const locked = packages[at];
    if (!locked || found.has(at)) return;
    found.set(at, `${at} ${locked.version} ${locked.integrity}`);
    for (const name of Object.keys({ ...locked.dependencies, ...locked.optionalDependencies }))
      take(installedFor(at, name, packages));
  };
  for (const name of agents)
    if (
      texts.some(
        (text) => text.includes(`${name}/`) || text.includes(`'${name}'`) || text.includes(`${name}@`),
      )
    )
      take(`node_modules/${name}`);
  return [...found.values()].sort();
}

/** The one nearest to whoever needs it, as Node finds it. */
function installedFor(at: string, name: string, packages: NonNullable<Lockfile['packages']>): string {
  const near = `${at}/node_modules/${name}`;
  if (packages[near] || at === '') return near;
  const above = at.slice(0, Math.max(0, at.lastIndexOf('/node_modules/')));
  return above === '' ? `node_modules/${name}` : installedFor(above, name, packages);
}
