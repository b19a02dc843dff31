/**
 * The ecosystems `init` knows, a row each: what shows it, the program it needs, what is run first, and what must pass.
 * A command is here only where the project itself names it; a row without commands proposes nothing.
 */
import { type Folder, mapOf } from './folder.ts';
import { installOf, type Manager, managerOf, nodeCommands } from './node.ts';
import { pythonCommands, pythonSetup, pythonTool } from './python.ts';

export interface Ecosystem {
  name: string;
  /** The files that show it; none where it is not here. */
  shownBy(folder: Folder): string[];
  /** Without this program nothing of it can be run. */
  tool(folder: Folder): string;
  setup(folder: Folder): string[];
  commands(folder: Folder): string[];
}

export const ECOSYSTEMS: readonly Ecosystem[] = [
  ...(['npm', 'pnpm', 'yarn', 'bun'] as const).map(ofManager),
  {
    name: 'deno',
    shownBy: files('deno.json', 'deno.jsonc'),
    tool: () => 'deno',
    setup: when((folder) => folder.has('deno.lock'), 'deno install --frozen'),
    commands: (folder) => {
      const { tasks, lint } = folder.json('deno.json', 'deno.jsonc');
      const has = (task: string): boolean => task in mapOf(tasks);
      const hasTests = folder.below(/(?:^|\/)(?:test|[^/]*[._]test)\.[cm]?[jt]sx?$/).length > 0;
      return [
        ...(has('test') ? ['deno task test'] : hasTests ? ['deno test'] : []),
        ...(has('lint') ? ['deno task lint'] : lint !== undefined ? ['deno lint'] : []),
        ...(has('check') ? ['deno task check'] : []),
      ];
    },
  },
  {
    name: 'cargo',
    shownBy: files('Cargo.toml'),
    tool: () => 'cargo',
    setup: nothing,
    commands: (folder) => {
      const manifest = folder.text('Cargo.toml');
      const components =
        /^\s*components\s*=\s*\[[^\]]*\]/m.exec(folder.text('rust-toolchain.toml', 'rust-toolchain'))?.[0] ??
        '';
      const hasFormat = folder.has('rustfmt.toml', '.rustfmt.toml') || components.includes('rustfmt');
      const hasClippy =
        folder.has('clippy.toml', '.clippy.toml') ||
        components.includes('clippy') ||
        /^\[(?:workspace\.)?lints\.clippy\]/m.test(manifest);
      return [
        /^\[workspace\]/m.test(manifest) ? 'cargo test --workspace' : 'cargo test',
        ...(hasClippy ? ['cargo clippy --all-targets -- -D warnings'] : []),
        ...(hasFormat ? ['cargo fmt --check'] : []),
      ];
    },
  },
  {
    name: 'go',
    shownBy: (folder) => (folder.has('go.work') ? ['go.work'] : files('go.mod')(folder)),
    tool: () => 'go',
    setup: nothing,
    commands: (folder) => [
      // The root of a workspace is no module: `./...` would find nothing.
      folder.has('go.work') ? "go list -m -f '{{.Dir}}/...' | xargs go test" : 'go test ./...',
      ...(folder.below(/^\.golangci\.(?:ya?ml|toml|json)$/).length > 0 ? ['golangci-lint run'] : []),
    ],
  },
  {
    name: 'python',
    shownBy: files('pyproject.toml', 'setup.py', 'setup.cfg', 'requirements.txt', 'pytest.ini', 'tox.ini'),
    tool: pythonTool,
    setup: pythonSetup,
    commands: pythonCommands,
  },
  {
    name: 'gradle',
    shownBy: files('settings.gradle.kts', 'settings.gradle', 'build.gradle.kts', 'build.gradle'),
    tool: (folder) => (folder.has('gradlew') ? 'java' : 'gradle'),
    setup: nothing,
    commands: (folder) => {
      const builds = folder.below(/(?:^|\/)build\.gradle(?:\.kts)?$/).map((path) => folder.text(path));
      // `check` is the tests and what such plugins add to them.
      const hasLint = /\b(?:checkstyle|pmd|spotbugs|spotless|detekt|ktlint)\b/.test(builds.join('\n'));
      return [`${folder.has('gradlew') ? './gradlew' : 'gradle'} ${hasLint ? 'check' : 'test'}`];
    },
  },
  {
    name: 'maven',
    shownBy: files('pom.xml'),
    tool: (folder) => (folder.has('mvnw') ? 'java' : 'mvn'),
    setup: nothing,
    commands: (folder) => [`${folder.has('mvnw') ? './mvnw' : 'mvn'} -q verify`],
  },
  {
    name: '.net',
    shownBy: (folder) => [
      ...folder.below(/^[^/]+\.slnx?$/),
      ...folder.below(/^[^/]+\.(?:cs|fs|vb)proj$/).slice(0, 1),
    ],
    tool: () => 'dotnet',
    setup: (folder) => [
      folder.below(/(?:^|\/)packages\.lock\.json$/).length > 0
        ? 'dotnet restore --locked-mode'
        : 'dotnet restore',
    ],
    commands: () => ['dotnet test --no-restore'],
  },
  {
    name: 'ruby',
    shownBy: files('Gemfile'),
    tool: () => 'bundle',
    setup: (folder) => [
      'bundle config set --local path vendor/bundle',
      ...(folder.has('Gemfile.lock') ? ['bundle config set --local frozen true'] : []),
      'bundle install',
    ],
    commands: (folder) => {
      const gems = `${folder.text('Gemfile')}\n${folder.text('Gemfile.lock')}`;
      const hasSpecs = folder.has('.rspec') || folder.below(/^spec\/.*_spec\.rb$/).length > 0;
      const hasTests = folder.below(/^test\/.*_test\.rb$/).length > 0;
      const hasTask = /\b(?:TestTask|task\s*:?['"]?test)\b/.test(folder.text('Rakefile'));
      return [
        ...(hasSpecs ? ['bundle exec rspec'] : []),
        ...(hasTests && folder.has('bin/rails')
          ? ['bundle exec rails test']
          : hasTask
            ? ['bundle exec rake test']
            : []),
        ...(folder.has('.rubocop.yml') || /\brubocop\b/.test(gems) ? ['bundle exec rubocop'] : []),
        ...(folder.has('sorbet/config') ? ['bundle exec srb tc'] : []),
      ];
    },
  },
  {
    name: 'php',
    shownBy: files('composer.json'),
    tool: () => 'composer',
    setup: () => ['composer install --no-interaction --no-progress'],
    commands: (folder) => {
      const { scripts, require: needs, 'require-dev': dev } = folder.json('composer.json');
      const script = (...names: string[]): string[] =>
        names
          .filter((name) => name in mapOf(scripts))
          .slice(0, 1)
          .map((name) => `composer run ${name}`);
      const hasPackage = (name: string): boolean => name in { ...mapOf(needs), ...mapOf(dev) };
      const first = (...found: string[][]): string[] => found.find((one) => one.length > 0) ?? [];
      const only = (is: boolean, command: string): string[] => (is ? [command] : []);
      return [
        ...first(
          script('test', 'tests'),
          only(hasPackage('pestphp/pest'), 'vendor/bin/pest'),
          only(
            hasPackage('phpunit/phpunit') || folder.has('phpunit.xml', 'phpunit.xml.dist'),
            'vendor/bin/phpunit',
          ),
        ),
        ...first(
          script('lint', 'cs'),
          only(folder.has('phpcs.xml', 'phpcs.xml.dist', '.phpcs.xml'), 'vendor/bin/phpcs'),
        ),
        ...first(
          script('phpstan', 'stan', 'analyse', 'types'),
          only(
            hasPackage('phpstan/phpstan') || folder.has('phpstan.neon', 'phpstan.neon.dist'),
            'vendor/bin/phpstan analyse',
          ),
        ),
      ];
    },
  },
];

/** It usually wraps another ecosystem's tools: running both would verify everything twice. */
export const MAKE: Ecosystem = {
  name: 'make',
  shownBy: files('GNUmakefile', 'makefile', 'Makefile'),
  tool: () => 'make',
  setup: nothing,
  commands: (folder) => {
    const source = folder.text('GNUmakefile', 'makefile', 'Makefile');
    const targets = ['test', 'lint', 'typecheck'].filter((name) =>
      new RegExp(`^${name}\\s*:(?!=)`, 'm').test(source),
    );
    return targets.map((target) => `make ${target}`);
  },
};

function ofManager(name: Manager['name']): Ecosystem {
  const own = (folder: Folder): Manager | null => {
    const manager = managerOf(folder);
    return manager?.name === name ? manager : null;
  };
  return {
    name,
    shownBy: (folder) => (own(folder) ? ['package.json'] : []),
    tool: () => name,
    setup: (folder) => installOf(folder, own(folder)!),
    commands: (folder) => nodeCommands(folder, own(folder)!),
  };
}

/** The first of these that is there. */
function files(...names: string[]): Ecosystem['shownBy'] {
  return (folder) => names.filter((name) => folder.has(name)).slice(0, 1);
}

function when(is: (folder: Folder) => boolean, command: string): Ecosystem['setup'] {
  return (folder) => (is(folder) ? [command] : []);
}

function nothing(): string[] {
  return [];
}
