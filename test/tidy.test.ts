/** The layout holds: imports point one way, core is pure, nothing is left over. Each rule is shown to fail first. */
import { describe, expect, test } from 'vitest';
import {
  importProblems,
  machinePathProblems,
  markerProblems,
  namedBehaviours,
  nameProblems,
  orphanProblems,
  purityProblems,
  readingProblems,
  roleProblems,
  type Source,
  shaProblems,
  skippedProblems,
  sourcesIn,
  unusedExportProblems,
} from './support/tidy.ts';

const source = (path: string, text: string): Source => ({ path, text });
/** Declarations of somebody else's module are nobody's import and no noun. */
const code = sourcesIn('src', 'test', 'bench').filter(({ path }) => /(?<!\.d)\.(ts|tsx|js)$/.test(path));

describe('imports point one way', () => {
  test('in this repository', () => {
    expect(importProblems(code)).toEqual([]);
  });

  test.each([
    ['src/core/a.ts', "import { x } from '../errors.ts';"],
    ['src/core/a.ts', "import fs from 'node:fs';"],
    ['src/core/a.ts', "import type { Store } from '../store/store.ts';"],
    ['src/core/a.ts', "export { git } from '../git/git.ts';"],
    ['src/core/a.ts', "const fs = await import('node:fs');"],
    ['src/core/a.ts', "type S = import('../store/store.ts').Store;"],
    ['src/store/a.ts', "import { x } from '../loop/worker.ts';"],
    ['src/forge/local/a.ts', "import { x } from '../../workspace/workspace.ts';"],
    ['src/loop/a.ts', "import { x } from '../store/sqlite.ts';"],
    ['src/loop/a.ts', "import { x } from '../operations.ts';"],
    ['src/loop/a.ts', "const { x } = await import('../agent/scripted.ts');"],
    ['src/cli/a.ts', "import { x } from '../store/store.ts';"],
    ['src/cli/a.ts', "import { x } from '../loop/runner.ts';"],
    ['src/operations.ts', "import { x } from './store/sqlite.ts';"],
    ['src/view.ts', "import { x } from './store/contract.ts';"],
  ])('%s may not say %s', (path, text) => {
    expect(importProblems([source(path, `\n${text}`)])).toEqual([expect.stringMatching(`^${path}:2 `)]);
  });

  test.each([
    [
      'src/core/a.ts',
      "import { z } from 'zod'; import { createHash } from 'node:crypto'; import { b } from './b.ts';",
    ],
    ['src/store/sqlite/a.ts', "import { x } from '../../core/task.ts'; import { y } from '../rules.ts';"],
    ['src/forge/local/a.ts', "import { git } from '../../git/git.ts';"],
    [
      'src/loop/a.ts',
      "import type { Store } from '../store/store.ts'; import { ForgeUnavailable } from '../errors.ts';",
    ],
    [
      'src/cli/a.ts',
      "import { operations } from '../operations.ts'; import type { Lease } from '../store/store.ts';",
    ],
    ['src/main.ts', "const { x } = await import('./store/sqlite.ts');"],
    ['src/store/sqlite.test.ts', "import { x } from './contract.ts';"],
  ])('%s may say %s', (path, text) => {
    expect(importProblems([source(path, text)])).toEqual([]);
  });
});

describe('core has no clock, no randomness and no I/O', () => {
  test('in this repository', () => {
    expect(purityProblems(code)).toEqual([]);
  });

  test.each([
    'const now = Date.now();',
    'const now = new Date();',
    'const now = Date();',
    'const r = Math.random();',
    'const t = performance.now();',
    'setTimeout(() => {}, 1);',
    'const e = process.env;',
    'const p = process;',
    'console.log(1);',
    "import { randomUUID } from 'node:crypto';",
    'const id = crypto.randomUUID();',
  ])('%s is refused', (text) => {
    const [problem] = purityProblems([source('src/core/a.ts', `\n\n${text}`)]);
    expect(problem).toMatch(/^src\/core\/a\.ts:3 /);
  });

  test.each([
    "const says = 'Date.now and Math.random';",
    '// process.env would be read here',
    'const at = new Date(now).toISOString();',
    'interface Ports { process: number }',
    'const x = { process: 1 };',
    'const y = ports.process;',
  ])('%s is innocent', (text) => {
    expect(purityProblems([source('src/core/a.ts', text)])).toEqual([]);
  });
});

