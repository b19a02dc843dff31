/**
 * Most tests of the real agents take minutes and tell nothing new while an agent's code, its prompts and its version are
 * those they last passed on. `passed.json` has a digest of these for each file of tests, written by the run that passed;
 * a file whose digest still holds is left out. Stories always run. `ALL_AGENTS=1` leaves out nothing.
 */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Reporter, TestModule } from 'vitest/node';

const root = fileURLToPath(new URL('..', import.meta.url));
const record = `${root}e2e/passed.json`;

const KINDS = ['acp', 'claude', 'codex', 'opencode'];
/** What every agent rests on; `src/agent` without the folders of the kinds. */
const SHARED = [
  'e2e/package-lock.json',
  'e2e/programs',
  ...[
    ...['feedback-text', 'fence', 'forge-text', 'gate-text', 'plan-text'],
    ...['prompt-context', 'prompts', 'turn-tools'],
  ].map((name) => `src/core/words/${name}.ts`),
  'src/gateway',
  'src/process',
  'src/sandbox',
  'test/support/agent-stage.ts',
  'test/support/llm',
];

/** What only those rest on that call it. */
const CONTRACT = 'src/agent/contract.ts';

export function leftOut(): string[] {
  if (process.env.ALL_AGENTS) return [];
  const passed = read();
  return testFiles().filter((name) => passed[name] === digestOf(name));
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
      if (names.includes(name) && module.ok() && isWhole) passed[name] = digestOf(name);
    }
    const kept = Object.entries(passed).filter(([name]) => names.includes(name));
    const text = `${JSON.stringify(Object.fromEntries(kept.sort()), null, 2)}\n`;
    if (text !== readFileSync(record, 'utf8')) writeFileSync(record, text);
  },
};

function digestOf(name: string): string {
  const text = readFileSync(`${root}e2e/${name}`, 'utf8').replaceAll('gemini', 'acp');
  const kinds = KINDS.filter((kind) => text.includes(kind));
  const agents = filesIn('src/agent').filter((path) => {
    if (path === CONTRACT) return text.includes('agentContract');
    const kind = KINDS.find((one) => path.startsWith(`src/agent/${one}/`));
    return kind === undefined || kinds.includes(kind);
  });
  const support = filesIn('e2e').filter((path) => /^e2e\/[\w-]+\.ts$/.test(path));
  const hash = createHash('sha256').update(text);
  for (const path of [...agents, ...support, ...SHARED.flatMap(filesIn)].sort())
    hash.update(`\0${path}\0`).update(readFileSync(root + path));
  return hash.digest('hex').slice(0, 16);
}

function filesIn(path: string): string[] {
  if (/\.\w+$/.test(path)) return [path];
  return readdirSync(root + path, { withFileTypes: true })
    .filter(({ name }) => !name.endsWith('.test.ts') && name !== 'node_modules')
    .flatMap(({ name }) => filesIn(`${path}/${name}`));
}

/** But for stories, which always run. */
const testFiles = (): string[] =>
  readdirSync(`${root}e2e`).filter((name) => /(?<!-story)\.test\.ts$/.test(name));

const read = (): Record<string, string> => JSON.parse(readFileSync(record, 'utf8'));
