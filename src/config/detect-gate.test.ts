/** What each ecosystem's files propose: a row of the table each, then what they propose together. */
import { describe, expect, test } from 'vitest';
import { detectGate, isManifest } from './detect-gate.ts';

type Files = Record<string, string>;

/** As `init` reads it: contents only of what the table looks at. */
const detect = (files: Files, unlocked: string[] = []) =>
  detectGate({
    files: Object.keys(files),
    contents: new Map(Object.entries(files).filter(([path]) => isManifest(path))),
    unlocked: new Set(unlocked),
  });

const all = (files: Files, unlocked: string[] = []) => {
  const found = detect(files, unlocked);
  return [found.flatMap(({ setup }) => setup), found.flatMap(({ commands }) => commands)];
};

const node = (scripts: object, more: object = {}) => JSON.stringify({ scripts, ...more });
const TEST = node({ test: 'x' });
const NEEDS = { devDependencies: { x: '1' } };

describe('a row', () => {
  test.each<[string, Files, string[], string[]]>([
    ['npm, locked', { 'package.json': TEST, 'package-lock.json': '' }, ['npm ci'], ['npm test']],
    ['npm, not locked', { 'package.json': node({ test: 'x' }, NEEDS) }, ['npm install'], ['npm test']],
    ['npm, without dependencies', { 'package.json': TEST }, [], ['npm test']],
    [
      'npm with lint and types',
      { 'package.json': node({ test: 'x', lint: 'eslint .', typecheck: 'tsc', check: 'all' }) },
      [],
      ['npm test', 'npm run lint', 'npm run typecheck'],
    ],
    ['npm, types by another name', { 'package.json': node({ types: 'tsc' }) }, [], ['npm run types']],
    [
      'npm, not what mends or watches',
      { 'package.json': node({ test: 'jest --watch', lint: 'eslint --fix .', check: 'tsc' }) },
      [],
      ['npm run check'],
    ],
    [
      'pnpm',
      { 'package.json': node({ test: 'x', lint: 'y' }), 'pnpm-lock.yaml': '' },
      ['pnpm install --frozen-lockfile'],
      ['pnpm test', 'pnpm run lint'],
    ],
    [
      'pnpm, by name alone',
      { 'package.json': node({ test: 'x' }, { packageManager: 'pnpm@9.1.0', ...NEEDS }) },
      ['pnpm install'],
      ['pnpm test'],
    ],
    ['yarn', { 'package.json': TEST, 'yarn.lock': '' }, ['yarn install --frozen-lockfile'], ['yarn test']],
    [
      'yarn 2 and later',
      { 'package.json': TEST, 'yarn.lock': '', '.yarnrc.yml': '' },
      ['yarn install --immutable'],
      ['yarn test'],
    ],
    [
      'bun, by script',
      { 'package.json': TEST, 'bun.lock': '' },
      ['bun install --frozen-lockfile'],
      ['bun run test'],
    ],
    [
      'bun, by its own runner',
      { 'package.json': '{}', 'bun.lockb': '', 'src/a.test.ts': '' },
      ['bun install --frozen-lockfile'],
      ['bun test'],
    ],
    [
      'deno, by its tasks, with comments',
      { 'deno.jsonc': '{ // tasks\n "tasks": { "test": "deno test -A", "check": "deno check ." }, }' },
      [],
      ['deno task test', 'deno task check'],
    ],
    [
      'deno, by its files',
      { 'deno.json': '{"lint":{}}', 'deno.lock': '', 'main_test.ts': '' },
      ['deno install --frozen'],
      ['deno test', 'deno lint'],
    ],
    ['cargo', { 'Cargo.toml': '[package]' }, [], ['cargo test']],
    [
      'cargo, a workspace with components',
      {
        'Cargo.toml': '[workspace]\n',
        'rust-toolchain.toml': '[toolchain]\ncomponents = ["clippy", "rustfmt"]\n',
      },
      [],
      ['cargo test --workspace', 'cargo clippy --all-targets -- -D warnings', 'cargo fmt --check'],
    ],
    ['go', { 'go.mod': '' }, [], ['go test ./...']],
    ['go with a linter', { 'go.mod': '', '.golangci.yml': '' }, [], ['go test ./...', 'golangci-lint run']],
    [
      'go, a workspace',
      { 'go.work': '', 'a/go.mod': '' },
      [],
      ["go list -m -f '{{.Dir}}/...' | xargs go test"],
    ],
    ['pytest', { 'pyproject.toml': '[tool.pytest.ini_options]' }, [], ['python3 -m pytest']],
    [
      'python with uv, ruff and mypy',
      {
        'pyproject.toml': 'dev = ["pytest"]\n[tool.ruff.lint]\n[tool.mypy]\nfiles = "src"\n[tool.x]\n',
        'uv.lock': '',
      },
      ['uv sync --locked'],
      ['uv run pytest', 'uv run ruff check', 'uv run mypy'],
    ],
    [
      'python with poetry, mypy without files',
      { 'pyproject.toml': '', 'mypy.ini': '[mypy]\nstrict = true\n', 'poetry.lock': '' },
      ['poetry install'],
      ['poetry run mypy .'],
    ],
    [
      'python with requirements',
      { 'requirements.txt': 'pytest==8\n', 'pyrightconfig.json': '' },
      ['python3 -m venv .venv', '.venv/bin/python -m pip install -q -r requirements.txt'],
      ['.venv/bin/python -m pytest', '.venv/bin/python -m pyright'],
    ],
    ['gradle with its wrapper', { 'build.gradle': '', gradlew: '' }, [], ['./gradlew test']],
    [
      'gradle with a linter',
      { 'settings.gradle.kts': '', 'app/build.gradle.kts': 'id("com.diffplug.spotless")' },
      [],
      ['gradle check'],
    ],
    ['maven', { 'pom.xml': '' }, [], ['mvn -q verify']],
    ['maven with its wrapper', { 'pom.xml': '', mvnw: '' }, [], ['./mvnw -q verify']],
    ['.NET', { 'App.sln': '', 'src/App/App.csproj': '' }, ['dotnet restore'], ['dotnet test --no-restore']],
    [
      '.NET, locked',
      { 'App.csproj': '', 'packages.lock.json': '' },
      ['dotnet restore --locked-mode'],
      ['dotnet test --no-restore'],
    ],
    [
      'ruby',
      { Gemfile: '', 'Gemfile.lock': 'rubocop (1)', 'spec/a_spec.rb': '' },
      [
        'bundle config set --local path vendor/bundle',
        'bundle config set --local frozen true',
        'bundle install',
      ],
      ['bundle exec rspec', 'bundle exec rubocop'],
    ],
    [
      'rails, not locked',
      { Gemfile: '', 'bin/rails': '', 'test/models/a_test.rb': '', 'sorbet/config': '' },
      ['bundle config set --local path vendor/bundle', 'bundle install'],
      ['bundle exec rails test', 'bundle exec srb tc'],
    ],
    [
      'php, by its scripts',
      { 'composer.json': node({ test: 'phpunit', lint: 'phpcs' }) },
      ['composer install --no-interaction --no-progress'],
      ['composer run test', 'composer run lint'],
    ],
    [
      'php, by its packages',
      { 'composer.json': '{"require-dev":{"phpunit/phpunit":"11","phpstan/phpstan":"2"}}' },
      ['composer install --no-interaction --no-progress'],
      ['vendor/bin/phpunit', 'vendor/bin/phpstan analyse'],
    ],
    ['make', { Makefile: 'build:\ntest: build\n\t./x\nlint:\n' }, [], ['make test', 'make lint']],
  ])('%s', (_what, files, setup, commands) => {
    expect(all(files)).toEqual([setup, commands]);
  });
});

