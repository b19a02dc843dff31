/** Projects with a package.json: four package managers, and monorepos, which are verified by one command at the root. */
import { type Folder, mapOf } from './folder.ts';

export interface Manager {
  name: 'npm' | 'pnpm' | 'yarn' | 'bun';
  lockfiles: readonly string[];
  install: string;
  /** By the lockfile, and nothing else. */
  installLocked: string;
  run(script: string): string;
  /** A program of the project's dependencies. */
  exec: string;
  /** A script in every package that has it. */
  runEverywhere(script: string): string;
}

const short = (tool: string, script: string): string =>
  script === 'test' ? `${tool} test` : `${tool} run ${script}`;

const MANAGERS: Record<'npm' | 'pnpm' | 'yarn' | 'yarnBerry' | 'bun', Manager> = {
  pnpm: {
    name: 'pnpm',
    lockfiles: ['pnpm-lock.yaml'],
    install: 'pnpm install',
    installLocked: 'pnpm install --frozen-lockfile',
    run: (script) => short('pnpm', script),
    exec: 'pnpm exec',
    runEverywhere: (script) => `pnpm -r run ${script}`,
  },
  yarnBerry: {
    name: 'yarn',
    lockfiles: ['yarn.lock'],
    install: 'yarn install',
    installLocked: 'yarn install --immutable',
    run: (script) => short('yarn', script),
    exec: 'yarn',
    runEverywhere: (script) => `yarn workspaces foreach -A run ${script}`,
  },
  yarn: {
    name: 'yarn',
    lockfiles: ['yarn.lock'],
    install: 'yarn install',
    installLocked: 'yarn install --frozen-lockfile',
    run: (script) => short('yarn', script),
    exec: 'yarn',
    runEverywhere: (script) => `yarn workspaces run ${script}`,
  },
  bun: {
    name: 'bun',
    lockfiles: ['bun.lock', 'bun.lockb'],
    install: 'bun install',
    installLocked: 'bun install --frozen-lockfile',
    // `bun test` is its own test runner, not the script.
    run: (script) => `bun run ${script}`,
    exec: 'bunx',
    runEverywhere: (script) => `bun run --filter '*' ${script}`,
  },
  npm: {
    name: 'npm',
    lockfiles: ['package-lock.json', 'npm-shrinkwrap.json'],
    install: 'npm install',
    installLocked: 'npm ci',
    run: (script) => short('npm', script),
    exec: 'npx',
    runEverywhere: (script) => `${short('npm', script)} --workspaces --if-present`,
  },
};

/** Named by package.json, else told by a lockfile; npm where nothing tells. */
export function managerOf(folder: Folder): Manager | null {
  if (!folder.has('package.json')) return null;
  const [, named = '', major = '0'] =
    /^(npm|pnpm|yarn|bun)@(\d+)?/.exec(String(folder.json('package.json').packageManager)) ?? [];
  if (named === 'yarn') return Number(major) >= 2 ? MANAGERS.yarnBerry : MANAGERS.yarn;
  if (named !== '') return MANAGERS[named as 'npm' | 'pnpm' | 'bun'];
  if (folder.has('pnpm-workspace.yaml')) return MANAGERS.pnpm;
  const found = Object.values(MANAGERS).filter(({ lockfiles }) =>
    lockfiles.some((file) => folder.has(file) || folder.isUnlocked(file)),
  );
  const locked = found.find(({ lockfiles }) => folder.has(...lockfiles)) ?? found[0] ?? MANAGERS.npm;
  return locked.name !== 'yarn' ? locked : folder.has('.yarnrc.yml') ? MANAGERS.yarnBerry : MANAGERS.yarn;
}

export function installOf(folder: Folder, { lockfiles, install, installLocked }: Manager): string[] {
  if (folder.has(...lockfiles)) return [installLocked];
  const needs = manifests(folder).some(
    ({ dependencies, devDependencies }) =>
      Object.keys({ ...mapOf(dependencies), ...mapOf(devDependencies) }).length > 0,
  );
  return needs ? [install] : [];
}

/** What is asked for, by the names it goes under; the first that is there counts. */
const WANTED = [
  ['test'],
  ['lint'],
  ['typecheck', 'type-check', 'types', 'check-types', 'check:types', 'check'],
] as const;

export function nodeCommands(folder: Folder, manager: Manager): string[] {
  const own = usable(folder.json('package.json'));
  const nested = new Set(nestedManifests(folder).flatMap((manifest) => usable(manifest)));
  const orchestrator = orchestratorOf(folder, manager);
  const together: string[] = [];
  const commands = WANTED.flatMap((names): string[] => {
    const script = names.find((name) => own.includes(name));
    if (script) return [manager.run(script)];
    const task = names.find((name) => orchestrator?.tasks.includes(name));
    if (task) together.push(task);
    if (task || orchestrator || !isWorkspace(folder)) return [];
    const everywhere = names.find((name) => nested.has(name));
    return everywhere ? [manager.runEverywhere(everywhere)] : [];
  });
  if (together.length > 0) commands.unshift(`${orchestrator!.run} ${together.join(' ')}`);
  const hasBunTests = () => folder.below(/(?:[._]test|[._]spec)\.[cm]?[jt]sx?$/).length > 0;
  return commands.length === 0 && manager.name === 'bun' && hasBunTests() ? ['bun test'] : commands;
}

/** turbo or nx, and which of the wanted tasks it knows. */
function orchestratorOf(folder: Folder, { exec }: Manager): { run: string; tasks: string[] } | null {
  if (folder.has('turbo.json', 'turbo.jsonc')) {
    const { tasks, pipeline } = folder.json('turbo.json', 'turbo.jsonc');
    const named = Object.keys({ ...mapOf(tasks), ...mapOf(pipeline) });
    return { run: `${exec} turbo run`, tasks: named.map((name) => name.replace(/^\/\/#/, '')) };
  }
  if (!folder.has('nx.json')) return null;
  const { targetDefaults, plugins } = folder.json('nx.json');
  const projects = folder.below(/\/project\.json$/).map((path) => mapOf(folder.json(path).targets));
  const inferred = [/@nx\/(?:jest|vite|vitest)\b/, /@nx\/eslint\b/].flatMap((plugin, at) =>
    plugin.test(JSON.stringify(plugins ?? '')) ? [['test', 'lint'][at]!] : [],
  );
  const tasks = [mapOf(targetDefaults), ...projects].flatMap(Object.keys);
  return {
    run: `${exec} nx run-many -t`,
    tasks: [...tasks, ...inferred, ...nestedManifests(folder).flatMap((manifest) => usable(manifest))],
  };
}

const isWorkspace = (folder: Folder): boolean =>
  folder.has('pnpm-workspace.yaml') || folder.json('package.json').workspaces !== undefined;

const nestedManifests = (folder: Folder): Record<string, unknown>[] =>
  folder.below(/\/package\.json$/).map((path) => folder.json(path));

const manifests = (folder: Folder): Record<string, unknown>[] => [
  folder.json('package.json'),
  ...(isWorkspace(folder) ? nestedManifests(folder) : []),
];

/** Scripts that judge and end: not the one that `npm init` writes, none that watches, none that mends what it finds. */
const usable = (manifest: Record<string, unknown>): string[] =>
  Object.entries(mapOf(manifest.scripts)).flatMap(([name, script]) =>
    typeof script === 'string' && !/no test specified|--(?:watch|fix|write)\b/.test(script) ? [name] : [],
  );
