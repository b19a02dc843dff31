/** Plans in a world of an end-to-end test: a plan of some milestones, what its agents do, and a look at its task. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Task } from '../../../src/core/task.ts';
import type { LoopDetail } from '../../../src/operations/loop-status.ts';
import type { Json, Rule, World } from './world.ts';

/** With so many milestones, each of which asks for one more line in `done-all.txt`. */
export function planText({ name = 'tally', milestones = 2 } = {}): string {
  const parts = Array.from({ length: milestones }, (_, at) => milestoneText(at + 1));
  return `<!-- forge-plan:start -->
# Count what there is

Loop Name: ${name}

Objective: every part of ${name} is counted.

${parts.join('\n')}
## Verification

- \`cat done-all.txt\`

<!-- forge-plan:end -->
`;
}

const milestoneText = (n: number): string => `<!-- forge-section -->
## Part ${n}

### Files
- done-all.txt

### Edits
- Add a line for part ${n}.

### Acceptance Criteria
- There is one more line.

### Verification
- \`wc -l done-all.txt\`
`;

const CODE: Rule = {
  when: { role: 'coder' },
  steps: [{ shell: 'echo done >> done-all.txt' }, { say: 'Added a line.' }],
};
/** Findings are numbered from 1: whatever there is, is fixed. */
export const CLEAN = {
  answer: {
    clean: true,
    summary: { done: 'The line is there.' },
    resolved: ['1', '2', '3'].map((id) => ({ id, why: 'fixed' })),
  },
};
export const DIRTY = {
  answer: {
    clean: false,
    findings: [{ severity: 'bug', file: 'done-all.txt', line: 1, description: 'It says too little.' }],
  },
};

/** What happens in a plan, unless these rules say otherwise: the coder adds a line, and every audit is clean. */
export function scriptLoop(world: World, ...rules: Rule[]): void {
  world.script(...rules, { when: { role: 'auditor' }, steps: [CLEAN] }, CODE);
}

/** A file of the operator's, outside the checkout. */
export function planFile(world: World, text: string, name = 'plan.md'): string {
  const path = join(world.folder, name);
  writeFileSync(path, text);
  return path;
}

export async function startLoop(world: World, text: string, ...args: string[]): Promise<Json> {
  return world.json('loop', 'start', planFile(world, text), ...args);
}

export async function loopTask(world: World, name = 'tally'): Promise<Task> {
  const found = (await (await world.store()).tasks()).find(({ task }) => task.plan?.name === name);
  if (!found) throw new Error(`there is no loop ${name}`);
  return found.task;
}

export const loopStatus = (world: World, name = 'tally'): Promise<LoopDetail> =>
  world.json<LoopDetail>('loop', 'status', name);
