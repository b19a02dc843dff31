/**
 * What this repository could be verified with, read from the files its tools keep. A proposal for a person to see:
 * where nothing is found it is empty, never a guess.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export interface GateProposal {
  setup: string[];
  commands: string[];
  /** The files it was read from. */
  from: string[];
}

/** The gate runs on a commit: a lockfile that git does not track is not there. */
export function detectGate(root: string, tracked: ReadonlySet<string>): GateProposal {
  const found = DETECTORS.flatMap(([file, detect]) => {
    const source = read(join(root, file));
    const gate = source === null ? null : detect(source, root, (lockfile) => tracked.has(lockfile));
    return gate ? [{ ...gate, file }] : [];
  });
  const named = found.filter(({ file }) => file !== 'Makefile');
  // A Makefile beside a tool's own file usually wraps it: running both would verify everything twice.
  const kept = named.length > 0 ? named : found;
  return {
    setup: kept.flatMap(({ setup }) => setup),
    commands: kept.flatMap(({ commands }) => commands),
    from: kept.map(({ file }) => file),
  };
}

/** Those that decide what is proposed. */
export const LOCKFILES = ['package-lock.json', 'pnpm-lock.yaml'] as const;

type Locks = (lockfile: (typeof LOCKFILES)[number]) => boolean;
type Detector = (
  source: string,
  root: string,
  locks: Locks,
) => { setup: string[]; commands: string[] } | null;

const DETECTORS: [file: string, detect: Detector][] = [
  ['package.json', detectNode],
  ['Cargo.toml', () => ({ setup: [], commands: ['cargo test'] })],
  ['go.mod', () => ({ setup: [], commands: ['go test ./...'] })],
  ['pyproject.toml', detectPython],
  ['Makefile', (source) => (/^test\s*:/m.test(source) ? { setup: [], commands: ['make test'] } : null)],
];

function detectNode(source: string, root: string, locks: Locks): ReturnType<Detector> {
  let test: unknown;
  try {
    test = JSON.parse(source)?.scripts?.test;
  } catch {
    return null;
  }
  // What "npm init" writes always fails.
  if (typeof test !== 'string' || test.includes('no test specified')) return null;
  const has = (file: string): boolean => existsSync(join(root, file));
  if (locks('pnpm-lock.yaml')) return { setup: ['pnpm install --frozen-lockfile'], commands: ['pnpm test'] };
  if (has('pnpm-lock.yaml')) return { setup: ['pnpm install'], commands: ['pnpm test'] };
  if (has('yarn.lock')) return { setup: ['yarn install'], commands: ['yarn test'] };
  if (locks('package-lock.json')) return { setup: ['npm ci'], commands: ['npm test'] };
  return { setup: needsInstall(source) ? ['npm install'] : [], commands: ['npm test'] };
}

function needsInstall(source: string): boolean {
  const { dependencies, devDependencies } = JSON.parse(source);
  return Object.keys({ ...dependencies, ...devDependencies }).length > 0;
}

/** pyproject.toml names its test tool or it does not; unittest, say, would be a guess. */
function detectPython(source: string, root: string): ReturnType<Detector> {
  if (!/pytest/.test(source)) return null;
  return existsSync(join(root, 'uv.lock'))
    ? { setup: ['uv sync'], commands: ['uv run pytest'] }
    : { setup: [], commands: ['python -m pytest'] };
}

function read(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}
