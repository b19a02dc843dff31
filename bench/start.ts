/** What the command line takes to say something, against a bare node. */
import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { compare, cpuMs, type Measured, ms } from './measure.ts';
import { BIN, CHEAP_AGENT, scratch, workflow } from './scratch.ts';
import { addWaitingTasks } from './waiting.ts';

const execute = promisify(execFile);
const ROUNDS = 15;
const TASKS = 100;
const ISSUES = 400;

export async function start(): Promise<Measured[]> {
  const run = (args: string[]) => async (): Promise<void> => void (await execute(process.execPath, args));
  const { ours, baseline } = await compare(ROUNDS, run([BIN, '--version']), run(['-e', '0']));
  const version: Measured = {
    name: 'CLI start (--version)',
    value: ms(ours),
    against: `node -e 0: ${ms(baseline)}`,
    ratio: ours / baseline,
    goal: '≤ 3',
    met: ours / baseline <= 3,
  };
  const place = await scratch(workflow(CHEAP_AGENT));
  try {
    await addWaitingTasks(place, TASKS);
    const command = (...args: string[]) => run([BIN, '-C', place.repo, ...args]);
    const bare = run(['-e', '0']);
    const status = await inProcessorTime(`\`status\` with ${TASKS} tasks`, command('status'), bare);
    addIssues(place.repo, ISSUES);
    const fresh = command('issue', 'new', '--title', 'One more', '--body', '`f()` returns 1.');
    return [
      version,
      status,
      await inProcessorTime(`\`why\` with ${ISSUES} issues`, command('why'), bare, MOST_MS),
      await inProcessorTime(`\`issue new\` beside ${ISSUES} issues`, fresh, bare, MOST_MS),
    ];
  } finally {
    place.dispose();
  }
}

/** What somebody who types it waits for, on a machine of its own. */
const MOST_MS = 300;

/** Ready, each in a file as `issue new` writes it. */
function addIssues(repo: string, count: number): void {
  const folder = join(repo, '.forge', 'issues');
  mkdirSync(folder, { recursive: true });
  for (let number = 1; number <= count; number += 1)
    writeFileSync(
      join(folder, `${String(number).padStart(4, '0')}-issue.md`),
      `---\nnumber: ${number}\ntitle: Issue ${number}\nstate: open\nlabels: [loop:ready]\npriority: null\nblocked_by: []\n---\n\n\`f(${number})\` returns ${number}.\n`,
    );
}

/** On the average: the kernel counts in steps of ten milliseconds. With a limit, that is the goal. */
async function inProcessorTime(
  name: string,
  command: () => Promise<void>,
  bare: () => Promise<void>,
  mostMs: number | null = null,
): Promise<Measured> {
  const spent = { ours: 0, bare: 0 };
  for (let round = 0; round < ROUNDS; round++) {
    const begun = cpuMs();
    await bare();
    const between = cpuMs();
    await command();
    spent.bare += between - begun;
    spent.ours += cpuMs() - between;
  }
  const ratio = spent.ours / spent.bare;
  return {
    name: `${name}, in processor time`,
    value: ms(spent.ours / ROUNDS),
    against: `node -e 0: ${ms(spent.bare / ROUNDS)}`,
    ratio,
    goal: mostMs === null ? '≤ 3' : `≤ ${mostMs} ms`,
    met: mostMs === null ? ratio <= 3 : spent.ours / ROUNDS <= mostMs,
  };
}
