/** Which real agents' tests have to run again: those whose own code, prompts or agents changed, and no others. */
import { expect, test } from 'vitest';
import { digestOf, type Files } from '../e2e/digest.ts';

const locked = (changed: Record<string, string> = {}) =>
  JSON.stringify({
    packages: {
      '': {
        dependencies: { '@openai/codex': '1', 'opencode-ai': '1', '@anthropic-ai/sandbox-runtime': '1' },
      },
      'node_modules/@openai/codex': { version: '1', dependencies: { ws: '1' } },
      'node_modules/@openai/codex/node_modules/ws': { version: changed.nested ?? '1' },
      'node_modules/opencode-ai': { version: changed.opencode ?? '1' },
      'node_modules/ws': { version: changed.ws ?? '1' },
    },
  });

const TREE: Record<string, string> = {
  'e2e/codex-contract.test.ts':
    "import { codex } from './codex.ts';\nimport { scenario } from './scenario.ts';\ncodex(scenario);",
  'e2e/codex.ts':
    "import { agent } from '../src/agent/codex.ts';\nimport type { Story } from './story.ts';\nexport const codex = (s: Story) => agent(new URL('./node_modules/@openai/codex/bin.js', import.meta.url), new URL('./programs/forgetful.js', import.meta.url), s);",
  'e2e/scenario.ts':
    'export const scenario = (name: string) => new URL(`./scenarios/§{name}.yaml`, import.meta.url);'.replace(
      '§',
      '$',
    ),
  'e2e/scenarios/one.yaml': 'rules: []',
  'e2e/programs/forgetful.js': 'process.exit(1);',
  'e2e/story.ts': 'export interface Story { told: string }\nexport const story = 1;',
  'src/agent/codex.ts':
    '/** The agent. */\nimport { store } from "../store.ts";\nstore;\nexport const agent = (...args: unknown[]) => args;',
  'src/store.ts': 'export const store = 1;',
  'src/unrelated.ts': 'export const a = 1;',
  'src/loop/prompt.ts': "import { words } from '../core/words/words.ts';\nexport const prompt = words;",
  'src/core/words/words.ts': "export const words = 'Do it.';",
  'e2e/setup.ts': "export const PROGRAM = 'forge-loop';",
  'e2e/night.test.ts':
    "import { PROGRAM } from './setup.ts';\nnew URL('../bin/forge-loop.js', import.meta.url);\nPROGRAM;",
  'bin/forge-loop.js': "import '../dist/main-1a2b.js';",
  'dist/main-1a2b.js': 'export const built = 1;',
};

function filesOf(changed: Record<string, string>, lock = locked()): Files {
  const tree: Record<string, string> = { ...TREE, 'e2e/package-lock.json': lock, ...changed };
  return {
    text: (path) => tree[path] ?? null,
    below: (folder) => Object.keys(tree).filter((path) => path.startsWith(folder)),
  };
}

const digest = (changed: Record<string, string> = {}, lock = locked(), name = 'codex-contract'): string =>
  digestOf(`e2e/${name}.test.ts`, filesOf(changed, lock));

test.each([
  ['a module that is not about agents', { 'src/store.ts': 'export const store = 2;' }],
  ['a module it does not import', { 'src/unrelated.ts': 'export const a = 2;' }],
  ['what it imports only as a type', { 'e2e/story.ts': 'export interface Story { told: number }' }],
  ['a comment', { 'src/agent/codex.ts': TREE['src/agent/codex.ts']!.replace('The agent', 'Codex') }],
  ['a type', { 'src/agent/codex.ts': TREE['src/agent/codex.ts']!.replace('unknown', 'any') }],
])('%s does not count', (_what, changed) => {
  expect(digest(changed)).toBe(digest());
});

test.each([
  ['its own text', { 'e2e/codex-contract.test.ts': `${TREE['e2e/codex-contract.test.ts']}\ncodex(null);` }],
  ['code it imports through others', { 'src/agent/codex.ts': 'export const agent = () => 0;' }],
  ['a program it names', { 'e2e/programs/forgetful.js': 'process.exit(2);' }],
  ['a file in a folder it names', { 'e2e/scenarios/one.yaml': 'rules: [1]' }],
  ['a further file there', { 'e2e/scenarios/two.yaml': 'rules: []' }],
])('%s counts', (_what, changed) => {
  expect(digest(changed)).not.toBe(digest());
});

test('of the lockfile only its own agent counts, with what that needs', () => {
  expect(digest({}, locked({ opencode: '2', ws: '2' }))).toBe(digest());
  expect(digest({}, locked({ nested: '2' }))).not.toBe(digest());
});

test('what was built counts only by what agents are told', () => {
  const changed = { 'dist/main-1a2b.js': 'export const built = 2;' };
  expect(digest(changed, locked(), 'night')).toBe(digest({}, locked(), 'night'));
});

test('whoever starts the installed program rests on what agents are told, too', () => {
  const changed = { 'src/core/words/words.ts': "export const words = 'Do it well.';" };
  expect(digest(changed, locked(), 'night')).not.toBe(digest({}, locked(), 'night'));
  expect(digest(changed)).toBe(digest());
});
