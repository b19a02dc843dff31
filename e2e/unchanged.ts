/**
 * Most tests of the real agents take minutes and tell nothing new while an agent's code, its prompts and its version are
 * those they last passed on. `passed.json` has a digest of what each file of tests rests on, written by the run that passed;
 * a file whose digest still holds is left out. Stories always run. `ALL_AGENTS=1` leaves out nothing.
 */
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Reporter, TestModule } from 'vitest/node';
import { digestOf, type Files } from './digest.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const record = `${root}e2e/passed.json`;

export function leftOut(): string[] {
  if (process.env.ALL_AGENTS) return [];
  const passed = read();
  return testFiles().filter((name) => passed[name] === digestOf(`e2e/${name}`, files));
}

/** Writes down what a file of tests passed on, once every test in it has. */
export const remember: Reporter = {
  onTestRunEnd(modules: readonly TestModule[]) {
    const passed = read();
    const names = testFiles();
    for (const module of modules) {
      const tests = [...module.children.allTests()];
      const name = basename(module.moduleId);
      const isWhole = tests.length > 0 && tests.every((test) => test.result().state === 'passed');
      if (names.includes(name) && module.ok() && isWhole) passed[name] = digestOf(`e2e/${name}`, files);
    }
    const kept = Object.entries(passed).filter(([name]) => names.includes(name));
    const text = `${JSON.stringify(Object.fromEntries(kept.sort()), null, 2)}\n`;
    if (text !== readFileSync(record, 'utf8')) writeFileSync(record, text);
  },
};

const files: Files = {
  text: (path) => (isFile(path) ? readFileSync(root + path, 'utf8') : null),
  below: (folder) =>
    readdirSync(root + folder, { recursive: true, encoding: 'utf8' })
      .map((name) => join(folder, name))
      .filter(isFile),
};

const isFile = (path: string): boolean => statSync(root + path, { throwIfNoEntry: false })?.isFile() ?? false;

/** But for stories, which always run. */
const testFiles = (): string[] =>
  readdirSync(`${root}e2e`).filter((name) => /(?<!-story)\.test\.ts$/.test(name));

const read = (): Record<string, string> => JSON.parse(readFileSync(record, 'utf8'));
