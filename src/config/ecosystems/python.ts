/** Python: who installs and runs its tools, and which of them the project has settings for. */
import type { Folder } from './folder.ts';

interface Installer {
  tool: string;
  lockfile: string;
  setup: string;
  /** Put before a tool's name. */
  run: string;
}

const INSTALLERS: readonly Installer[] = [
  { tool: 'uv', lockfile: 'uv.lock', setup: 'uv sync --locked', run: 'uv run ' },
  { tool: 'poetry', lockfile: 'poetry.lock', setup: 'poetry install', run: 'poetry run ' },
  { tool: 'pdm', lockfile: 'pdm.lock', setup: 'pdm install --frozen-lockfile', run: 'pdm run ' },
  { tool: 'pipenv', lockfile: 'Pipfile.lock', setup: 'pipenv sync --dev', run: 'pipenv run ' },
];

const REQUIREMENTS = ['requirements.txt', 'requirements-dev.txt', 'dev-requirements.txt'];

export const pythonTool = (folder: Folder): string => installerOf(folder)?.tool ?? 'python3';

export function pythonSetup(folder: Folder): string[] {
  const installer = installerOf(folder);
  if (installer) return [installer.setup];
  const files = REQUIREMENTS.filter((file) => folder.has(file));
  if (files.length === 0) return [];
  return [
    'python3 -m venv .venv',
    `.venv/bin/python -m pip install -q ${files.map((file) => `-r ${file}`).join(' ')}`,
  ];
}

/** Only what the project names; that it has tests for unittest, say, would be a guess. */
export function pythonCommands(folder: Folder): string[] {
  const tools = folder.text('pyproject.toml');
  const required = REQUIREMENTS.map((file) => folder.text(file)).join('\n');
  const settings = folder.text('setup.cfg');
  const hasPytest =
    /\bpytest\b/.test(tools) ||
    /^pytest\b/m.test(required) ||
    folder.has('pytest.ini', 'conftest.py') ||
    /^\[tool:pytest\]/m.test(settings) ||
    /^\[pytest\]/m.test(folder.text('tox.ini'));
  const hasRuff = /^\[tool\.ruff\b/m.test(tools) || folder.has('ruff.toml', '.ruff.toml');
  const mypy = `${/^\[tool\.mypy\][^[]*/m.exec(tools)?.[0] ?? ''}${folder.text('mypy.ini', '.mypy.ini')}${/^\[mypy\][^[]*/m.exec(settings)?.[0] ?? ''}`;
  const hasMypy = mypy !== '' || folder.has('mypy.ini', '.mypy.ini');
  const hasPyright = /^\[tool\.pyright\]/m.test(tools) || folder.has('pyrightconfig.json');
  const run = installerOf(folder)?.run ?? `${interpreter(folder)} -m `;
  return [
    ...(hasPytest ? [`${run}pytest`] : []),
    ...(hasRuff ? [`${run}ruff check`] : []),
    // It goes by its own settings where they name files.
    ...(hasMypy ? [`${run}mypy${/^\s*(?:files|packages|modules)\s*=/m.test(mypy) ? '' : ' .'}`] : []),
    ...(hasPyright ? [`${run}pyright`] : []),
  ];
}

const installerOf = (folder: Folder): Installer | undefined =>
  INSTALLERS.find(({ lockfile }) => folder.has(lockfile));

const interpreter = (folder: Folder): string =>
  folder.has(...REQUIREMENTS) ? '.venv/bin/python' : 'python3';
