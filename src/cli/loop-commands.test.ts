/** What `loop start --each` takes: what names or replaces one loop is of no use to several. */
import { expect, test } from 'vitest';
import { buildProgram } from './program.ts';

const opened = 'the repository was opened';
const nowhere = () => Promise.reject(new Error(opened));
const surface = {
  version: '0',
  open: nowhere,
  newRepository: nowhere,
  edit: nowhere,
  redact: String,
  serveMcp: nowhere,
};
const started = (...args: string[]) =>
  buildProgram(
    surface,
    () => {},
    () => {},
  ).parseAsync(['node', 'forge-loop', 'loop', 'start', '--each', 'features.yaml', ...args]);

test.each<[string[], string]>([
  [['plan.md'], 'a plan file'],
  [['--goal', 'x'], '--goal'],
  [['--plan', 'x'], '--plan'],
  [['--name', 'x'], '--name'],
  [['--name', 'x', '--goal', 'x', 'plan.md'], 'a plan file, --goal, --name'],
  [['--mode', 'here'], '--mode here'],
])('refused beside --each: %j', async (args, named) => {
  await expect(started(...args)).rejects.toThrow(`loop start: --each can't be used with ${named}.`);
});

test.each([
  [['--pull-request', '--mode', 'session', '--model', 'm', '--auditor-model', 'n', '--sandbox', 'bwrap']],
  [['--max-iterations', '1', '--max-turns', '2', '--budget-usd', '3']],
])('holds for each of them: %j', async (args) => {
  await expect(started(...args)).rejects.toThrow(opened);
});
