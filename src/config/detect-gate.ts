/**
 * What this repository could be verified with, read from the files its tools keep. A proposal, to be run before it is
 * believed: where nothing is found it is empty, never a guess.
 */
import { type Folder, folderOf, type Listing } from './ecosystems/folder.ts';
import { ECOSYSTEMS, type Ecosystem, MAKE } from './ecosystems/table.ts';

/** What one ecosystem proposes for one folder. */
export interface GateProposal {
  ecosystem: string;
  /** The files it was read from. */
  from: string[];
  tool: string;
  setup: string[];
  commands: string[];
}

/** The root first. A folder below it counts for what the root has nothing of, unless the root says how it is all tested. */
export function detectGate(listing: Listing): GateProposal[] {
  const root = folderOf(listing, '');
  const make = proposalOf(MAKE, root);
  const below = make ? [] : foldersBelow(listing).map((prefix) => folderOf(listing, prefix));
  const found = ECOSYSTEMS.flatMap((ecosystem) =>
    ecosystem.shownBy(root).length > 0
      ? [proposalOf(ecosystem, root)]
      : below
          .filter((folder) => !isCovered(ecosystem, root, folder))
          .map((folder) => proposalOf(ecosystem, folder)),
  ).filter((one) => one !== null);
  return found.length > 0 ? found : make ? [make] : [];
}

function proposalOf(ecosystem: Ecosystem, folder: Folder): GateProposal | null {
  const shown = ecosystem.shownBy(folder);
  const commands = shown.length === 0 ? [] : ecosystem.commands(folder);
  if (commands.length === 0) return null;
  const there = (command: string): string =>
    folder.prefix === '' ? command : `cd ${quoted(folder.prefix.slice(0, -1))} && ${command}`;
  return {
    ecosystem: ecosystem.name,
    from: shown.map((file) => folder.prefix + file),
    tool: ecosystem.tool(folder),
    setup: ecosystem.setup(folder).map(there),
    commands: commands.map(there),
  };
}

/** A package below a root that has one is part of it, whichever package manager its own files suggest. */
const isCovered = (ecosystem: Ecosystem, root: Folder, folder: Folder): boolean =>
  root.has('package.json') && ecosystem.shownBy(folder).includes('package.json');

/** Folders of the root, and those in folders that only group others. What belongs to tests and documents is no project. */
function foldersBelow({ files }: Listing): string[] {
  const folders = files.flatMap((path) => {
    const [, one, two] = /^([^/]+)\/(?:([^/]+)\/)?/.exec(path) ?? [];
    if (one === undefined || NO_PROJECTS.test(one)) return [];
    return two !== undefined && GROUPS.test(one) ? [`${one}/`, `${one}/${two}/`] : [`${one}/`];
  });
  return [...new Set(folders)].sort();
}

const GROUPS = /^(?:apps|packages|services|projects|modules|libs|crates|src)$/;
const NO_PROJECTS =
  /^(?:\..*|tests?|spec|fixtures?|testdata|examples?|samples?|docs?|website|vendor|third[-_]party|node_modules|templates?|scripts|tools|bench(?:marks?)?)$/i;

/** The files whose contents the table looks at. */
export const isManifest = (path: string): boolean =>
  !/(?:^|\/)node_modules\//.test(path) && MANIFESTS.test(path);

const MANIFESTS =
  /(?:^|\/)(?:(?:package|project|turbo|nx|deno|composer)\.jsonc?|(?:Cargo|pyproject|rust-toolchain)\.toml|rust-toolchain|setup\.cfg|(?:tox|pytest|\.?mypy)\.ini|(?:dev-)?requirements(?:-dev)?\.txt|build\.gradle(?:\.kts)?|Gemfile(?:\.lock)?|Rakefile|(?:GNUm|[mM])akefile)$/;

/** They tell the tool even where they are not on trunk. */
export const LOCKFILES: readonly string[] = [
  'package-lock.json',
  'pnpm-lock.yaml',
  'yarn.lock',
  'bun.lock',
  'bun.lockb',
];

const quoted = (path: string): string =>
  /^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
