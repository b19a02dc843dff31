/** The demo's project: a small real one, with tests that really run. */
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Surface } from '../commands.ts';

/** `script`: what its agent plays. `settings`: more of its WORKFLOW.md. */
export async function makeProject(
  folder: string,
  newRepository: Surface['newRepository'],
  { script, settings }: { script: string; settings: string },
): Promise<void> {
  await mkdir(folder);
  const git = await newRepository(folder, { name: 'Demo Operator', email: 'operator@example.com' });
  const files = { ...FILES, 'WORKFLOW.md': workflow(settings), 'agent-script.yaml': script };
  for (const [name, text] of Object.entries(files)) {
    const path = join(folder, name);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text);
  }
  await git(['add', '--all']);
  await git(['commit', '--quiet', '--message', 'A small project']);
}

const workflow = (settings: string): string => `---
agent:
  kind: scripted
  script: agent-script.yaml
  max_concurrent: 4
  max_turns: 5

critic:
  parallel: 4

gate:
  commands:
    - node --test

polling:
  interval_ms: 1000
${settings}---
`;

const FILES = {
  'package.json': `{
  "name": "tally",
  "private": true,
  "type": "module",
  "scripts": { "test": "node --test" }
}
`,

  'README.md': `# tally

Small functions for lists of numbers and for text.
`,

  'src/numbers.js': `export const max = (numbers) => numbers.reduce((a, b) => (a > b ? a : b));
`,

  'src/text.js': `export const words = (text) => text.split(/\\s+/).filter((word) => word !== '');
`,

  'src/report.js': `import { max } from './numbers.js';

export const report = (numbers) => \`\${numbers.length} numbers, the largest is \${max(numbers)}\`;
`,

  'test/tally.test.js': `import assert from 'node:assert/strict';
import { test } from 'node:test';
import { report } from '../src/report.js';
import { words } from '../src/text.js';

test('reports how many and how large', () => {
  assert.equal(report([3, 9, 4]), '3 numbers, the largest is 9');
});

test('splits at any white space', () => {
  assert.deepEqual(words(' to  be\\nor not '), ['to', 'be', 'or', 'not']);
});
`,
};