describe('what an agent left is read as a stranger’s', () => {
  test('in this repository', () => {
    expect(readingProblems(code)).toEqual([]);
  });

  test.each([
    "import { readFile } from 'node:fs/promises';",
    "import { rm, readdirSync } from 'node:fs';",
    "import { open as look } from 'node:fs/promises';",
    "import fs from 'node:fs';",
    "import * as fs from 'node:fs';",
    "import Database from 'libsql';",
  ])('%s is refused', (text) => {
    const [problem] = readingProblems([source('src/agent/a/b.ts', `\n${text}`)], []);
    expect(problem).toMatch(/^src\/agent\/a\/b\.ts:2 /);
    expect(readingProblems([source('src/agent/a/b.ts', text)], ['src/agent/a/b.ts'])).toEqual([]);
    expect(readingProblems([source('src/agent/b.test.ts', text)], [])).toEqual([]);
  });

  test.each([
    "import { rm, stat } from 'node:fs/promises';",
    "import { type FileHandle, type open } from 'node:fs/promises';",
  ])('%s is innocent', (text) => {
    expect(readingProblems([source('src/agent/b.ts', text)], [])).toEqual([]);
  });

  test('whoever is on the list and reads nothing is taken off it', () => {
    expect(readingProblems([], ['src/agent/b.ts'])).toHaveLength(1);
  });
});

describe('nothing is left over', () => {
  test('no file that nobody imports, in this repository', () => {
    expect(orphanProblems(code)).toEqual([]);
  });

  test('a file that only its test imports is left over; a contract needs only a test', () => {
    const files = [
      source('src/main.ts', "import './used.ts';"),
      source('src/used.ts', ''),
      source('src/unused.ts', ''),
      source('src/tested.ts', ''),
      source('src/tested.test.ts', "import './tested.ts'; import './store/contract.ts';"),
      source('src/store/contract.ts', ''),
    ];
    expect(orphanProblems(files)).toEqual([
      'src/unused.ts:1 nobody imports it',
      'src/tested.ts:1 nobody imports it but tests',
    ]);
  });

  test('no export that nobody imports, in this repository', () => {
    expect(unusedExportProblems([...code, ...sourcesIn('e2e', 'web')])).toEqual([]);
  });

  test('a name that is used only in its own file is exported in vain', () => {
    const used = source('src/used.ts', 'export const a = `\nexport const c = 1`;\nexport const b = a;');
    const user = source('src/user.ts', "import { b } from './used.ts';");
    expect(unusedExportProblems([used, user])).toEqual(['src/used.ts:1 nobody imports a']);
  });

  test('to be named beside the name of its file is not to be imported', () => {
    const used = source('src/used.ts', 'export type A = 1;\nexport type B = A;\nexport type C = 1;');
    const user = source('src/user.ts', "import type { B } from './used.ts';\nconst A = 1;");
    const other = source('src/other.ts', "export type { C } from './used.ts';");
    expect(unusedExportProblems([used, user, other])).toEqual(['src/used.ts:1 nobody imports A']);
  });

  test('no role is asked for by name, in this repository', () => {
    expect(roleProblems(code)).toEqual([]);
    expect(roleProblems([source('src/a.ts', "if (turn.role === 'critic') {}")])).toHaveLength(1);
    expect(roleProblems([source('src/a.test.ts', "if (role === 'critic') {}")])).toEqual([]);
  });

  test('no unfinished work, in this repository', () => {
    expect(markerProblems(code)).toEqual([]);
    expect(markerProblems([source('src/a.ts', `// ${'TO'}DO later`)])).toHaveLength(1);
  });

  test('a commit has one length in what people read, in this repository', () => {
    expect(shaProblems([...code, ...sourcesIn('web')])).toEqual([]);
  });

  test.each([
    ['const a = headSha.slice(0, 8);', 1],
    ['const a = deploy.last.sha.slice(0, 8);', 1],
    ['const a = `Approved at \\`§{headSha}\\`.`;', 1],
    ['const a = `§{landed.sha} is not on trunk`;', 1],
    ["git(['log', '--format=%h %s']);", 1],
    ['const a = `landed as §{shortSha(landed.sha)}, on trunk`;', 0],
    ['const a = `§{sha}^{tree}`;', 0],
    ['const a = `refs/forge/§{sha}`;', 0],
    ['const a = `tree §{sha}`;', 0],
    ['const a = `§{task.id}:trunk-red:§{task.baseSha}`;', 0],
  ])('%s has %i problems', (text, count) => {
    expect(shaProblems([source('src/a.ts', text.replaceAll('§', '$'))])).toHaveLength(count);
  });

  test('no test is left out without a reason, in this repository', () => {
    expect(skippedProblems(code)).toEqual([]);
  });

  test.each([
    ["test.only('x', () => {});", 1],
    ["describe.only('x', () => {});", 1],
    ["test.skip('x', () => {});", 1],
    ["test.skipIf(!root)('x', () => {});", 1],
    ["// mounting needs root\ntest.skipIf(!root)('x', () => {});", 0],
    ["test.skipIf(!root)('x', () => {}); // mounting needs root", 0],
    ["test('x', () => {});", 0],
  ])('%s has %i problems', (text, count) => {
    expect(skippedProblems([source('src/a.test.ts', text)])).toHaveLength(count);
  });
});