describe('monorepos are verified by one command at the root', () => {
  const inside = { 'packages/a/package.json': node({ test: 'x', lint: 'y' }, NEEDS) };
  const root = node({}, { workspaces: ['packages/*'] });

  test.each<[string, Files, string[], string[]]>([
    [
      'npm workspaces',
      { 'package.json': root, 'package-lock.json': '', ...inside },
      ['npm ci'],
      ['npm test --workspaces --if-present', 'npm run lint --workspaces --if-present'],
    ],
    [
      'pnpm workspaces, not locked',
      { 'package.json': '{}', 'pnpm-workspace.yaml': '', ...inside },
      ['pnpm install'],
      ['pnpm -r run test', 'pnpm -r run lint'],
    ],
    [
      'yarn workspaces',
      { 'package.json': root, 'yarn.lock': '', '.yarnrc.yml': '', ...inside },
      ['yarn install --immutable'],
      ['yarn workspaces foreach -A run test', 'yarn workspaces foreach -A run lint'],
    ],
    [
      'bun workspaces',
      { 'package.json': root, 'bun.lock': '', ...inside },
      ['bun install --frozen-lockfile'],
      ["bun run --filter '*' test", "bun run --filter '*' lint"],
    ],
    [
      'turbo',
      {
        'package.json': root,
        'package-lock.json': '',
        'turbo.json': '{"tasks":{"build":{},"test":{},"lint":{},"check-types":{}}}',
        ...inside,
      },
      ['npm ci'],
      ['npx turbo run test lint check-types'],
    ],
    [
      'turbo behind a script of the root',
      {
        'package.json': node({ test: 'turbo run test' }, { workspaces: ['packages/*'] }),
        'pnpm-lock.yaml': '',
        'turbo.json': '{"pipeline":{"test":{},"lint":{}}}',
        ...inside,
      },
      ['pnpm install --frozen-lockfile'],
      ['pnpm exec turbo run lint', 'pnpm test'],
    ],
    [
      'nx',
      {
        'package.json': '{}',
        'package-lock.json': '',
        'nx.json': '{"plugins":["@nx/eslint/plugin"]}',
        'libs/a/project.json': '{"targets":{"test":{},"typecheck":{}}}',
      },
      ['npm ci'],
      ['npx nx run-many -t test lint typecheck'],
    ],
  ])('%s', (_what, files, setup, commands) => {
    expect(all(files)).toEqual([setup, commands]);
  });

  test('a package below a root that is no workspace is not run', () => {
    expect(all({ 'package.json': TEST, ...inside })).toEqual([[], ['npm test']]);
  });
});

describe('several together', () => {
  test('two at the root, and a Makefile that wraps them', () => {
    const found = detect({ 'go.mod': '', 'Cargo.toml': '', Makefile: 'test:\n' });
    expect(found.map(({ ecosystem, from, tool }) => [ecosystem, from, tool])).toEqual([
      ['cargo', ['Cargo.toml'], 'cargo'],
      ['go', ['go.mod'], 'go'],
    ]);
  });

  test('two below a root that has none, with names that need quotes', () => {
    const found = detect({
      'my backend/pom.xml': '',
      'apps/web/package.json': TEST,
      'apps/web/package-lock.json': '',
      'examples/one/package.json': TEST,
      'test/go.mod': '',
    });
    expect(found).toEqual([
      {
        ecosystem: 'npm',
        from: ['apps/web/package.json'],
        tool: 'npm',
        setup: ['cd apps/web && npm ci'],
        commands: ['cd apps/web && npm test'],
      },
      {
        ecosystem: 'maven',
        from: ['my backend/pom.xml'],
        tool: 'mvn',
        setup: [],
        commands: ["cd 'my backend' && mvn -q verify"],
      },
    ]);
  });

  test('one at the root and another below it', () => {
    expect(all({ 'Cargo.toml': '', 'web/package.json': TEST })[1]).toEqual([
      'cd web && npm test',
      'cargo test',
    ]);
  });

  test('a Makefile says how folders below it are tested', () => {
    expect(all({ Makefile: 'test:\n', 'web/package.json': TEST })[1]).toEqual(['make test']);
  });
});

describe('a lockfile that is not on trunk', () => {
  const manifest = node({ test: 'x' }, NEEDS);
  test.each([
    ['package-lock.json', 'npm install', 'npm test'],
    ['pnpm-lock.yaml', 'pnpm install', 'pnpm test'],
    ['yarn.lock', 'yarn install', 'yarn test'],
    ['bun.lock', 'bun install', 'bun run test'],
  ])('%s locks nothing, though it tells the tool', (lockfile, setup, command) => {
    expect(all({ 'package.json': manifest }, [lockfile])).toEqual([[setup], [command]]);
  });

  test('gives way to one that is', () => {
    expect(all({ 'package.json': manifest, 'package-lock.json': '' }, ['pnpm-lock.yaml'])).toEqual([
      ['npm ci'],
      ['npm test'],
    ]);
  });
});

test.each<[string, Files]>([
  ['an empty repository', {}],
  ['a package without a test script', { 'package.json': node({ build: 'tsc' }) }],
  ['what npm init writes', { 'package.json': node({ test: 'echo "Error: no test specified" && exit 1' }) }],
  ['a package.json that is not JSON', { 'package.json': '{' }],
  ['a package.json that is not a map', { 'package.json': 'null' }],
  ['scripts that are no map', { 'package.json': '{"scripts":["test"]}' }],
  ['a Python project without a test tool', { 'pyproject.toml': '[project]' }],
  ['a Gemfile alone', { Gemfile: '' }],
  ['a composer.json alone', { 'composer.json': '{}' }],
  ['a Makefile without a test target', { Makefile: 'build:\ntest := x\n' }],
])('nothing for %s', (_what, files) => {
  expect(detect(files)).toEqual([]);
});