describe('the numbered behaviours', () => {
  const tests = sourcesIn('src', 'test', 'e2e').filter(
    ({ path }) => /(\.(test|bench)|\/contract)\.ts$/.test(path) && path !== 'test/tidy.test.ts',
  );

  test.each([
    ['loops', 70],
    ['dispatch', 53],
  ])('of %s, up to %i, each have a test that is named for them, and no other has one', (list, last) => {
    const all = Array.from({ length: last }, (_, index) => index + 1);
    expect(namedBehaviours(tests, list)).toEqual(all);
  });

  test.each([
    ["test('a (loops 2)', f)", [2]],
    ["test('a (loops 10, 2) (dispatch 7)', f)", [2, 10]],
    ["['a row of a table (loops 3)', 1]", [3]],
    ['test(`of one (loops 4)`, f)', [4]],
    ['// see (loops 5)', []],
  ])('%s is named for %j', (text, named) => {
    expect(namedBehaviours([source('src/a.test.ts', text)], 'loops')).toEqual(named);
  });
});

describe('names', () => {
  test('no path of one machine, in this repository', () => {
    const everything = sourcesIn('src', 'test', 'bench', 'docs', 'bin', 'schema');
    expect(machinePathProblems(everything)).toEqual([]);
    const here = ['/home/ann', '/home/ann/code/loop/'];
    for (const text of [
      `cd /${'ro'}ot/x`,
      '"/home/ann/x"',
      '=/home/ann/code/loop/src',
      `'/${'wo'}rk/main'`,
    ]) {
      expect(machinePathProblems([source('docs/a.md', text)], here), text).toHaveLength(1);
    }
    const innocent = `src/${'wo'}rk/x, https://x.y/home/page, /home/ada/trees, /home/annabel/x`;
    expect(machinePathProblems([source('docs/a.md', innocent)], here)).toEqual([]);
  });

  test('files are kebab-case nouns, in this repository', () => {
    expect(nameProblems([...code, ...sourcesIn('web')])).toEqual([]);
    for (const name of ['taskManager', 'task-manager', 'string-utils', 'Task', 'lease_row']) {
      expect(nameProblems([source(`src/${name}.ts`, '')]), name).toHaveLength(1);
    }
  });
});
